/** Conformance: reading ranges and pages, positions by time, the feed, and change notifications. */
import assert from "node:assert/strict";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, draftOf, drafts, feedAll, forked, opened, partOf, readAll } from "./bench.ts";
import { seqsOf, startOfTime, upTo } from "./bench.ts";

export const readCases: readonly ConformanceCase[] = [
  { name: "reading a missing log returns nothing", run: nothingThere },
  { name: "a range includes both ends and nothing beyond the head", run: rangeEnds },
  { name: "read filters by type and reverses", run: typesAndReverse },
  { name: "read without contents returns all other fields", run: withoutContents },
  { name: "a page holds at most the limit of records", run: pageOfRecords },
  { name: "a page holds at most the limit of bytes, and at least one record", run: pageOfBytes },
  { name: "a page of one type is never empty before the end", run: pageOfRareType },
  { name: "seqAt finds the first position not before a moment", run: seqAtMoment },
  { name: "the feed returns every record once, in order", run: feedOnce },
  { name: "a position at the end of the feed continues with later records", run: feedGoesOn },
  { name: "a page of the feed respects the limits of records and bytes", run: feedPages },
  { name: "watch notifies of appends until it is closed", run: watching },
];

async function nothingThere(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = bench.newId();
  assert.equal(await store.head(session), undefined);
  assert.deepEqual(await store.read(session, { fromSeq: 1, toSeq: 9, limit: 9, contents: true }), []);
  assert.equal(await store.snapshot(session, 9), undefined);
  assert.deepEqual(await store.forks(session), []);
  assert.equal(await store.renew(session, 1, 5_000), false);
}

async function rangeEnds(bench: Bench): Promise<void> {
  const session = await opened(bench, 10);
  const seqs = async (fromSeq: number, toSeq: number, limit = 100): Promise<readonly number[]> =>
    seqsOf(await bench.store.read(session, { fromSeq, toSeq, limit, contents: true }));
  assert.deepEqual(await seqs(3, 5), [3, 4, 5]);
  assert.deepEqual(await seqs(1, 1), [1]);
  assert.deepEqual(await seqs(10, 99), [10]);
  assert.deepEqual(await seqs(1, Number.MAX_SAFE_INTEGER, 4), [1, 2, 3, 4]);
  assert.deepEqual(await seqs(11, 99), []);
  assert.deepEqual(await seqs(5, 4), []);
}

async function typesAndReverse(bench: Bench): Promise<void> {
  const types = ["x.a", "x.b", "x.c", "x.a", "x.b", "x.a"];
  const given = types.map((type) => draftOf({ type }, bench.world.digest));
  const session = await opened(bench, 0, { drafts: given });
  const child = await forked(bench, session, 5);
  const whole = { fromSeq: 1, toSeq: 99, limit: 99, contents: true };
  const { store } = bench;
  assert.deepEqual(seqsOf(await store.read(session, { ...whole, types: ["x.a"] })), [1, 4, 6]);
  assert.deepEqual(seqsOf(await store.read(session, { ...whole, types: ["x.c", "x.a"] })), [1, 3, 4, 6]);
  assert.deepEqual(seqsOf(await store.read(session, { ...whole, types: ["x.none"] })), []);
  assert.deepEqual(seqsOf(await store.read(session, { ...whole, reverse: true, limit: 4 })), [6, 5, 4, 3]);
  const back = { ...whole, reverse: true, toSeq: 5 };
  assert.deepEqual(
    seqsOf(await store.read(session, { ...back, types: ["x.a", "x.b"], limit: 3 })),
    [5, 4, 2],
  );
  assert.deepEqual(seqsOf(await store.read(child, { ...whole, reverse: true })), [6, 5, 4, 3, 2, 1]);
  assert.deepEqual(seqsOf(await store.read(child, { ...whole, types: ["x.a"] })), [1, 4]);
  assert.deepEqual(seqsOf(await readAll(store, child, { limit: 1, reverse: true })), [6, 5, 4, 3, 2, 1]);
}

async function withoutContents(bench: Bench): Promise<void> {
  const session = await opened(bench, 0, { drafts: drafts(bench, 2, { content: "said" }) });
  const bare = await readAll(bench.store, session, { contents: false });
  const full = await readAll(bench.store, session);
  assert.deepEqual(
    bare,
    full.map((record) => ({ ...record, salt: null, content: null })),
  );
}

async function pageOfRecords(bench: Bench): Promise<void> {
  const most = limit.pageRecordsMax;
  const session = await opened(bench, most);
  await append(bench, partOf(bench, session, "exists", { count: 2 }));
  const page = await bench.store.read(session, { fromSeq: 1, toSeq: 9_999, limit: 9_999, contents: false });
  assert.ok(page.length <= most, `${page.length} records in one page`);
  assert.deepEqual(seqsOf(page), upTo(page.length));
  assert.deepEqual(seqsOf(await readAll(bench.store, session)), upTo(most + 2));
}

