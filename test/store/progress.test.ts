import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../../src/core/chain.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { withProgress } from "../../src/store/paging.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { workspace } from "../runtime/place.ts";

const plain = memoryStore({ world: madeWorld(), workspace });
const record = (seq: number): StoredRecord => ({ seq }) as StoredRecord;
const corrupt = { code: "corrupt" };

/** A store of which one call gives what it should not. */
const broken = (calls: Partial<Store>): Store => withProgress({ ...plain, ...calls });

test("a page of records that goes back, repeats or leaves its range is corrupt", async () => {
  const range = { fromSeq: 2, toSeq: 4, limit: 10, contents: false };
  for (const seqs of [[2, 2], [3, 2], [1], [2, 3, 4, 5]]) {
    const store = broken({ read: async () => seqs.map(record) });
    await assert.rejects(store.read(workspace, range), corrupt, String(seqs));
  }
  const back = broken({ read: async () => [4, 3, 2].map(record) });
  await assert.rejects(back.read(workspace, range), corrupt);
  assert.equal((await back.read(workspace, { ...range, reverse: true })).length, 3);
});

test("a page of the feed, of logs or of sessions that is the same again is corrupt", async () => {
  const feed = broken({ feed: async () => ({ records: [record(1)], position: "7" }) });
  await assert.rejects(feed.feed("7", 10), corrupt);
  assert.equal((await feed.feed("6", 10)).position, "7");
  const logs = broken({ logs: async () => ({ rows: [workspace], cursor: "7" }) });
  await assert.rejects(logs.logs("7", 10), corrupt);
  assert.equal((await logs.logs(null, 10)).cursor, "7");
  const empty = broken({ logs: async () => ({ rows: [], cursor: "8" }) });
  await assert.rejects(empty.logs("7", 10), corrupt);
  const list = broken({ list: async () => ({ rows: [], cursor: "7" }) });
  await assert.rejects(list.list({}, { limit: 1, cursor: "7" }), corrupt);
});
