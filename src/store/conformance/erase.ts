/** Conformance: contents erased with an append; only their hashes remain. */
import assert from "node:assert/strict";
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, assertWhole, draftOf, dropped, entryOf, feedAll, forked } from "./bench.ts";
import { hashOfBytes, isError, opened, partOf, readAll, seqsOf, upTo } from "./bench.ts";
import type { Part, Projection } from "../port.ts";

export const eraseCases: readonly ConformanceCase[] = [
  { name: "erasing takes contents and salts, and nothing else", run: nothingElse },
  { name: "an erasing append keeps its own contents", run: notItself },
  { name: "erasing counts only contents that were there", run: twice },
  { name: "erasing in a parent erases the shared prefix of a fork and nothing else", run: sharedPrefix },
  { name: "erasing in a fork erases the shared prefix for the whole family", run: throughFork },
  { name: "a fork that outlives its parent can still be erased", run: afterParent },
  { name: "a refused append erases nothing", run: refused },
  { name: "invalid ranges are refused", run: nonsense },
  { name: "one append erases at most the limit of contents", run: edge },
  { name: "search does not find erased contents", run: search },
  { name: "a projection step from before an erasure is rejected after it", run: lateStep },
  { name: "the feed returns erased records without content", run: feed },
  { name: "a blob is deleted with the last content that refers to it", run: blobs },
  { name: "scrubbing loses nothing, and a second scrub finds nothing", run: scrubbing },
  { name: "erased contents stay erased after reopening", run: reopened, reopens: true },
];

type Ranges = NonNullable<Part["erase"]>;

/** A session whose records contain `word 1`, `word 2` and so on. */
const saying = (bench: Bench, count: number, word = "needle"): Promise<SessionId> =>
  opened(bench, 0, {
    drafts: upTo(count).map((place) =>
      draftOf({ body: { place }, content: `${word} ${place}` }, bench.world.digest),
    ),
  });

const erased = (bench: Bench, session: LogId, ...ranges: Ranges) =>
  append(bench, partOf(bench, session, "exists", { erase: ranges }));

/** Positions that still have a content. */
async function left(bench: Bench, session: LogId): Promise<readonly number[]> {
  const records = await readAll(bench.store, session);
  for (const { content, salt, seq } of records) {
    assert.equal(content === null, salt === null, `content and salt of ${seq} are not both there`);
  }
  return seqsOf(records.filter(({ content }) => content !== null));
}

async function nothingElse(bench: Bench): Promise<void> {
  const session = await saying(bench, 9);
  const before = await readAll(bench.store, session);
  await erased(bench, session, [2, 3], [5, 5], [8, 8]);
  const after = await readAll(bench.store, session);
  const bare = (seq: number) => [2, 3, 5, 8].includes(seq);
  assert.deepEqual(
    after.slice(0, 9),
    before.map((record) => (bare(record.seq) ? { ...record, content: null, salt: null } : record)),
  );
  await assertWhole(bench, session, 10);
  const { contentBytes } = await bench.store.stats();
  assert.equal(contentBytes, 5 * Buffer.byteLength(JSON.stringify("needle 1")));
}

async function notItself(bench: Bench): Promise<void> {
  const session = await saying(bench, 3);
  const said = draftOf({ content: "why" }, bench.world.digest);
  const erase: Ranges = [
    [2, 4],
    [3, Number.MAX_SAFE_INTEGER],
  ];
  await append(bench, { ...partOf(bench, session, { seq: 3 }), drafts: [said], erase });
  assert.deepEqual(await left(bench, session), [1, 4]);
  await assertWhole(bench, session, 4);
}

async function twice(bench: Bench): Promise<void> {
  const session = await saying(bench, 3);
  await erased(bench, session, [1, 2]);
  await bench.store.scrub();
  const before = await readAll(bench.store, session);
  await erased(bench, session, [1, 2]);
  await erased(bench, session, [1, 1], [1, 2], [4, 5]);
  await erased(bench, session);
  assert.equal((await bench.store.stats()).unscrubbed, false);
  assert.deepEqual((await readAll(bench.store, session)).slice(0, 4), before);
  assert.deepEqual(await left(bench, session), [3]);
  await assertWhole(bench, session, 7);
}

const contentOf = (place: number, bench: Bench) => draftOf({ content: `own ${place}` }, bench.world.digest);

async function family(bench: Bench) {
  const root = await saying(bench, 6);
  const drafts = upTo(3).map((place) => contentOf(place, bench));
  const middle = await opened(bench, 0, { drafts, parent: { session: root, seq: 4 } });
  const leaf = await opened(bench, 0, { drafts, parent: { session: middle, seq: 6 } });
  const aside = await opened(bench, 0, { drafts, parent: { session: middle, seq: 3 } });
  return { root, middle, leaf, aside };
}

