/** Rebuild: whatever is derived can be forgotten, and is made again as it was. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { snapshotText } from "../../../src/core/state.ts";
import { noFile } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { inFile, type FilePlace, type Place } from "../place.ts";

async function fill({ engine, world }: Place): Promise<string[]> {
  const ids: string[] = [];
  for (let count = 0; count < 6; count++) {
    world.pass(100);
    const session = await engine.open({
      objective: `objective number ${count}`,
      agent: count % 2 === 0 ? "even" : "odd",
      labels: { team: `t${count % 3}` },
      ...(count % 2 === 0 ? { name: `name ${count}` } : {}),
    });
    for (let place = 0; place < 60; place++) await session.append(`said ${place} in ${count}`);
    await session.record("decision", "d", { count }, { because: `reason ${count}` });
    await session.record("task", "t", "todo", { status: "done" });
    if (count === 1) await session.rewind(30);
    if (count === 2) await session.close();
    if (count === 3) await session.rename("renamed");
    ids.push(session.id, (await session.fork({ atSeq: 20 + count })).id);
  }
  await engine.delete(ids[8]!);
  return ids.filter((_, place) => place !== 8);
}

/** All that is derived, as it can be seen. */
async function derived({ engine, path }: FilePlace, ids: readonly string[]) {
  const lists = [];
  for (const filter of [
    {},
    { agent: "odd" },
    { status: "closed" },
    { labels: { team: "t1" } },
    { text: "name" },
  ]) {
    lists.push((await engine.sessions(filter as object)).rows);
  }
  const hits = [];
  for (const words of ["said", "reason 3", "objective", "30 in*"])
    hits.push(await engine.search(words, { limit: 50 }));
  const items = (await engine.query("SELECT * FROM items ORDER BY session, kind, key")).rows;
  const states = [];
  for (const id of ids) {
    const session = await engine.session(id);
    states.push(snapshotText(await session.fold()), snapshotText(await session.fold({ atSeq: 10 })));
  }
  if (noFile() !== false) return { lists, hits, items, states };
  const raw = new DatabaseSync(path, { readOnly: true });
  // A deleted session whose records a fork still shares has no part in it.
  const rows = ["titles", "labels", "item_rows"].map((table) =>
    raw.prepare(`SELECT * FROM ${table} WHERE log IN (SELECT id FROM logs WHERE listed = 1)`).all(),
  );
  const columns = "session, status, agent, priority, active_at";
  const index = raw.prepare(`SELECT ${columns} FROM logs WHERE listed = 1 ORDER BY id`).all();
  raw.close();
  return {
    lists,
    hits,
    items,
    states,
    rows: rows.map((all) => all.map((row) => JSON.stringify(row)).toSorted()),
    index,
  };
}

test("derived data is the same after a rebuild", async () => {
  await using place = await inFile();
  const ids = await fill(place);
  const before = await derived(place, ids);
  assert.ok(before.hits.every((hits) => hits.length > 0) && before.items.length === 8);
  const report = await place.engine.rebuild();
  const { records } = await place.store.stats();
  const { seq: own = 0 } = (await place.store.head(place.store.workspace)) ?? {};
  // Not counted: the workspace's own records, and what a fork shares with the session that was deleted.
  assert.deepEqual([report.sessions, report.records], [11, records - own - 24]);
  assert.deepEqual(await derived(place, ids), before);
});

test(
  "derived data can be dropped table by table, and is the same after a rebuild",
  { skip: noFile() },
  async () => {
    await using place = await inFile();
    const ids = await fill(place);
    const before = await derived(place, ids);
    const raw = new DatabaseSync(place.path);
    raw.exec(`DELETE FROM snapshots; DELETE FROM titles; DELETE FROM labels; DELETE FROM item_rows;
    UPDATE logs SET status = NULL, agent = NULL, priority = NULL;
    INSERT INTO search (search) VALUES ('delete-all'); DELETE FROM meta WHERE key = 'projected'`);
    raw.close();
    const { engine } = await place.again(madeWorld());
    assert.deepEqual((await engine.sessions()).rows, []);
    await engine.rebuild();
    assert.deepEqual(await derived({ ...place, engine }, ids), before);
    await engine.close();
  },
);

test("snapshots may be deleted at any time: states do not change, and new ones come", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  for (let batch = 0; batch < 8; batch++) {
    await session.append(Array.from({ length: 100 }, (_, count) => ({ type: "x.n" as const, body: count })));
  }
  await session.rewind(100);
  const before = snapshotText(await session.fold());
  await place.store.clearDerived();
  const other = await place.again(madeWorld());
  assert.equal(snapshotText(await (await other.engine.session(session.id)).fold()), before);
  await other.engine.close();
  assert.ok((await place.store.stats()).snapshots > 0);
});

test("records written during a rebuild are in it", async () => {
  await using place = await inFile();
  const ids = await fill(place);
  const session = await place.engine.session(ids[0]!);
  const rebuilding = place.engine.rebuild();
  await session.rename("in between");
  await session.append("a late word");
  await rebuilding;
  const { rows } = await place.engine.sessions({ text: "in between" });
  assert.deepEqual(
    rows.map((row) => row.session),
    [session.id],
  );
  assert.equal((await place.engine.search("late word")).length, 1);
});
