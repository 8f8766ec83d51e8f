/** A store of layout 1 is brought up to date when it is opened: its view of costs counts all there is. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Engine } from "../../../src/runtime/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite.ts";
import { inFile, workspace } from "../../runtime/place.ts";
import { samples } from "../../core/samples.ts";
import { writeRaw } from "../../runtime/raw.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-upgrade-"));
after(() => rmSync(folder, { recursive: true }));
const costs = "SELECT kind, model, nano_usd FROM costs ORDER BY session, seq";

test("answers, failed calls and compactions by a model are in the view of costs", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const { "model.responded": responded, "model.failed": failed, "transcript.compacted": compacted } = samples;
  const { model: _, ...pruned } = compacted.body as Record<string, unknown>;
  await writeRaw(place, session.id, [
    { type: "model.responded", ...responded },
    { type: "model.failed", body: { ...failed.body, costNanoUsd: null }, content: failed.content },
    { type: "transcript.compacted", body: { ...compacted.body, costNanoUsd: 7 }, content: compacted.content },
    { type: "transcript.compacted", body: pruned, content: compacted.content },
  ]);
  const { rows } = await place.engine.query(costs);
  assert.deepEqual(
    rows.map(([kind, , nanoUsd]) => [kind, nanoUsd]),
    [
      ["answer", responded.body.costNanoUsd],
      ["failure", null],
      ["compaction", 7],
    ],
  );
});

test("a store of layout 1 gets the view and its index, and the view uses it", async () => {
  const path = join(folder, "old.db");
  writeFileSync(
    path,
    gunzipSync(readFileSync(new URL("../../golden/0.1.0/store.skein.gz", import.meta.url))),
  );
  const world = realWorld();
  {
    await using engine = new Engine({ store: await sqliteStore({ path, world, workspace }), world });
    const { rows } = await engine.query(costs);
    const { rows: events } = await engine.query(
      `SELECT count(*) FROM events WHERE type IN ('model.responded', 'model.failed') OR
       type = 'transcript.compacted' AND body ->> '$.model' IS NOT NULL`,
    );
    assert.equal(rows.length, events[0]?.[0]);
    assert.ok(new Set(rows.map(([kind]) => kind)).has("failure"));
  }
  const database = new DatabaseSync(path);
  const version = database.prepare("PRAGMA user_version").get();
  const plan = database.prepare("EXPLAIN QUERY PLAN SELECT total(nano_usd) FROM costs").all();
  database.close();
  assert.deepEqual({ ...version }, { user_version: 2 });
  assert.match(plan.map(({ detail }) => String(detail)).join("\n"), /records_charged/);
});
