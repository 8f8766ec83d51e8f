/** Conformance: logs received whole, which become sessions, copies, or prefixes that forks share. */
import assert from "node:assert/strict";
import { bodyHashOf, genesisHash, link, type StoredRecord } from "../../core/chain.ts";
import type { SessionId } from "../../core/ids.ts";
import { append, assertWhole, draftOf, dropped, entryOf, feedAll, forked } from "./bench.ts";
import { hashOfBytes, isError, opened, partOf, readAll, seqsOf, startOfTime, upTo } from "./bench.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import type { FinishRequest, ReceivedRecord, Reception, Store } from "../port.ts";

export const receiveCases: readonly ConformanceCase[] = [
  { name: "a received log is invisible until it is finished, then identical", run: unseenThenWhole },
  { name: "receiving resumes after reopening", run: goesOn, reopens: true },
  { name: "received batches are dense and chained, and all or nothing", run: denseAndChained },
  { name: "several logs are received at once, and an invalid one fails alone", run: atOnce },
  { name: "records that are present already are skipped when identical", run: passedOver },
  { name: "finish rejects a log that does not end at the announced head", run: endsThere },
  { name: "discarding leaves nothing behind", run: discarded },
  { name: "a copy can be read and forked, not written", run: copies },
  { name: "a prefix is visible to its forks only, and is deleted with the last", run: prefixes },
  { name: "a prefix becomes a session when the rest is received", run: prefixGrows },
  { name: "a fork may have a parent that is not in the store", run: namedOnly },
  { name: "additions to an existing log are invisible until finished", run: tails },
  { name: "a session that was deleted is received as a prefix only", run: deletedStays },
  { name: "the feed returns received records, also to readers past that position", run: feedOfArrivals },
  { name: "a page of the feed can end within a received log, and the next continues there", run: feedWithin },
  { name: "received records keep their blobs", run: blobsOfReceived },
  { name: "an unreferenced blob can be released", run: blobGivenBack },
];

/** A log as another store has it. */
export function made(
  bench: Bench,
  count: number,
  after: readonly StoredRecord[] = [],
  session = after.at(-1)?.session as SessionId | undefined,
  key?: string | null,
): { readonly session: SessionId; readonly records: readonly ReceivedRecord[] } {
  const id = session ?? bench.newId();
  const { digest } = bench.world;
  const records: ReceivedRecord[] = [];
  let last: Pick<StoredRecord, "seq" | "hash"> = after.at(-1) ?? { seq: 0, hash: genesisHash };
  for (let place = 0; place < count; place++) {
    const seq: number = last.seq + 1;
    const {
      content,
      blobs,
      bodyHash: _,
      ...draft
    } = draftOf({ body: { place }, content: `said ${seq}`, key: `${id} ${seq}` }, digest);
    const kept = { contentHash: content?.hash ?? null, contentBytes: content?.bytes ?? null };
    const fields = { ...draft, ...kept, session: id, seq, at: startOfTime + seq, key: key ?? draft.key };
    const hash = link(digest, last.hash, fields, bodyHashOf(digest, draft.body));
    const record = { ...fields, hash, salt: content?.salt ?? null, content: content?.text ?? null, blobs };
    records.push(record);
    last = record;
  }
  return { session: id, records };
}

export const alone = (session: SessionId): Reception => ({ session, parent: null, base: null });

const plain = (records: readonly ReceivedRecord[]): readonly StoredRecord[] =>
  records.map(({ blobs: _, ...record }) => record);

export const end = (
  { session, records }: { readonly session: SessionId; readonly records: readonly StoredRecord[] },
  as: FinishRequest["as"],
): FinishRequest => {
  const last = records.at(-1);
  const where = { session, seq: last?.seq ?? 0, hash: last?.hash ?? "" };
  return as === "prefix" ? { ...where, as } : { ...where, as, index: entryOf({ name: "received" }) };
};

async function received(bench: Bench, count: number, as: FinishRequest["as"] = "own") {
  const log = made(bench, count);
  await bench.store.receive(alone(log.session));
  await bench.store.put(log.session, log.records);
  await bench.store.finish([end(log, as)]);
  return log;
}

/** A fork of another store's records, received with them. */
async function receivedFork(bench: Bench, prefix: Awaited<ReturnType<typeof received>>, seq: number) {
  const { store } = bench;
  const shared = prefix.records.slice(0, seq);
  const fork = made(bench, 2, shared, bench.newId());
  await store.receive(alone(prefix.session));
  await store.put(prefix.session, shared);
  const parent = { session: prefix.session, seq };
  const there = await store.receive({ session: fork.session, parent, base: prefix.session });
  assert.deepEqual(there, { seq, hash: shared.at(-1)?.hash, there: "nothing" });
  await store.put(fork.session, fork.records);
  await store.finish([end({ ...prefix, records: shared }, "prefix"), end(fork, "own")]);
  return fork;
}

