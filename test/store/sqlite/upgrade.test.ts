/** A store of layout 1 is brought up to date when it is opened; no record is touched, and it can receive. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { SessionId } from "../../../src/core/ids.ts";
import { indexWords } from "../../../src/runtime/read/log-words.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { inPieces } from "../../runtime/transfer/bundled.ts";
import { newPath, workspace } from "../../runtime/place.ts";

const golden = (name: string): Buffer => readFileSync(new URL(`../../golden/${name}`, import.meta.url));

const rowsOf = (path: string, sql: string): unknown[] => {
  const database = new DatabaseSync(path);
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    database.close();
  }
};

test("a store of layout 1 keeps its records, gets the new tables and takes in a bundle", async () => {
  const { path, remove } = newPath();
  try {
    writeFileSync(path, gunzipSync(golden("0.1.0/store.skein.gz")));
    assert.deepEqual(rowsOf(path, "PRAGMA user_version"), [{ user_version: 1 }]);
    const records = "SELECT position, log, seq, hex(hash) AS hash, body FROM records ORDER BY position";
    const before = rowsOf(path, records);
    assert.ok(before.length > 50);
    const world = realWorld();
    // Two at once: one of them is first, and the other finds it done.
    const open = () => sqliteStore({ path, world, workspace, durability: "process" });
    const [store, other] = await Promise.all([open(), open()]);
    await other.close();
    assert.deepEqual(rowsOf(path, "PRAGMA user_version"), [{ user_version: 7 }]);
    assert.deepEqual(rowsOf(path, records), before);
    await using engine = new Engine({ store, world });
    await engine.import(inPieces(golden("bundle-1/family.skein")));
    // In the golden store contents were taken away by hand, without a word.
    const { problems } = await engine.verify();
    assert.deepEqual(
      problems.filter(({ problem }) => !problem.endsWith("it was erased")),
      [],
    );
    const { rows } = await engine.query("SELECT count(*) FROM events");
    assert.ok(Number(rows[0]?.[0]) > before.length);
  } finally {
    remove();
    rmSync(path, { force: true });
  }
});

test("a store of any older layout keeps its records, which can be packed", async () => {
  for (const [version, layout] of [
    ["0.1.0", 1],
    ["0.2.0", 2],
    ["0.3.0", 3],
    ["0.4.0", 3],
    ["0.5.0", 7],
  ] as const) {
    const { path, remove } = newPath();
    try {
      writeFileSync(path, gunzipSync(golden(`${version}/store.skein.gz`)));
      assert.deepEqual(rowsOf(path, "PRAGMA user_version"), [{ user_version: layout }]);
      const store = await sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
      assert.deepEqual(rowsOf(path, "PRAGMA user_version"), [{ user_version: 7 }]);
      await using engine = new Engine({ store, world: realWorld() });
      const found = await engine.verify();
      for (const { session } of (await engine.sessions()).rows)
        assert.ok((await engine.lineage(session)).nodes.some((node) => node.session === session));
      // Words are added when they are first needed, also of packed records.
      for (const log of (await store.logs(null, 1_000)).rows) {
        const whole = { session: log, toSeq: Number.MAX_SAFE_INTEGER };
        assert.ok((await store.wordGaps(log, 1_000)).gaps.length > 0);
        assert.ok(await indexWords(store, whole, { records: Infinity }));
        assert.deepEqual((await store.wordGaps(log, 1_000)).gaps, []);
      }
      const before = await store.feed(null, 1_000);
      assert.equal((await store.stats()).segments > 0, layout >= 3);
      const ask = { limit: 10_000, bytesMax: 1_000_000, timeoutMs: 30_000 };
      const events = "SELECT * FROM events ORDER BY session, seq";
      const shown = await store.query(events, ask);
      for (const log of (await store.logs(null, 1_000)).rows) await store.pack(log, Number.MAX_SAFE_INTEGER);
      assert.ok((await store.stats()).segments > 0);
      assert.deepEqual((await store.feed(null, 1_000)).records, before.records);
      assert.deepEqual(await store.query(events, ask), shown);
      assert.deepEqual(await store.check(), []);
      assert.deepEqual(await engine.verify(), found);
    } finally {
      remove();
    }
  }
});

test("a store of layout 4 finds successors that were opened before, packed or not", async () => {
  const { path, remove } = newPath();
  try {
    const open = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
    const ids: SessionId[] = [];
    let first: SessionId;
    {
      const store = await open();
      await using engine = new Engine({ store, world: realWorld() });
      const one = await engine.open({ objective: "o" });
      first = one.id;
      for (const name of ["packed", "plain", "damaged"]) {
        const next = await engine.open({ objective: "p", name, from: first });
        for (let count = 0; count < 20; count++) await next.record("fact", `x${count}`, count);
        ids.push(next.id);
      }
      await store.pack(ids[0]!, Number.MAX_SAFE_INTEGER);
      assert.ok((await store.stats()).segments > 0);
    }
    rowsOf(path, "DROP VIEW costs");
    for (const name of ["unconfirmed", "unpriced"]) rowsOf(path, `ALTER TABLE schedule DROP COLUMN ${name}`);
    for (const name of ["type", "estimated", "bound", "released"])
      rowsOf(path, `ALTER TABLE packed_costs DROP COLUMN ${name}`);
    rowsOf(path, "CREATE VIEW costs AS SELECT * FROM packed_costs");
    rowsOf(path, "DROP INDEX logs_origin");
    rowsOf(path, "ALTER TABLE logs DROP COLUMN origin");
    rowsOf(
      path,
      "UPDATE records SET body = '{' WHERE seq = 1 AND log = (SELECT max(log) FROM records WHERE seq = 1)",
    );
    for (const name of ["word_steps", "log_words", "vectors"]) rowsOf(path, `DROP TABLE ${name}`);
    rowsOf(path, "PRAGMA user_version = 4");
    const store = await open();
    await using _ = new Engine({ store, world: realWorld() });
    assert.deepEqual(await store.openedFrom(first), ids.slice(0, 2));
  } finally {
    remove();
  }
});
