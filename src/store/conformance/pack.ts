/** Conformance: packing old records, invisible to readers. */
import assert from "node:assert/strict";
import type { LogId, SessionId } from "../../core/ids.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, assertWhole, draftOf, dropped, feedAll, forked, hashOfBytes } from "./bench.ts";
import { opened, partOf, readAll, seqsOf, startOfTime, upTo, written } from "./bench.ts";
import type { Draft, PackResult, Store } from "../port.ts";

export const packCases: readonly ConformanceCase[] = [
  { name: "packed records read as before", run: readsAsBefore },
  { name: "packing stops at the given position, and before the last record", run: stopsBefore },
  { name: "packing again packs only what is new", run: onlyTheRest },
  { name: "packing a missing log packs nothing", run: nothing },
  { name: "a key of a packed record is a duplicate", run: keys },
  { name: "seqAt finds a time among packed records", run: moments },
  { name: "the feed continues from any position after packing", run: feed },
  { name: "search finds records packed before or after their projection", run: search },
  { name: "a fork at a packed position shares the packed records", run: forks },
  { name: "deleting a packed parent leaves its forks whole", run: droppedParent },
  { name: "a blob of a packed record is kept until the session is deleted", run: blobs },
  { name: "packed contents can be erased one by one", run: erased },
  { name: "a fork can erase packed contents that it shares", run: erasedByFork },
  { name: "two packers of one log lose nothing and pack nothing twice", run: atOnce },
  { name: "packing during appends loses nothing", run: beside },
  { name: "packing during erasure restores nothing", run: besideErasing },
  { name: "packing stops when its signal is aborted, and a later call continues", run: stopped },
  { name: "clearDerived keeps packed records", run: derived },
  { name: "packed records survive reopening", run: reopened, reopens: true },
];

const everything = Number.MAX_SAFE_INTEGER;

/** Records of several types, with and without contents and keys, of very different lengths. */
const mixed = (bench: Bench, count: number, word = "needle"): Draft[] =>
  upTo(count).map((place) =>
    draftOf(
      {
        type: place % 3 === 0 ? "x.third" : "x.other",
        body: { place, grüße: "😀".repeat(place % 4) },
        ...(place % 4 === 0 ? {} : { content: `${word} ${place} ${"lorem ".repeat((place * 7) % 90)}` }),
        ...(place % 5 === 0 ? { key: `${word} ${place}` } : {}),
      },
      bench.world.digest,
    ),
  );

const filled = (bench: Bench, count = 60): Promise<SessionId> =>
  opened(bench, 0, { drafts: mixed(bench, count) });

const grown = (bench: Bench, session: LogId, count: number, word = "more") =>
  append(bench, partOf(bench, session, "exists", { drafts: mixed(bench, count, word) }));

/** Every kind of read of a log. */
async function readings(store: Store, session: LogId): Promise<unknown> {
  const head = await store.head(session);
  const last = head?.seq ?? 0;
  const ranges = [
    [1, last],
    [7, 33],
    [Math.max(1, last - 5), last],
    [20, 20],
  ] as const;
  const found: unknown[] = [head];
  for (const [fromSeq, toSeq] of ranges) {
    for (const reverse of [false, true]) {
      for (const contents of [false, true]) {
        for (const types of [undefined, ["x.third"], ["x.third", "x.other"], ["x.never"]]) {
          const range = { fromSeq, toSeq, reverse, contents, ...(types && { types }) };
          found.push(await readAll(store, session, range));
          found.push(await store.read(session, { ...range, limit: 3 }));
        }
      }
    }
  }
  return found;
}

async function packed(store: Store, session: LogId, toSeq = everything): Promise<PackResult> {
  const done = await store.pack(session, toSeq);
  assert.ok(done.bytesAfter <= done.bytesBefore || done.records < 20, "packing made it longer");
  return done;
}

async function readsAsBefore(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  const before = await readings(store, session);
  const stats = await store.stats();
  assert.equal((await packed(store, session)).records, 59);
  assert.deepEqual(await readings(store, session), before);
  await assertWhole(bench, session, 60);
  const { records, contentBytes } = await store.stats();
  assert.deepEqual([records, contentBytes], [stats.records, stats.contentBytes]);
  assert.deepEqual(await store.check(), []);
  await grown(bench, session, 5);
  await assertWhole(bench, session, 65);
}

async function stopsBefore({ store, ...bench }: Bench): Promise<void> {
  const session = await filled({ store, ...bench });
  assert.equal(await store.packedTo(session), 0);
  assert.equal((await packed(store, session, 20)).records, 20);
  assert.equal(await store.packedTo(session), 20);
  assert.equal((await packed(store, session, 20)).records, 0);
  assert.equal((await packed(store, session, 60)).records, 39);
  assert.equal(await store.packedTo(session), 59);
  await assertWhole({ store, ...bench }, session, 60);
}

async function onlyTheRest(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench, 10);
  const counts: number[] = [];
  for (let round = 0; round < 12; round++) {
    counts.push((await packed(store, session)).records);
    await grown(bench, session, 4, `round ${round}`);
  }
  assert.deepEqual(counts, [9, ...upTo(11).map(() => 4)]);
  await assertWhole(bench, session, 58);
  assert.deepEqual(await store.check(), []);
}