async function atOnce(bench: Bench): Promise<void> {
  const { store } = bench;
  const logs = [1, 2, 3, 4].map((count) => made(bench, count));
  const twice = made(bench, 2, [], undefined, "ab".repeat(16));
  const broken = made(bench, 3);
  const all = [...logs, twice, broken];
  const there = await Promise.all(all.map(({ session }) => store.receive(alone(session))));
  assert.deepEqual(new Set(there.map((one) => one.there)), new Set(["nothing"]));
  const puts = all.map((log) => store.put(log.session, log === broken ? log.records.slice(1) : log.records));
  const outcomes = await Promise.allSettled(puts);
  const codes = outcomes.map((one) =>
    one.status === "rejected" ? (one.reason as { code: string }).code : "ok",
  );
  assert.deepEqual(codes, ["ok", "ok", "ok", "ok", "corrupt", "conflict"]);
  await store.finish(logs.map((log) => end(log, "own")));
  for (const { session, records } of logs) assert.deepEqual(await readAll(store, session), plain(records));
  for (const { session } of [twice, broken]) assert.equal(await store.head(session), undefined);
}

async function assertUnseen({ store }: Bench, session: SessionId): Promise<void> {
  assert.equal(await store.head(session), undefined);
  assert.deepEqual(await readAll(store, session), []);
  assert.deepEqual((await store.list({}, { limit: 10 })).rows, []);
  assert.deepEqual(
    (await store.logs(null, 10)).rows,
    (await store.head(store.workspace)) ? [store.workspace] : [],
  );
  assert.deepEqual(await store.endingWith(session.slice(-5), 10), []);
  assert.deepEqual((await feedAll(store, null)).records, []);
}

async function unseenThenWhole(bench: Bench): Promise<void> {
  const { store } = bench;
  const log = made(bench, 5);
  const { session } = log;
  assert.deepEqual(await store.receive(alone(session)), { seq: 0, hash: genesisHash, there: "nothing" });
  await store.put(session, log.records.slice(0, 3));
  await assertUnseen(bench, session);
  assert.deepEqual(await readAll(store, session, { received: true }), plain(log.records.slice(0, 3)));
  await assert.rejects(
    store.append([partOf(bench, session, "absent", { index: entryOf() })]),
    isError("refused"),
  );
  await store.put(session, log.records.slice(3));
  await store.finish([end(log, "own")]);
  assert.deepEqual(await readAll(store, session), plain(log.records));
  await assertWhole(bench, session, 5);
  const { rows } = await store.list({}, { limit: 10 });
  assert.deepEqual(
    rows.map((row) => [row.session, row.name, row.headSeq, row.openedAt, row.activeAt, row.copy]),
    [[session, "received", 5, startOfTime + 1, startOfTime + 5, undefined]],
  );
  await append(bench, partOf(bench, session, { seq: 5 }));
  assert.equal(await store.keyed(session, log.records[2]?.key ?? ""), 3);
  await assertWhole(bench, session, 6);
  assert.deepEqual(await store.check(), []);
}

async function goesOn(bench: Bench): Promise<void> {
  const log = made(bench, 4);
  await bench.store.receive(alone(log.session));
  await bench.store.put(log.session, log.records.slice(0, 2));
  const again = { ...bench, store: await bench.reopen() };
  await again.store.sweep();
  await assertUnseen(again, log.session);
  const there = await again.store.receive(alone(log.session));
  assert.deepEqual(there, { seq: 2, hash: log.records[1]?.hash, there: "nothing" });
  await again.store.put(log.session, log.records.slice(2));
  await again.store.finish([end(log, "own")]);
  await assertWhole(again, log.session, 4);
}

