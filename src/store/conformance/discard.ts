/** Conformance: an unfinished log that is discarded, and the part that others share of it. */
import assert from "node:assert/strict";
import { assertWhole, type Bench, type ConformanceCase } from "./bench.ts";
import { alone, end, made } from "./receive.ts";

export const discardCases: readonly ConformanceCase[] = [
  { name: "discarding a log keeps the prefix that finished forks share", run: sharedOfDiscarded },
];

async function sharedOfDiscarded(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = made(bench, 5);
  const fork = made(bench, 2, root.records.slice(0, 3), bench.newId());
  const parent = { session: root.session, seq: 3 };
  await store.receive(alone(root.session));
  await store.put(root.session, root.records);
  await store.receive({ session: fork.session, parent, base: root.session });
  await store.put(fork.session, fork.records);
  await store.finish([end(fork, "own")]);
  await assertWhole(bench, fork.session, 5);
  await store.discard(root.session);
  await assertWhole(bench, fork.session, 5);
  await store.sweep();
  await assertWhole(bench, fork.session, 5);
  assert.equal(await store.head(root.session), undefined);
  assert.equal((await store.stats()).records, 5);
  assert.deepEqual(await store.check(), []);
  const there = await store.receive(alone(root.session));
  assert.deepEqual(there, { seq: 3, hash: root.records[2]?.hash, there: "prefix" });
}
