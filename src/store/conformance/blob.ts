/** Conformance: blobs, and the store as a whole: its statistics, closing and reopening. */
import assert from "node:assert/strict";
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
  hashOfBytes,
} from "./bench.ts";
import { isError, opened, partOf, readAll, seqsOf, startOfTime } from "./bench.ts";
import type { Store } from "../port.ts";

export const blobCases: readonly ConformanceCase[] = [
  { name: "blobs are returned byte for byte", run: byteForByte },
  { name: "an existing blob is not stored twice", run: keptOnce },
  { name: "a blob whose stream fails is not stored", run: brokenOff },
  { name: "a blob is deleted with the last record that refers to it", run: referredTo },
  { name: "stats counts the stored records, sessions and blobs", run: figures },
  { name: "query refuses anything but one read-only statement", run: queryRefuses },
  { name: "after close every call rejects, and close is idempotent", run: closing },
  { name: "records survive reopening", run: reopening, reopens: true },
  { name: "derived data and blobs survive reopening", run: reopeningDerived, reopens: true },
];

async function bytesOf(store: Store, hash: string): Promise<Uint8Array | undefined> {
  const chunks = await store.blob(hash);
  if (!chunks) return undefined;
  const kept: Uint8Array[] = [];
  for await (const chunk of chunks) {
    assert.ok(chunk.byteLength <= limit.blobChunkBytesMax, `a chunk of ${chunk.byteLength} bytes`);
    kept.push(Uint8Array.from(chunk));
  }
  return Uint8Array.from(Buffer.concat(kept));
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size);
  for (let start = 0; start < bytes.byteLength; start += size) {
    const chunk = bytes.subarray(start, start + size);
    // The same buffer every time, as a file stream does it: a driver that keeps the chunk must copy it.
    buffer.set(chunk);
    yield buffer.subarray(0, chunk.byteLength);
  }
}

async function byteForByte({ store }: Bench): Promise<void> {
  const large = Uint8Array.from(
    { length: limit.blobChunkBytesMax * 2 + 77 },
    (_, place) => (place * 31) >> 3,
  );
  for (const bytes of [new Uint8Array(0), Uint8Array.of(0, 255, 10), large]) {
    const hash = hashOfBytes(bytes);
    assert.equal(await store.blob(hash), undefined);
    await store.putBlob(hash, inChunks(bytes, 100_000));
    const kept = await bytesOf(store, hash);
    assert.ok(kept && Buffer.compare(kept, bytes) === 0, `${bytes.byteLength} bytes came back otherwise`);
  }
  const whole = Uint8Array.from(large, (byte) => byte ^ 1);
  await store.putBlob(hashOfBytes(whole), [whole]);
  const kept = await bytesOf(store, hashOfBytes(whole));
  assert.ok(kept && Buffer.compare(kept, whole) === 0, "one large chunk came back otherwise");
}

async function keptOnce({ store }: Bench): Promise<void> {
  const bytes = Uint8Array.of(1, 2, 3);
  const hash = hashOfBytes(bytes);
  const put = (): Promise<void> => store.putBlob(hash, [bytes]);
  await put();
  await put();
  await Promise.all([put(), put()]);
  const { blobs, blobBytes } = await store.stats();
  assert.deepEqual([blobs, blobBytes], [1, 3]);
}

async function referredTo(bench: Bench): Promise<void> {
  const { store } = bench;
  const hash = hashOfBytes(Uint8Array.of(1, 2, 3));
  const missing = opened(bench, 0, { drafts: [draftOf({ blobs: [hash] }, bench.world.digest)] });
  await assert.rejects(missing, isError("not-found"));
  await store.putBlob(hash, [Uint8Array.of(1, 2, 3)]);
  const one = await opened(bench, 0, { drafts: [draftOf({ blobs: [hash] }, bench.world.digest)] });
  const two = await opened(bench, 0, { drafts: [draftOf({ blobs: [hash] }, bench.world.digest)] });
  const child = await forked(bench, two, 1);
  for (const session of [one, two, child]) {
    assert.ok(await store.blob(hash));
    await dropped(bench, session);
    await store.sweep();
  }
  assert.equal(await store.blob(hash), undefined);
  assert.equal((await store.stats()).blobs, 0);
}

async function brokenOff({ store }: Bench): Promise<void> {
  const bytes = Uint8Array.of(1, 2, 3, 4);
  const hash = hashOfBytes(bytes);
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 2);
    throw new Error("the connection broke");
  };
  await assert.rejects(store.putBlob(hash, broken()), /the connection broke/);
  assert.equal(await store.blob(hash), undefined);
  await store.putBlob(hash, [bytes]);
  assert.deepEqual(await bytesOf(store, hash), bytes);
}

async function figures(bench: Bench): Promise<void> {
  const { store } = bench;
  const empty = await store.stats();
  assert.deepEqual([empty.sessions, empty.records, empty.contentBytes, empty.blobs], [0, 0, 0, 0]);
  const session = await opened(bench, 2);
  await append(
    bench,
    partOf(bench, session, "exists", { drafts: drafts(bench, 2, { content: "12345678" }) }),
  );
  const { driver, version, durability, bytes, ...rest } = await store.stats();
  assert.ok(driver !== "" && version !== "" && ["disk", "process", "none"].includes(durability));
  assert.ok(bytes === null || bytes > 0);
  const kept = { snapshots: 0, snapshotBytes: 0, blobs: 0, blobBytes: 0 };
  const nothing = { ...kept, segments: 0, segmentBytes: 0, unscrubbed: false };
  assert.deepEqual({ ...rest }, { sessions: 1, records: 4, contentBytes: 20, ...nothing });
  assert.deepEqual(await store.check(), []);
}