async function denseAndChained(bench: Bench): Promise<void> {
  const { store } = bench;
  const { session, records } = made(bench, 4);
  const [first, second, third, fourth] = records;
  assert.ok(first && second && third && fourth);
  await assert.rejects(store.put(session, [first]), isError("conflict"));
  await store.receive(alone(session));
  await assert.rejects(store.put(session, [first, third]), isError("conflict"));
  await assert.rejects(store.put(session, [first, { ...second, body: "{}" }]), isError("corrupt"));
  await assert.rejects(store.put(session, [first, { ...second, hash: third.hash }]), isError("corrupt"));
  const other = { ...second, session: bench.newId() };
  await assert.rejects(store.put(session, [first, other]), isError("corrupt"));
  // Its own chain is valid: only the session it names is wrong.
  await assert.rejects(store.put(session, made(bench, 1).records), isError("corrupt"));
  const { records: twice } = made(bench, 1, [first], session, first.key);
  await assert.rejects(store.put(session, [first, ...twice]), isError("corrupt"));
  assert.deepEqual(await readAll(store, session, { received: true }), []);
  await store.put(session, [first, second]);
  await assert.rejects(store.put(session, [fourth]), isError("conflict"));
  await store.put(session, [third, fourth]);
  assert.deepEqual(await readAll(store, session, { received: true }), plain(records));
}

async function passedOver(bench: Bench): Promise<void> {
  const { store } = bench;
  const log = made(bench, 4);
  await Promise.all([store.receive(alone(log.session)), store.receive(alone(log.session))]);
  await Promise.all([store.put(log.session, log.records), store.put(log.session, log.records.slice(0, 2))]);
  await store.finish([end(log, "own")]);
  await store.finish([end(log, "own")]);
  const there = await store.receive(alone(log.session));
  assert.deepEqual(there, { seq: 4, hash: log.records[3]?.hash, there: "own" });
  await store.put(log.session, log.records);
  const other = made(bench, 1, log.records.slice(0, 2), log.session);
  await assert.rejects(
    store.put(
      log.session,
      other.records.map((record) => ({ ...record, hash: "0".repeat(64) })),
    ),
    isError("conflict"),
  );
  await append(bench, partOf(bench, log.session, { seq: 4 }));
  await store.finish([end(log, "own")]);
  await assertWhole(bench, log.session, 5);
}

async function endsThere(bench: Bench): Promise<void> {
  const { store } = bench;
  const [one, two] = [made(bench, 3), made(bench, 2)];
  for (const { session, records } of [one, two]) {
    await store.receive(alone(session));
    await store.put(session, records);
  }
  const short = end({ ...two, records: two.records.slice(0, 1) }, "own");
  await assert.rejects(store.finish([end(one, "own"), short]), isError("conflict"));
  const wrong = { ...end(two, "own"), hash: genesisHash };
  await assert.rejects(store.finish([end(one, "own"), wrong]), isError("conflict"));
  await assert.rejects(store.finish([end(made(bench, 1), "own")]), isError("conflict"));
  await assertUnseen(bench, one.session);
  await store.finish([end(one, "own"), end(two, "copy")]);
  await assertWhole(bench, one.session, 3);
  await assertWhole(bench, two.session, 2);
}

async function discarded(bench: Bench): Promise<void> {
  const { store } = bench;
  const bytes = Uint8Array.of(9, 9);
  const hash = hashOfBytes(bytes);
  await store.putBlob(hash, [bytes]);
  const log = made(bench, 700);
  const [first, ...rest] = log.records;
  assert.ok(first);
  await store.receive(alone(log.session));
  await store.put(log.session, [{ ...first, blobs: [hash] }, ...rest]);
  await store.discard(log.session);
  await store.discard(log.session);
  await store.discard(bench.newId());
  await assertUnseen(bench, log.session);
  assert.deepEqual(await readAll(store, log.session, { received: true }), []);
  const { records, sessions, contentBytes, blobs } = await store.stats();
  assert.deepEqual([records, sessions, contentBytes, blobs], [0, 0, 0, 0]);
  assert.deepEqual(await store.check(), []);
  await store.receive(alone(log.session));
  await store.put(log.session, log.records);
  await store.finish([end(log, "own")]);
  await assertWhole(bench, log.session, 700);
}

async function copies(bench: Bench): Promise<void> {
  const { store } = bench;
  const log = await received(bench, 3, "copy");
  const { session } = log;
  assert.equal((await store.head(session))?.copy, true);
  assert.equal((await store.list({}, { limit: 1 })).rows[0]?.copy, true);
  await assert.rejects(store.append([partOf(bench, session, { seq: 3 })]), isError("refused"));
  const child = await forked(bench, session, 2);
  await assertWhole(bench, child, 3);
  await store.finish([end(log, "copy")]);
  assert.equal((await store.receive(alone(session))).there, "copy");
  await store.finish([end(log, "own")]);
  assert.equal((await store.head(session))?.copy, undefined);
  await append(bench, partOf(bench, session, { seq: 3 }));
  await dropped(bench, session);
  await assertWhole(bench, child, 3);
}