async function pageOfBytes(bench: Bench): Promise<void> {
  const content = "x".repeat(limit.contentBytesMax - 2);
  const session = await opened(bench, 0, { drafts: drafts(bench, 6, { content }) });
  for (const reverse of [false, true]) {
    const page = await bench.store.read(session, { fromSeq: 1, toSeq: 6, limit: 6, reverse, contents: true });
    const bytes = page.reduce((sum, record) => sum + (record.contentBytes ?? 0), 0);
    assert.ok(page.length > 0 && bytes <= limit.pageBytesMax, `${page.length} records, ${bytes} bytes`);
    assert.equal((await readAll(bench.store, session, { reverse })).length, 6);
  }
}

async function pageOfRareType(bench: Bench): Promise<void> {
  const session = await opened(bench, 1_000);
  await append(bench, partOf(bench, session, "exists", { count: 999 }));
  await append(bench, partOf(bench, session, "exists", { drafts: drafts(bench, 1, { type: "x.rare" }) }));
  const range = { fromSeq: 1, toSeq: 2_000, limit: 10, types: ["x.rare"], contents: true };
  assert.deepEqual(seqsOf(await bench.store.read(session, range)), [2_000]);
}

async function seqAtMoment(bench: Bench): Promise<void> {
  const session = await opened(bench, 2);
  for (const later of [10, 20]) {
    bench.setClock(startOfTime + later);
    await append(bench, partOf(bench, session, "exists", { count: 2 }));
  }
  bench.setClock(startOfTime + 30);
  const child = await forked(bench, session, 3);
  const seqs = (log: typeof session): Promise<readonly number[]> =>
    Promise.all([-5, 0, 1, 10, 11, 20, 21, 30, 31].map((ms) => bench.store.seqAt(log, startOfTime + ms)));
  assert.deepEqual(await seqs(session), [1, 1, 3, 3, 5, 5, 7, 7, 7]);
  assert.deepEqual(await seqs(child), [1, 1, 3, 3, 4, 4, 4, 4, 5]);
}

async function feedOnce(bench: Bench): Promise<void> {
  const [first, second] = [await opened(bench, 2), await opened(bench, 3)];
  await append(bench, partOf(bench, first, "exists"), partOf(bench, second, "exists", { count: 2 }));
  const child = await forked(bench, first, 2, 2);
  const { records } = await feedAll(bench.store, null, 2);
  for (const [session, seqs] of [
    [first, [1, 2, 3]],
    [second, [1, 2, 3, 4, 5]],
    [child, [3, 4]],
  ] as const) {
    const own = records.filter((record) => record.session === session);
    assert.deepEqual(seqsOf(own), seqs);
    const [from] = seqs;
    assert.deepEqual(own, await readAll(bench.store, session, { fromSeq: from }));
  }
  assert.equal(records.length, 10);
}

async function feedGoesOn(bench: Bench): Promise<void> {
  const empty = await bench.store.feed(null, 10);
  assert.deepEqual(empty.records, []);
  const session = await opened(bench, 2);
  const first = await bench.store.feed(empty.position, 10);
  assert.deepEqual(seqsOf(first.records), [1, 2]);
  assert.deepEqual((await bench.store.feed(first.position, 10)).records, []);
  const more = Array.from({ length: 10 }, () => append(bench, partOf(bench, session, "exists")));
  const meanwhile = await feedAll(bench.store, first.position, 3);
  await Promise.all(more);
  const rest = await feedAll(bench.store, meanwhile.position, 3);
  assert.deepEqual(seqsOf([...first.records, ...meanwhile.records, ...rest.records]), upTo(12));
}

async function feedPages(bench: Bench): Promise<void> {
  const content = "x".repeat(limit.contentBytesMax - 2);
  await opened(bench, 0, { drafts: drafts(bench, 6, { content }) });
  const large = await bench.store.feed(null, 100);
  assert.ok(large.records.length > 0 && large.records.length <= 4, `${large.records.length} MiB in one page`);
  await opened(bench, limit.pageRecordsMax);
  await opened(bench);
  const { position } = await feedAll(bench.store, null, 6);
  await opened(bench, limit.pageRecordsMax);
  await opened(bench);
  const many = await bench.store.feed(position, 9_999);
  assert.ok(many.records.length > 0 && many.records.length <= limit.pageRecordsMax);
  assert.equal((await feedAll(bench.store, position)).records.length, limit.pageRecordsMax + 1);
}

async function watching(bench: Bench): Promise<void> {
  let calls = 0;
  let tell = (): void => undefined;
  const next = (): Promise<void> => new Promise((resolve) => void (tell = resolve));
  const end = bench.store.watch(() => {
    calls += 1;
    tell();
  });
  const first = next();
  const session = await opened(bench);
  await first;
  const second = next();
  await append(bench, partOf(bench, session, "exists"));
  await second;
  end();
  end();
  const before = calls;
  // A second watcher signals when the append has been announced.
  const third = next();
  const endOther = bench.store.watch(() => tell());
  await append(bench, partOf(bench, session, "exists"));
  await third;
  endOther();
  assert.equal(calls, before);
}