async function sharedPrefix(bench: Bench): Promise<void> {
  const { root, middle, leaf, aside } = await family(bench);
  await erased(bench, root, [3, 5]);
  assert.deepEqual(await left(bench, root), [1, 2, 6]);
  assert.deepEqual(await left(bench, middle), [1, 2, 5, 6, 7]);
  assert.deepEqual(await left(bench, leaf), [1, 2, 5, 6, 7, 8, 9]);
  assert.deepEqual(await left(bench, aside), [1, 2, 4, 5, 6]);
  await assertWhole(bench, root, 7);
  await assertWhole(bench, middle, 7);
  await assertWhole(bench, leaf, 9);
  await assertWhole(bench, aside, 6);
}

async function throughFork(bench: Bench): Promise<void> {
  const { root, middle, leaf, aside } = await family(bench);
  await erased(bench, leaf, [4, 5], [8, 8]);
  assert.deepEqual(await left(bench, root), [1, 2, 3, 5, 6]);
  assert.deepEqual(await left(bench, middle), [1, 2, 3, 6, 7]);
  assert.deepEqual(await left(bench, leaf), [1, 2, 3, 6, 7, 9]);
  assert.deepEqual(await left(bench, aside), [1, 2, 3, 4, 5, 6]);
  // Also with its first append.
  const parent = { session: root, seq: 3 };
  await opened(bench, 1, { parent, erase: [[2, 9]] });
  assert.deepEqual(await left(bench, root), [1, 5, 6]);
  assert.deepEqual(await left(bench, aside), [1, 4, 5, 6]);
}

async function afterParent(bench: Bench): Promise<void> {
  const { root, middle, leaf } = await family(bench);
  for (const session of [root, middle]) await dropped(bench, session);
  await bench.store.sweep();
  await erased(bench, leaf, [2, 3], [5, 7]);
  assert.deepEqual(await left(bench, leaf), [1, 4, 8, 9]);
  await assertWhole(bench, leaf, 10);
}

async function refused(bench: Bench): Promise<void> {
  const session = await saying(bench, 3);
  const other = await saying(bench, 3);
  const erase: Ranges = [[1, 3]];
  const parts = [partOf(bench, session, { seq: 3 }, { erase }), partOf(bench, other, { seq: 2 }, { erase })];
  assert.equal((await bench.store.append(parts)).kind, "conflict");
  const fenced = await bench.store.append([partOf(bench, session, { seq: 3 }, { erase, epoch: 1 })]);
  assert.equal(fenced.kind, "fenced");
  for (const one of [session, other]) assert.deepEqual(await left(bench, one), [1, 2, 3]);
  assert.equal((await bench.store.stats()).unscrubbed, false);
}

async function nonsense(bench: Bench): Promise<void> {
  const session = await saying(bench, 3);
  const ranges: Ranges = [
    [0, 1],
    [3, 2],
    [1.5, 2],
    [1, Number.NaN],
    [1, Infinity],
  ];
  for (const range of ranges) {
    await assert.rejects(erased(bench, session, range), isError("invalid"), `took ${range.join("..")}`);
  }
  const drop: Part = { session, expect: "exists", drafts: [], drop: true, erase: [[1, 1]] };
  await assert.rejects(bench.store.append([drop]), isError("invalid"));
  await assert.rejects(
    bench.store.append([{ session, expect: "exists", drafts: [], erase: [[1, 1]] }]),
    isError("invalid"),
  );
  assert.deepEqual(await left(bench, session), [1, 2, 3]);
  await assertWhole(bench, session, 3);
}

async function edge(bench: Bench): Promise<void> {
  const most = limit.eraseRecordsMax;
  const session = await saying(bench, most + 1);
  const other = await saying(bench, 1);
  await assert.rejects(erased(bench, session, [1, most + 1]), isError("invalid"));
  const both = [
    partOf(bench, session, "exists", { erase: [[1, most]] }),
    partOf(bench, other, "exists", { erase: [[1, 1]] }),
  ];
  await assert.rejects(bench.store.append(both), isError("invalid"));
  assert.equal((await left(bench, session)).length, most + 1);
  await erased(bench, session, [1, most]);
  assert.deepEqual(await left(bench, session), [most + 1]);
  // Already erased contents do not count.
  await erased(bench, session, [1, most + 1]);
  assert.deepEqual(await left(bench, session), []);
  await assertWhole(bench, session, most + 3);
}

async function stepOf(bench: Bench): Promise<Projection> {
  const from = await bench.store.projected();
  const { records, position } = await feedAll(bench.store, from);
  const texts = records.flatMap(({ session, seq, content }) =>
    content === null ? [] : [{ session, seq, text: String(JSON.parse(content)) }],
  );
  return { from, to: position, texts, items: [] };
}

const hits = async (bench: Bench, text: string): Promise<readonly number[]> =>
  (await bench.store.search(text, { limit: 100 })).map(({ seq }) => seq);

