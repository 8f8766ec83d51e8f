/** Conformance: snapshots, projections, search, and what remains after all of it is cleared. */
import assert from "node:assert/strict";
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import {
  append,
  assertWhole,
  draftOf,
  drafts,
  dropped,
  entryOf,
  feedAll,
  forked,
  opened,
  partOf,
} from "./bench.ts";
import type { Projection } from "../port.ts";

export const derivedCases: readonly ConformanceCase[] = [
  { name: "snapshot returns the nearest at or before a position", run: nearest },
  { name: "snapshots are found through the lineage", run: throughLineage },
  { name: "a deleted parent's snapshots serve its forks", run: snapshotsOfDeleted },
  { name: "a projection step from another position is rejected", run: steps },
  { name: "of two projection steps from one position one is accepted", run: stepsAtOnce },
  { name: "search finds records that contain every word, latest first", run: everyWord },
  { name: "search ignores case and diacritics", run: caseAndMarks },
  { name: "search finds prefixes with a star, and nothing for an empty query", run: starAndNothing },
  { name: "search respects the session filter and the limits", run: searchLimits },
  { name: "search does not find a text that was replaced", run: textAgain },
  { name: "clearDerived keeps the logs", run: cleared },
];

async function nearest(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await opened(bench, 9);
  const at = async (seq: number): Promise<unknown> => store.snapshot(session, seq);
  assert.equal(await at(9), undefined);
  const text = JSON.stringify({ text: "é𝄞".repeat(10_000) });
  await store.putSnapshot(session, { seq: 6, form: 2, text });
  await store.putSnapshot(session, { seq: 3, form: 1, text: "three" });
  assert.equal(await at(2), undefined);
  assert.deepEqual(await at(3), { seq: 3, form: 1, text: "three" });
  assert.deepEqual(await at(5), { seq: 3, form: 1, text: "three" });
  assert.deepEqual(await at(6), { seq: 6, form: 2, text });
  assert.deepEqual(await at(Number.MAX_SAFE_INTEGER), { seq: 6, form: 2, text });
  await store.putSnapshot(session, { seq: 3, form: 2, text: "again" });
  assert.deepEqual(await at(4), { seq: 3, form: 2, text: "again" });
  const { snapshots, snapshotBytes } = await store.stats();
  assert.ok(snapshots === 2 && snapshotBytes > 0);
}

async function throughLineage(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = await opened(bench, 9);
  const middle = await forked(bench, root, 5, 3);
  const leaf = await forked(bench, middle, 7, 3);
  for (const seq of [2, 4, 6]) await store.putSnapshot(root, { seq, form: 1, text: `root ${seq}` });
  const at = async (session: LogId, seq: number): Promise<string | undefined> =>
    (await store.snapshot(session, seq))?.text;
  assert.equal(await at(leaf, 10), "root 4");
  assert.equal(await at(middle, 3), "root 2");
  assert.equal(await at(leaf, 1), undefined);
  await store.putSnapshot(middle, { seq: 8, form: 1, text: "middle 8" });
  assert.equal(await at(leaf, 10), "root 4");
  await store.putSnapshot(middle, { seq: 7, form: 1, text: "middle 7" });
  assert.equal(await at(leaf, 10), "middle 7");
  assert.equal(await at(leaf, 6), "root 4");
  assert.equal(await at(root, 9), "root 6");
  // Its own snapshot of the shared prefix is not the latest.
  await store.putSnapshot(leaf, { seq: 3, form: 1, text: "leaf 3" });
  assert.deepEqual([await at(leaf, 6), await at(leaf, 3)], ["root 4", "leaf 3"]);
  await store.putSnapshot(leaf, { seq: 9, form: 1, text: "leaf 9" });
  assert.deepEqual(
    [await at(leaf, 9), await at(leaf, 8), await at(middle, 9)],
    ["leaf 9", "middle 7", "middle 8"],
  );
}

async function snapshotsOfDeleted(bench: Bench): Promise<void> {
  const { store } = bench;
  const parent = await opened(bench, 6);
  const child = await forked(bench, parent, 4);
  for (const seq of [3, 5]) await store.putSnapshot(parent, { seq, form: 1, text: `parent ${seq}` });
  await dropped(bench, parent);
  await store.sweep();
  assert.equal((await store.snapshot(child, 5))?.text ?? "parent 3", "parent 3");
  await dropped(bench, child);
  await store.sweep();
  assert.equal((await store.stats()).snapshots, 0);
}

/** One step to the end of the feed, from the position of the projections. */
async function stepOf(bench: Bench, texts: Projection["texts"]): Promise<Projection> {
  const from = await bench.store.projected();
  const { position } = await feedAll(bench.store, from);
  return { from, to: position, texts, items: [] };
}

const itemRow = {
  kind: "fact",
  key: "rate",
  seq: 1,
  at: 1,
  status: null,
  value: '"1"',
  because: null,
} as const;

async function steps(bench: Bench): Promise<void> {
  const { store } = bench;
  assert.equal(await store.projected(), null);
  const session = await opened(bench, 0, { drafts: drafts(bench, 1, { content: "needle" }) });
  const first = await stepOf(bench, [{ session, seq: 1, text: "needle" }]);
  assert.equal(await store.project({ ...first, from: first.to }), false);
  assert.deepEqual(await store.search("needle", { limit: 9 }), []);
  assert.equal(await store.project({ ...first, items: [{ session, rows: [itemRow] }] }), true);
  assert.equal(await store.projected(), first.to);
  assert.deepEqual(await store.search("needle", { limit: 9 }), [{ session, seq: 1 }]);
  assert.equal(await store.project(first), false);
  await append(bench, partOf(bench, session, "exists", { drafts: drafts(bench, 1, { content: "needle" }) }));
  const second = await stepOf(bench, [{ session, seq: 2, text: "needle" }]);
  assert.equal(second.from, first.to);
  assert.equal(await store.project({ ...second, items: [{ session, rows: [] }] }), true);
  assert.equal((await store.search("needle", { limit: 9 })).length, 2);
}