async function nothing(bench: Bench): Promise<void> {
  const { store } = bench;
  const none = { records: 0, bytesBefore: 0, bytesAfter: 0 };
  assert.deepEqual(await store.pack(bench.newId(), everything), none);
  const session = await opened(bench, 1);
  assert.deepEqual(await store.pack(session, everything), none);
  assert.deepEqual(await store.pack(session, 0), none);
  const gone = await opened(bench, 5);
  await dropped(bench, gone);
  assert.deepEqual(await store.pack(gone, everything), none);
}

async function keys(bench: Bench): Promise<void> {
  const { store, world } = bench;
  const session = await filled(bench);
  const draft = draftOf({ key: "needle 10" }, world.digest);
  await packed(store, session);
  const key = draft.key ?? "";
  assert.equal(await store.keyed(session, key), 10);
  for (const part of [
    { session, expect: "unchecked", drafts: [draft] },
    { session, expect: { seq: 60 }, drafts: [draft] },
  ] as const) {
    assert.deepEqual(await store.append([part]), { kind: "duplicate", session, key, seq: 10 });
  }
  const other = draftOf({ key: "another" }, world.digest);
  await append(bench, { session, expect: { seq: 60 }, drafts: [other] });
  assert.equal(await store.keyed(session, other.key ?? ""), 61);
  assert.equal(await store.keyed(session, draftOf({ key: "unused" }, world.digest).key ?? ""), undefined);
}

async function moments(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await opened(bench, 1);
  for (const place of upTo(40)) {
    bench.setClock(startOfTime + place * 10);
    await append(bench, partOf(bench, session, "exists", { count: 2 }));
  }
  const asked = [-5, 0, 1, 9, 10, 11, 200, 205, 399, 400, 401].map((after) => startOfTime + after);
  const find = () => Promise.all(asked.map((at) => store.seqAt(session, at)));
  const before = await find();
  for (const toSeq of [30, 60, everything]) {
    await packed(store, session, toSeq);
    assert.deepEqual(await find(), before);
  }
}

async function feed(bench: Bench): Promise<void> {
  const { store } = bench;
  const sessions = [await filled(bench, 20), await filled(bench, 20)];
  for (const round of upTo(6)) for (const one of sessions) await grown(bench, one, 3, `round ${round}`);
  const before = (await feedAll(store, null)).records;
  const positions: string[] = [];
  for (let position: string | null = null, count = 0; count < before.length;) {
    const page = await store.feed(position, 7);
    ({ position } = page);
    count += page.records.length;
    positions.push(position);
  }
  for (const [place, session] of sessions.entries())
    await packed(store, session, place === 0 ? 25 : everything);
  assert.deepEqual((await feedAll(store, null)).records, before);
  assert.deepEqual((await feedAll(store, null, 5)).records, before);
  for (const [place, position] of positions.entries()) {
    const left = before.slice((place + 1) * 7);
    assert.deepEqual((await feedAll(store, position)).records, left, `after page ${place}`);
  }
  await grown(bench, sessions[0] ?? bench.newId(), 1, "later");
  assert.equal((await feedAll(store, positions.at(-1) ?? null)).records.length, 1);
}

async function search(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  const texts = (await readAll(store, session)).flatMap(({ seq, content }) =>
    content === null ? [] : [{ session, seq, text: content }],
  );
  const [first, second] = [(await store.feed(null, 20)).position, (await store.feed(null, 40)).position];
  const half = { from: null, to: first, items: [], texts: texts.filter(({ seq }) => seq <= 30) };
  assert.equal(await store.project(half), true);
  await packed(store, session);
  const from = await store.projected();
  const rest = { from, to: second, items: [], texts: texts.filter(({ seq }) => seq > 30) };
  assert.equal(await store.project(rest), true);
  const found = await store.search("needle", { limit: 100 });
  assert.deepEqual(
    found.toReversed(),
    texts.map(({ seq }) => ({ session, seq })),
  );
  assert.deepEqual(await store.search("needle 17", { limit: 5, session }), [{ session, seq: 17 }]);
  await dropped(bench, session);
  assert.deepEqual(await store.search("needle", { limit: 5 }), []);
}

async function forks(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  await packed(store, session, 40);
  const fork = await forked(bench, session, 25, 30);
  await assertWhole(bench, fork, 55);
  const before = await readings(store, fork);
  assert.equal((await packed(store, fork)).records, 29);
  assert.equal(await store.packedTo(fork), 54);
  assert.deepEqual(await readings(store, fork), before);
  await assertWhole(bench, await forked(bench, fork, 40, 2), 42);
  await assertWhole(bench, await forked(bench, fork, 10, 2), 12);
  await packed(store, session);
  await assertWhole(bench, fork, 55);
  await assertWhole(bench, session, 60);
}