async function prefixes(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = made(bench, 5);
  const fork = await receivedFork(bench, root, 3);
  await store.sweep();
  await assertWhole(bench, fork.session, 5);
  assert.deepEqual((await store.head(fork.session))?.parent, { session: root.session, seq: 3 });
  assert.equal(await store.head(root.session), undefined);
  assert.equal((await store.stats()).records, 5);
  const outcome = await store.append([partOf(bench, root.session, "unchecked", { index: entryOf() })]);
  assert.equal(outcome.kind, "conflict");
  const child = await forked(bench, fork.session, 2);
  await dropped(bench, fork.session);
  await store.sweep();
  await assertWhole(bench, child, 3);
  await dropped(bench, child);
  await store.sweep();
  assert.equal((await store.stats()).records, 0);
  assert.deepEqual(await store.check(), []);
}

async function prefixGrows(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = made(bench, 6);
  const fork = await receivedFork(bench, root, 3);
  const { position } = await feedAll(store, null);
  const there = await store.receive(alone(root.session));
  assert.deepEqual(there, { seq: 3, hash: root.records[2]?.hash, there: "prefix" });
  await store.put(root.session, root.records.slice(3));
  await store.sweep();
  assert.equal(await store.head(root.session), undefined);
  await store.finish([end(root, "own")]);
  await assertWhole(bench, root.session, 6);
  await assertWhole(bench, fork.session, 5);
  assert.deepEqual(seqsOf((await feedAll(store, position)).records), upTo(6));
  assert.deepEqual(await store.forks(root.session), [{ session: fork.session, seq: 3 }]);
  await append(bench, partOf(bench, root.session, { seq: 6 }));
  await assertWhole(bench, root.session, 7);
}

/** A fork of a fork, from before that one left its own parent. */
async function namedOnly(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = made(bench, 4);
  const middle = made(bench, 2, root.records, bench.newId());
  const shared = root.records.slice(0, 2);
  const leaf = made(bench, 1, shared, bench.newId());
  await store.receive(alone(root.session));
  await store.put(root.session, shared);
  const parent = { session: middle.session, seq: 2 };
  await assert.rejects(
    store.receive({ session: leaf.session, parent: { ...parent, seq: 3 }, base: root.session }),
    isError("not-found"),
  );
  await store.receive({ session: leaf.session, parent, base: root.session });
  await store.put(leaf.session, leaf.records);
  await store.finish([end({ ...root, records: shared }, "prefix"), end(leaf, "own")]);
  await store.sweep();
  await assertWhole(bench, leaf.session, 3);
  assert.deepEqual((await store.head(leaf.session))?.parent, parent);
  assert.equal(await store.head(middle.session), undefined);
  await store.receive(alone(root.session));
  await store.put(root.session, root.records);
  const reception = {
    session: middle.session,
    parent: { session: root.session, seq: 4 },
    base: root.session,
  };
  assert.equal((await store.receive(reception)).there, "nothing");
  await store.put(middle.session, middle.records);
  await store.finish([end(root, "prefix"), end(middle, "own")]);
  await assertWhole(bench, middle.session, 6);
  assert.deepEqual(await store.forks(middle.session), [{ session: leaf.session, seq: 2 }]);
}

async function tails(bench: Bench): Promise<void> {
  const { store } = bench;
  const log = await received(bench, 3);
  const { session } = log;
  await append(bench, partOf(bench, session, { seq: 3 }, { lease: { holder: "h", leaseMs: 5_000 } }));
  const before = await readAll(store, session);
  const rest = made(bench, 2, before, session);
  const { position } = await feedAll(store, null);
  await store.receive(alone(session));
  await store.put(session, rest.records);
  await assertWhole(bench, session, 4);
  assert.equal(await store.keyed(session, rest.records[0]?.key ?? ""), undefined);
  assert.equal((await store.list({}, { limit: 1 })).rows[0]?.headSeq, 4);
  assert.equal(await store.seqAt(session, startOfTime + 1_000), 5);
  assert.deepEqual((await feedAll(store, position)).records, []);
  await assert.rejects(store.append([partOf(bench, session, { seq: 4 })]), isError("refused"));
  await store.discard(session);
  assert.equal((await store.stats()).records, 4);
  await store.put(session, rest.records);
  await store.finish([end(rest, "own")]);
  await assertWhole(bench, session, 6);
  assert.deepEqual(seqsOf((await feedAll(store, position)).records), [5, 6]);
  assert.equal((await store.head(session))?.epoch, 0);
  assert.equal((await store.head(session))?.lease, null);
  await append(bench, partOf(bench, session, { seq: 6 }));
  const copied = made(bench, 1, await readAll(store, session), session);
  await store.put(session, copied.records);
  await store.finish([end(copied, "prefix")]);
  assert.equal((await store.head(session))?.copy, true);
  await assertWhole(bench, session, 8);
}