/** A driver without SQL reports `refused`. */
async function queryRefuses(bench: Bench): Promise<void> {
  const session = await opened(bench, 2);
  const options = { limit: 10, bytesMax: 1_000_000, timeoutMs: 20_000 };
  for (const sql of [
    "delete from sqlite_master",
    "select 1; select 2",
    "pragma user_version = 9",
    "nonsense",
    "",
  ]) {
    await assert.rejects(bench.store.query(sql, options), (error: unknown) => {
      assert.match(String((error as { readonly code?: unknown }).code), /^(invalid|refused)$/, sql);
      return true;
    });
  }
  await assertWhole(bench, session, 2);
}

async function closing(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await opened(bench);
  await store.close();
  await store.close();
  const range = { fromSeq: 1, toSeq: 1, limit: 1, contents: true };
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    append: () => store.append([partOf(bench, session, "exists")]),
    head: () => store.head(session),
    read: () => store.read(session, range),
    keyed: () => store.keyed(session, "0".repeat(32)),
    seqAt: () => store.seqAt(session, 0),
    logs: () => store.logs(null, 1),
    feed: () => store.feed(null, 1),
    receive: () => store.receive({ session, parent: null, base: null }),
    put: () => store.put(session, []),
    finish: () => store.finish([]),
    discard: () => store.discard(session),
    renew: () => store.renew(session, 1, 5_000),
    list: () => store.list({}, { limit: 1 }),
    endingWith: () => store.endingWith("a", 1),
    forks: () => store.forks(session),
    index: () => store.index(session, entryOf(), 1),
    putSnapshot: () => store.putSnapshot(session, { seq: 1, form: 1, text: "" }),
    snapshot: () => store.snapshot(session, 1),
    putBlob: () => store.putBlob(hashOfBytes(Uint8Array.of(1)), [Uint8Array.of(1)]),
    dropBlob: () => store.dropBlob(hashOfBytes(Uint8Array.of(1))),
    blob: () => store.blob(hashOfBytes(Uint8Array.of(1))),
    projected: () => store.projected(),
    project: () => store.project({ from: null, to: "0", texts: [], items: [] }),
    search: () => store.search("a", { limit: 1 }),
    query: () => store.query("select 1", { limit: 1, bytesMax: 1_000_000, timeoutMs: 1_000 }),
    clearDerived: () => store.clearDerived(),
    sweep: () => store.sweep(),
    check: () => store.check(),
    stats: () => store.stats(),
  };
  for (const [name, call] of Object.entries(calls)) {
    await assert.rejects(call(), isError("unavailable"), `${name} after close`);
  }
}

async function reopening(bench: Bench): Promise<void> {
  const parent = await opened(bench, 0, { drafts: drafts(bench, 4, { content: "é" }) });
  const child = await forked(bench, parent, 2, 2);
  const keyed = drafts(bench, 1, { key: "k" });
  const lease = { holder: "one", leaseMs: 9_000 };
  await append(bench, partOf(bench, child, { seq: 4 }, { drafts: keyed, lease }));
  const before = await pictureOf(bench.store, [parent, child]);
  const { position } = await feedAll(bench.store, null);
  const again = { ...bench, store: await bench.reopen() };
  assert.deepEqual(await pictureOf(again.store, [parent, child]), before);
  await assertWhole(again, parent, 4);
  await assertWhole(again, child, 5);
  assert.deepEqual((await again.store.feed(position, 9)).records, []);
  const outcome = await again.store.append([partOf(again, child, "unchecked", { drafts: keyed })]);
  assert.equal(outcome.kind, "duplicate");
  assert.equal(await again.store.renew(child, 5, 9_000), true);
  await append(again, partOf(again, child, { seq: 5 }, { epoch: 5 }));
  assert.deepEqual(seqsOf((await again.store.feed(position, 9)).records), [6]);
}

async function pictureOf(store: Store, sessions: readonly Parameters<Store["head"]>[0][]): Promise<unknown> {
  const logs = sessions.map(async (session) => [await store.head(session), await readAll(store, session)]);
  const { rows } = await store.list({}, { limit: 10 });
  return JSON.parse(JSON.stringify([store.workspace, await Promise.all(logs), rows])) as unknown;
}

async function reopeningDerived(bench: Bench): Promise<void> {
  const session = await opened(bench, 0, {
    drafts: drafts(bench, 2, { content: "needle" }),
    index: entryOf({ name: "kept", labels: { a: "1" } }),
  });
  const bytes = Uint8Array.of(1, 2, 3);
  const { position } = await feedAll(bench.store, null);
  const texts = [{ session, seq: 2, text: "needle" }];
  await bench.store.project({ from: null, to: position, texts, items: [] });
  await bench.store.putSnapshot(session, { seq: 2, form: 1, text: "state" });
  await bench.store.putBlob(hashOfBytes(bytes), [bytes]);
  const store = await bench.reopen();
  assert.equal(await store.projected(), position);
  assert.deepEqual(await store.search("needle", { limit: 9 }), [{ session, seq: 2 }]);
  assert.deepEqual(await store.snapshot(session, 2), { seq: 2, form: 1, text: "state" });
  assert.deepEqual(await bytesOf(store, hashOfBytes(bytes)), bytes);
  const { rows } = await store.list({ labels: { a: "1" } }, { limit: 10 });
  assert.deepEqual(
    rows.map((row) => [row.session, row.name, row.activeAt]),
    [[session, "kept", startOfTime]],
  );
}