async function search(bench: Bench): Promise<void> {
  const session = await saying(bench, 4);
  const other = await saying(bench, 2, "other");
  assert.equal(await bench.store.project(await stepOf(bench)), true);
  await erased(bench, session, [2, 3]);
  assert.deepEqual(await hits(bench, "needle"), [4, 1]);
  await bench.store.scrub();
  assert.deepEqual(await hits(bench, "needle"), [4, 1]);
  assert.deepEqual(await hits(bench, "other"), [2, 1]);
  await erased(bench, session, [1, 4]);
  await erased(bench, other, [1, 1]);
  assert.deepEqual([await hits(bench, "needle"), await hits(bench, "other")], [[], [2]]);
}

async function lateStep(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await saying(bench, 2);
  const first = await stepOf(bench);
  await erased(bench, session, [1, 1]);
  assert.equal(await store.project(first), false);
  assert.deepEqual(await hits(bench, "needle"), []);
  assert.equal(await store.project(await stepOf(bench)), true);
  assert.deepEqual(await hits(bench, "needle"), [2]);
  await append(bench, { ...partOf(bench, session, "exists"), drafts: [contentOf(1, bench)] });
  const second = await stepOf(bench);
  await erased(bench, session, [4, 4]);
  assert.equal(await store.project(second), false);
  assert.equal(await store.project(await stepOf(bench)), true);
  assert.deepEqual([await hits(bench, "own"), await hits(bench, "needle")], [[], [2]]);
  // At the end of the feed there is nothing left to do.
  const stands = await store.projected();
  assert.deepEqual(await store.feed(stands, 10), { records: [], position: stands });
}

async function feed(bench: Bench): Promise<void> {
  const session = await saying(bench, 3);
  const before = await bench.store.feed(null, 1);
  await erased(bench, session, [1, 2]);
  const { records } = await feedAll(bench.store, null);
  assert.deepEqual(
    records.map(({ seq, content, salt }) => [seq, content, salt === null]),
    [
      [1, null, true],
      [2, null, true],
      [3, '"needle 3"', false],
      [4, null, true],
    ],
  );
  assert.deepEqual(seqsOf((await feedAll(bench.store, before.position)).records), [2, 3, 4]);
}

async function blobs(bench: Bench): Promise<void> {
  const { store, world } = bench;
  const bytes = { one: Buffer.from("one"), two: Buffer.from("two"), three: Buffer.from("three") };
  const [first, second, third] = [hashOfBytes(bytes.one), hashOfBytes(bytes.two), hashOfBytes(bytes.three)];
  for (const one of Object.values(bytes)) await store.putBlob(hashOfBytes(one), [one]);
  const said = (...of: readonly string[]) => draftOf({ content: of, blobs: of }, world.digest);
  const session = await opened(bench, 0, { drafts: [said(first, second), said(second)] });
  const there = async (): Promise<readonly boolean[]> =>
    Promise.all([first, second, third].map(async (hash) => (await store.blob(hash)) !== undefined));
  await erased(bench, session, [1, 1]);
  // The third was written just now, by a writer whose record is still to come.
  assert.deepEqual(await there(), [false, true, true]);
  // The record of the erasure refers to it too.
  await append(bench, { session, expect: "exists", drafts: [said(second)], erase: [[2, 2]] });
  assert.deepEqual(await there(), [false, true, true]);
  await erased(bench, session, [4, 4]);
  assert.deepEqual(await there(), [false, false, true]);
  await store.scrub();
  assert.equal((await store.stats()).blobs, 1);
  await store.putBlob(first, [bytes.one]);
  assert.deepEqual(await there(), [true, false, true]);
  await append(bench, { session, expect: "exists", drafts: [said(first, third)] });
  await assertWhole(bench, session, 6);
}

async function scrubbing(bench: Bench): Promise<void> {
  const { store } = bench;
  await store.scrub();
  const session = await saying(bench, 5);
  const doomed = await saying(bench, 5);
  const fork = await forked(bench, doomed, 2);
  await erased(bench, session, [1, 4]);
  await dropped(bench, doomed);
  await Promise.all([store.scrub(), store.scrub()]);
  assert.equal((await store.stats()).unscrubbed, false);
  await store.sweep();
  await store.scrub();
  assert.deepEqual(await left(bench, session), [5]);
  assert.deepEqual(await left(bench, fork), [1, 2]);
  await assertWhole(bench, session, 6);
  await assertWhole(bench, fork, 3);
  assert.deepEqual(await store.check(), []);
  const { unscrubbed, records } = await store.stats();
  assert.deepEqual([unscrubbed, records], [false, 9]);
}

async function reopened(bench: Bench): Promise<void> {
  const session = await saying(bench, 4);
  assert.equal(await bench.store.index(session, entryOf({ name: "kept" }), 4), true);
  await erased(bench, session, [2, 3]);
  assert.equal((await bench.store.stats()).unscrubbed, true);
  const store = await bench.reopen();
  const again = { ...bench, store };
  assert.equal((await store.stats()).unscrubbed, true);
  assert.deepEqual(await left(again, session), [1, 4]);
  await assertWhole(again, session, 5);
  await store.scrub();
  assert.equal((await store.stats()).unscrubbed, false);
  assert.deepEqual(await left(again, session), [1, 4]);
}