async function deletedStays(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = await received(bench, 4);
  const child = await forked(bench, root.session, 2);
  await dropped(bench, root.session);
  await store.sweep();
  const there = await store.receive(alone(root.session));
  assert.deepEqual(there, { seq: 2, hash: root.records[1]?.hash, there: "prefix" });
  await store.put(root.session, root.records);
  for (const as of ["own", "copy"] as const) {
    await assert.rejects(store.finish([end(root, as)]), isError("refused"));
  }
  const fork = made(bench, 1, root.records, bench.newId());
  const parent = { session: root.session, seq: 4 };
  await store.receive({ session: fork.session, parent, base: root.session });
  await store.put(fork.session, fork.records);
  await store.finish([end(root, "prefix"), end(fork, "own")]);
  await store.sweep();
  await assertWhole(bench, fork.session, 5);
  await assertWhole(bench, child, 3);
  assert.equal(await store.head(root.session), undefined);
  await assert.rejects(store.finish([end(root, "own")]), isError("refused"));
}

async function feedOfArrivals(bench: Bench): Promise<void> {
  const { store } = bench;
  const log = made(bench, 3);
  await store.receive(alone(log.session));
  await store.put(log.session, log.records);
  const live = await opened(bench, 2);
  const { position, records } = await feedAll(store, null);
  assert.deepEqual(new Set(records.map(({ session }) => session)), new Set([live]));
  await store.finish([end(log, "own")]);
  await append(bench, partOf(bench, live, { seq: 2 }), partOf(bench, log.session, { seq: 3 }));
  const places = (await feedAll(store, position)).records.map(({ session, seq }) => [session, seq]);
  assert.deepEqual(
    places.filter(([session]) => session === log.session),
    upTo(4).map((seq) => [log.session, seq]),
  );
  assert.deepEqual(
    places.filter(([session]) => session === live),
    [[live, 3]],
  );
  const whole = (await feedAll(store, null)).records;
  assert.equal(whole.length, 7);
  await dropped(bench, log.session);
  await store.sweep();
  assert.deepEqual(seqsOf((await feedAll(store, null)).records), upTo(3));
  const after = await opened(bench, 1);
  const last = (await feedAll(store, position)).records.at(-1);
  assert.equal(last?.session, after);
}

async function feedWithin(bench: Bench): Promise<void> {
  const { store } = bench;
  await opened(bench, 1);
  const logs = [await received(bench, 5), await received(bench, 600, "copy")];
  await opened(bench, 1);
  const seen: string[] = [];
  for (let position: string | null = null; ;) {
    const page: Awaited<ReturnType<Store["feed"]>> = await store.feed(position, 7);
    if (page.records.length === 0) break;
    seen.push(...page.records.map(({ session, seq }) => `${session} ${seq}`));
    position = page.position;
  }
  assert.equal(seen.length, new Set(seen).size);
  assert.equal(seen.length, 607);
  for (const { session, records } of logs) {
    assert.deepEqual(
      seen.filter((one) => one.startsWith(session)),
      records.map(({ seq }) => `${session} ${seq}`),
    );
  }
}

async function blobsOfReceived(bench: Bench): Promise<void> {
  const { store } = bench;
  const hash = hashOfBytes(Uint8Array.of(1, 2, 3));
  const log = made(bench, 1);
  const [record] = log.records;
  assert.ok(record);
  await store.receive(alone(log.session));
  const referring = { ...record, blobs: [hash] };
  await assert.rejects(store.put(log.session, [referring]), isError("not-found"));
  await store.putBlob(hash, [Uint8Array.of(1, 2, 3)]);
  await store.put(log.session, [referring]);
  await store.dropBlob(hash);
  assert.ok(await store.blob(hash));
  await store.finish([end(log, "own")]);
  await store.dropBlob(hash);
  assert.ok(await store.blob(hash));
  await dropped(bench, log.session);
  await store.sweep();
  assert.equal(await store.blob(hash), undefined);
}

async function blobGivenBack({ store }: Bench): Promise<void> {
  const hash = hashOfBytes(Uint8Array.of(1));
  await store.putBlob(hash, [Uint8Array.of(1)]);
  await store.dropBlob(hash);
  await store.dropBlob(hash);
  assert.equal(await store.blob(hash), undefined);
  assert.equal((await store.stats()).blobs, 0);
}