async function droppedParent(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  await packed(store, session);
  const fork = await forked(bench, session, 25, 3);
  const before = await readAll(store, fork);
  const { position } = await feedAll(store, null);
  await dropped(bench, session);
  await store.sweep();
  assert.deepEqual(await readAll(store, fork), before);
  assert.equal((await store.stats()).records, 28);
  assert.deepEqual(await store.check(), []);
  await grown(bench, fork, 2);
  assert.deepEqual(seqsOf((await feedAll(store, position)).records), [29, 30]);
  await dropped(bench, fork);
  await store.sweep();
  assert.equal((await store.stats()).records, 0);
  assert.equal((await store.stats()).segments, 0);
  assert.deepEqual(await store.check(), []);
}

async function blobs(bench: Bench): Promise<void> {
  const { store, world } = bench;
  const bytes = Uint8Array.of(1, 2, 3);
  const hash = hashOfBytes(bytes);
  await store.putBlob(hash, [bytes]);
  const said = draftOf({ content: hash, blobs: [hash] }, world.digest);
  const session = await opened(bench, 0, { drafts: [...mixed(bench, 5), said, ...mixed(bench, 5, "rest")] });
  await packed(store, session);
  await store.sweep();
  assert.equal((await store.stats()).blobs, 1);
  await store.dropBlob(hash);
  assert.equal((await store.stats()).blobs, 1);
  await dropped(bench, session);
  await store.sweep();
  assert.equal((await store.stats()).blobs, 0);
}

async function erased(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  await packed(store, session, 50);
  const before = await readAll(store, session);
  const erase = [
    [5, 9],
    [30, 30],
    [48, 53],
  ] as const;
  await append(bench, partOf(bench, session, "exists", { erase }));
  const isHit = (seq: number): boolean => erase.some(([from, to]) => from <= seq && seq <= to);
  const after = (await readAll(store, session)).slice(0, 60);
  const bare = before.map((record) =>
    isHit(record.seq) ? { ...record, content: null, salt: null } : record,
  );
  assert.deepEqual(after, bare);
  await assertWhole(bench, session, 61);
  const bytes = after.reduce((sum, one) => sum + (one.content === null ? 0 : (one.contentBytes ?? 0)), 0);
  assert.equal((await store.stats()).contentBytes, bytes);
  await store.scrub();
  assert.deepEqual(await store.check(), []);
}

async function erasedByFork(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  await packed(store, session);
  const fork = await forked(bench, session, 30, 2);
  await append(bench, partOf(bench, fork, "exists", { erase: [[1, 31]] }));
  for (const [log, count] of [
    [session, 60],
    [fork, 33],
  ] as const) {
    const records = await readAll(store, log);
    assert.ok(records.slice(0, 30).every(({ content }) => content === null));
    await assertWhole(bench, log, count);
  }
  assert.ok((await readAll(store, session)).slice(30).some(({ content }) => content !== null));
}

async function atOnce(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench, 300);
  const before = await readAll(store, session);
  const both = await Promise.all([store.pack(session, everything), store.pack(session, everything)]);
  assert.equal((both[0]?.records ?? 0) + (both[1]?.records ?? 0), 299);
  assert.deepEqual(await readAll(store, session), before);
  assert.deepEqual((await feedAll(store, null)).records, before);
  assert.deepEqual(await store.check(), []);
}

async function beside(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench, 100);
  const append1 = async (word: string): Promise<void> => {
    for (const place of upTo(20)) await grown(bench, session, 3, `${word} ${place}`);
  };
  const [done] = await Promise.all([store.pack(session, everything), append1("a"), append1("b")]);
  assert.ok(done.records >= 99);
  await packed(store, session);
  await assertWhole(bench, session, 220);
  assert.equal((await feedAll(store, null)).records.length, 220);
}

async function besideErasing(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench, 200);
  const erasing = upTo(10).map(async (place) => {
    const erase = [[place * 15, place * 15 + 5]] as const;
    written(await store.append([partOf(bench, session, "exists", { erase })]));
  });
  await Promise.all([store.pack(session, everything), ...erasing]);
  await packed(store, session);
  const records = await readAll(store, session);
  const isHit = (seq: number): boolean => seq >= 15 && seq <= 155 && seq % 15 <= 5;
  assert.deepEqual(seqsOf(records.filter(({ seq, content }) => isHit(seq) && content !== null)), []);
  await assertWhole(bench, session, 210);
}

async function stopped(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench, 100);
  const none = await store.pack(session, everything, AbortSignal.abort());
  assert.equal(none.records, 0);
  assert.equal((await packed(store, session)).records, 99);
  await assertWhole(bench, session, 100);
}

async function derived(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await filled(bench);
  await packed(store, session);
  const { segments } = await store.stats();
  await store.clearDerived();
  assert.equal((await store.stats()).segments, segments);
  await assertWhole(bench, session, 60);
}

async function reopened(bench: Bench): Promise<void> {
  const session = await filled(bench);
  const fork = await forked(bench, session, 20, 2);
  await packed(bench.store, session);
  const store = await bench.reopen();
  const again = { ...bench, store };
  await assertWhole(again, session, 60);
  await assertWhole(again, fork, 22);
  await grown(again, session, 3);
  await assertWhole(again, session, 63);
  assert.equal(await store.packedTo(session), 59);
}
