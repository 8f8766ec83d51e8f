/**
 * Deleting: positions of the feed are never used again, space is given back, nothing of what was said stays
 * behind.
 */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Store } from "../../../src/store/port.ts";
import { inFile } from "../../runtime/place.ts";

/** Every position of the feed up to its end, record by record. */
async function positionsOf(store: Store): Promise<string[]> {
  const positions: string[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.feed(after, 1);
    if (page.records.length === 0) return positions;
    positions.push(page.position);
    after = page.position;
  }
}

async function filled(engine: Engine, count: number, text: string) {
  const session = await engine.open({ objective: "o" });
  for (let place = 0; place < count; place++) await session.append(`${text} ${place}`);
  return session;
}

test("a position of the feed is never given out twice, whatever was deleted", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  const given = new Set<string>();
  for (let round = 0; round < 6; round++) {
    // Deleting the session that wrote last removes the end of the table, where a position could be used
    // again.
    const session = await filled(engine, 3, "gone");
    const before = (await positionsOf(store)).filter((position) => !given.has(position));
    assert.ok(before.length >= 4, "what was just written has positions of its own");
    for (const position of before) given.add(position);
    await store.append([{ session: session.id, expect: "exists", drafts: [], drop: true }]);
    await store.sweep();
  }
  const again = await place.again();
  const last = (await positionsOf(store)).at(-1) ?? null;
  const session = await filled(again.engine, 2, "new");
  const { records } = await store.feed(last, 10);
  assert.deepEqual(
    records.map((record) => [record.session, record.seq]),
    [
      [session.id, 1],
      [session.id, 2],
      [session.id, 3],
    ],
  );
  await again.engine.close();
});

test("a reader of the feed misses nothing when its last record is deleted", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  const doomed = await filled(engine, 3, "gone");
  let position: string | null = null;
  for (;;) {
    const page = await store.feed(position, 10);
    position = page.position;
    if (page.records.length === 0) break;
  }
  await engine.delete(doomed.id);
  const next = await filled(engine, 1, "next");
  const { records } = await store.feed(position, 10);
  const seen = records.map(({ session, seq }) => `${session === next.id ? "next" : "workspace"} ${seq}`);
  assert.deepEqual(seen, ["workspace 1", "next 1", "next 2"]);
});

test("a deleted session frees its space, and nothing of it is left in the file", async () => {
  await using place = await inFile();
  const { engine, store, path } = place;
  await filled(engine, 3, "kept");
  const filler = "lorem ipsum dolor sit amet ".repeat(40);
  const doomed = await filled(engine, 600, `very-secret-words ${filler}`);
  await doomed.append(`very-secret-words ${"x".repeat(100_000)}`);
  assert.equal((await engine.search("secret")).length > 0, true);
  const raw = new DatabaseSync(path);
  const checkpoint = () => raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  checkpoint();
  const before = statSync(path).size;
  await engine.delete(doomed.id);
  checkpoint();
  const after = statSync(path).size;
  assert.ok(before > 500_000 && after < before / 3, `${before} bytes, then ${after}`);
  assert.equal(readFileSync(path).includes("very-secret-words"), false);
  assert.deepEqual(await engine.search("secret"), []);
  assert.equal((await engine.search("kept")).length, 3);
  assert.deepEqual(await store.check(), []);
  const { sessions, blobs } = await store.stats();
  assert.deepEqual([sessions, blobs], [1, 0]);
  raw.close();
});

test("what a fork shares stays readable for as long as there are forks, and no longer", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  const parent = await filled(engine, 5, "shared");
  const one = await parent.fork({ atSeq: 3 });
  const two = await one.fork({ atSeq: 4 });
  await engine.delete(parent.id);
  for (const fork of [one, two]) {
    const records = await store.read(fork.id, { fromSeq: 1, toSeq: 3, limit: 9, contents: true });
    assert.deepEqual(
      records.map(({ seq, session }) => [seq, session]),
      [1, 2, 3].map((seq) => [seq, parent.id]),
    );
    assert.equal((await fork.verify()).ok, true);
  }
  assert.equal((await store.stats()).records, 3 + 1 + 1 + 1);
  await engine.delete(one.id);
  assert.equal((await two.verify()).ok, true);
  await engine.delete(two.id);
  const { records, sessions } = await store.stats();
  // What is left is the workspace's log, which says what was deleted.
  assert.deepEqual([records, sessions], [3, 0]);
  assert.equal((await engine.verify()).ok, true);
});