async function stepsAtOnce(bench: Bench): Promise<void> {
  const session = await opened(bench, 0, { drafts: drafts(bench, 1, { content: "needle" }) });
  const step = await stepOf(bench, [{ session, seq: 1, text: "needle" }]);
  const taken = await Promise.all([bench.store.project(step), bench.store.project(step)]);
  assert.deepEqual(new Set(taken), new Set([true, false]));
  assert.equal((await bench.store.search("needle", { limit: 9 })).length, 1);
}

/** A session whose records contain these texts, all projected. */
async function saying(bench: Bench, ...texts: readonly string[]): Promise<SessionId> {
  const given = texts.map((content) => draftOf({ content }, bench.world.digest));
  const session = await opened(bench, 0, { drafts: given });
  const said = texts.map((text, place) => ({ session, seq: place + 1, text }));
  assert.equal(await bench.store.project(await stepOf(bench, said)), true);
  return session;
}

async function hits(bench: Bench, text: string): Promise<readonly number[]> {
  return (await bench.store.search(text, { limit: 100 })).map((hit) => hit.seq);
}

async function everyWord(bench: Bench): Promise<void> {
  await saying(bench, "the base rate rises", "the rate falls", "base camp", "rate the base", "rates");
  assert.deepEqual(await hits(bench, "rate"), [4, 2, 1]);
  assert.deepEqual(await hits(bench, "base rate"), [4, 1]);
  assert.deepEqual(await hits(bench, "rate, base!"), [4, 1]);
  assert.deepEqual(await hits(bench, "base camp rate"), []);
  assert.deepEqual(await hits(bench, "rat"), []);
  assert.deepEqual(await hits(bench, "base OR camp"), []);
  assert.deepEqual(await hits(bench, '"rate'), [4, 2, 1]);
  assert.deepEqual(await hits(bench, "rate)"), [4, 2, 1]);
}

async function caseAndMarks(bench: Bench): Promise<void> {
  await saying(bench, "Zürich CAFÉ", "zurich cafe", "Zu\u0308rich", "日本語 text", "ОТЧЁТ год", "v2.10-beta");
  assert.deepEqual(await hits(bench, "ZURICH"), [3, 2, 1]);
  assert.deepEqual(await hits(bench, "zürich café"), [2, 1]);
  assert.deepEqual(await hits(bench, "日本語"), [4]);
  assert.deepEqual(await hits(bench, "ГОД"), [5]);
  assert.deepEqual(await hits(bench, "v2 10 BETA"), [6]);
}

async function starAndNothing(bench: Bench): Promise<void> {
  await saying(bench, "november payroll", "novel idea", "payroll of Növember");
  assert.deepEqual(await hits(bench, "nov*"), [3, 2, 1]);
  assert.deepEqual(await hits(bench, "payroll NOVEM*"), [3, 1]);
  assert.deepEqual(await hits(bench, "vember*"), []);
  for (const nothing of ["", " ", "*", "?!", '"', "()", "-", "' OR 1=1 --", ":", "^"]) {
    assert.deepEqual(await hits(bench, nothing), [], `found something for ${nothing}`);
  }
}

async function searchLimits(bench: Bench): Promise<void> {
  const { store } = bench;
  const first = await saying(bench, "needle one", "needle two");
  const second = await saying(bench, ...Array.from({ length: limit.searchMax }, () => "needle"));
  assert.deepEqual(await store.search("needle", { limit: 1 }), [{ session: second, seq: limit.searchMax }]);
  assert.equal((await store.search("needle", { limit: limit.searchMax + 1 })).length, limit.searchMax);
  const own = await store.search("needle", { limit: 9, session: first });
  assert.deepEqual(own, [
    { session: first, seq: 2 },
    { session: first, seq: 1 },
  ]);
  const third = await saying(bench, "needle three");
  const some = await store.search("needle", { limit: 9, logs: [first, third] });
  assert.deepEqual(some, [{ session: third, seq: 1 }, ...own]);
  assert.deepEqual(await store.search("needle", { limit: 9, logs: [] }), []);
}

async function textAgain(bench: Bench): Promise<void> {
  const session = await saying(bench, "a secret needle", "another needle");
  await append(bench, partOf(bench, session, "exists"));
  assert.equal(await bench.store.project(await stepOf(bench, [{ session, seq: 1, text: "a needle" }])), true);
  assert.deepEqual(await hits(bench, "secret"), []);
  assert.deepEqual(await hits(bench, "needle"), [2, 1]);
}

async function cleared(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await saying(bench, "needle", "two");
  await store.putSnapshot(session, { seq: 2, form: 1, text: "state" });
  await store.clearDerived();
  assert.deepEqual((await store.logs(null, 10)).rows, [session]);
  assert.equal(await store.snapshot(session, 2), undefined);
  assert.deepEqual(await hits(bench, "needle"), []);
  assert.equal(await store.projected(), null);
  assert.equal((await store.list({}, { limit: 10 })).rows.length, 1);
  await assertWhole(bench, session, 2);
  assert.equal((await feedAll(store, null)).records.length, 2);
  // All of it can be rebuilt.
  assert.equal(await store.index(session, entryOf({ name: "again" }), 2), true);
  assert.equal((await store.list({ text: "again" }, { limit: 10 })).rows[0]?.headSeq, 2);
  await store.project(await stepOf(bench, [{ session, seq: 1, text: "needle" }]));
  assert.deepEqual(await hits(bench, "needle"), [1]);
}
