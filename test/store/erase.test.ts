/** Nothing of what was erased or deleted is left in any file of a store, and everything else is. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { flaw, genesisHash } from "../../src/core/chain.ts";
import { makeSessionId, type LogId, type SessionId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf } from "../../src/store/conformance/conformance.ts";
import type { Draft, IndexEntry, ItemRow, Outcome, Part, Store } from "../../src/store/port.ts";
import { digest } from "../core/digest.ts";
import { sqliteStore, type SqliteOptions } from "../../src/store/sqlite/store.ts";
import { freshSeed, makeRandom, type Random } from "../crash/random.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { beforeEachRun } from "./sqlite/statement.ts";
import { bytesOfStore, canaryOf, foundIn } from "./canary.ts";

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });

const entryOf = (given: Partial<IndexEntry> = {}): IndexEntry => ({
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
  ...given,
});

const opens = (path: string, more: Partial<SqliteOptions> = {}): Promise<Store> =>
  sqliteStore({ path, world: realWorld(), workspace, durability: "process", ...more });

const append = async (store: Store, ...parts: readonly Part[]): Promise<void> => {
  const outcome: Outcome = await store.append(parts);
  assert.equal(outcome.kind, "ok", JSON.stringify(outcome));
};

/** What was said, where, and with which canary. */
interface Said {
  readonly session: SessionId;
  readonly seq: number;
  readonly canary: string;
}

const filler = "lorem ipsum dolor sit amet consectetur ".repeat(200);

/** A store in which sessions speak in turn, so that their records lie side by side. */
async function filled(store: Store, random: Random, { sessions = 4, rounds = 60, size = 900 } = {}) {
  const said: Said[] = [];
  const heads = new Map<SessionId, number>();
  for (let round = 0; round < rounds; round++) {
    for (let place = 1; place <= sessions; place++) {
      const session = idOf(place);
      const headSeq = heads.get(session) ?? 0;
      const drafts: Draft[] = [];
      for (let more = 1 + random.below(4); more > 0; more--) {
        const canary = canaryOf(random);
        const text = `${canary} ${filler.slice(0, random.below(size))} word${place}`;
        drafts.push(draftOf({ body: { round }, content: text, key: canary }, digest));
        said.push({ session, seq: headSeq + drafts.length, canary });
      }
      heads.set(session, headSeq + drafts.length);
      const opening = headSeq === 0 ? { index: entryOf({ name: `session ${place}` }) } : {};
      await append(store, { session, expect: { seq: headSeq }, drafts, ...opening });
    }
  }
  return { said, heads };
}

/** Brings search up to the head, as the runtime does, with these items. */
async function projected(store: Store, items: readonly { session: SessionId; rows: ItemRow[] }[] = []) {
  for (;;) {
    const from = await store.projected();
    const page = await store.feed(from, 200);
    if (page.position === from) return;
    const texts = page.records.flatMap(({ session, seq, content }) =>
      content === null ? [] : [{ session, seq, text: content }],
    );
    assert.equal(await store.project({ from, to: page.position, texts, items: [...items] }), true);
  }
}

const marker = () => draftOf({ type: "x.erased" }, digest);

/** Reads a whole log; gives back the positions that have a content, having held all to the chain. */
async function whole(store: Store, session: LogId): Promise<readonly number[]> {
  let before = genesisHash;
  const kept: number[] = [];
  for (let fromSeq = 1; ;) {
    const page = await store.read(session, { fromSeq, toSeq: 1e9, limit: 1_000, contents: true });
    if (page.length === 0) return kept;
    for (const record of page) {
      const bytes = record.content === null ? null : Buffer.byteLength(record.content);
      assert.equal(flaw(digest, before, record, bytes), null, `${session} at ${record.seq}`);
      assert.equal(record.seq, fromSeq++);
      before = record.hash;
      if (record.content !== null) kept.push(record.seq);
    }
  }
}

/** Erases positions of a session one by one, in the order given. */
async function erase(store: Store, session: LogId, seqs: readonly number[]): Promise<void> {
  for (let start = 0; start < seqs.length; start += 50) {
    const ranges = seqs.slice(start, start + 50).map((seq): [number, number] => [seq, seq]);
    await append(store, { session, expect: "exists", drafts: [marker()], erase: ranges });
  }
}

test("after several rounds nothing of the erased contents is left, and the rest is found", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  const { path, remove } = newPath();
  const store = await opens(path);
  const { said } = await filled(store, random);
  await projected(store);
  const canaries = said.map(({ canary }) => canary);
  assert.equal(
    foundIn(bytesOfStore(path), canaries).length,
    said.length,
    "the search for canaries finds them",
  );
  let left: readonly Said[] = said;
  for (let round = 0; round < 3; round++) {
    const doomed = left.filter(() => random.chance(0.4));
    for (const session of [1, 2, 3, 4].map(idOf)) {
      const seqs = doomed.filter((one) => one.session === session).map(({ seq }) => seq);
      await erase(
        store,
        session,
        seqs.toSorted(() => random.next() - 0.5),
      );
    }
    left = left.filter((one) => !doomed.includes(one));
    assert.equal((await store.stats()).unscrubbed, true);
    await projected(store);
    await store.scrub();
    assert.equal((await store.stats()).unscrubbed, false);
    const bytes = bytesOfStore(path);
    assert.deepEqual(
      foundIn(
        bytes,
        doomed.map(({ canary }) => canary),
      ),
      [],
    );
    assert.equal(
      foundIn(
        bytes,
        left.map(({ canary }) => canary),
      ).length,
      left.length,
    );
  }
  for (const session of [1, 2, 3, 4].map(idOf)) {
    const own = left.filter((one) => one.session === session).map(({ seq }) => seq);
    assert.deepEqual(await whole(store, session), own);
  }
  for (const { session, seq, canary } of left.slice(0, 50)) {
    assert.deepEqual(await store.search(canary, { limit: 5 }), [{ session, seq }]);
  }
  assert.deepEqual(await store.check(), []);
  await store.close();
  remove();
});

test("of deleted sessions nothing is left either, wherever SQLite has moved their rows", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  const { path, remove } = newPath();
  const store = await opens(path);
  const { said } = await filled(store, random, { sessions: 8, rounds: 60, size: 3_000 });
  await projected(store);
  for (const place of [3, 1, 6, 8, 2, 5]) {
    // Rows of the others are moved about with each deletion, and with erasures in between.
    await append(store, { session: idOf(place), expect: "exists", drafts: [], drop: true });
    if (place === 6) await erase(store, idOf(4), [2, 3, 5, 8, 13, 21]);
    await store.sweep();
  }
  assert.equal((await store.stats()).unscrubbed, false);
  const isLeft = ({ session, seq }: Said): boolean =>
    session === idOf(7) || (session === idOf(4) && ![2, 3, 5, 8, 13, 21].includes(seq));
  const bytes = bytesOfStore(path);
  assert.deepEqual(
    foundIn(
      bytes,
      said.filter((one) => !isLeft(one)).map(({ canary }) => canary),
    ),
    [],
  );
  const left = said.filter(isLeft);
  assert.equal(
    foundIn(
      bytes,
      left.map(({ canary }) => canary),
    ).length,
    left.length,
  );
  for (const place of [4, 7]) await whole(store, idOf(place));
  assert.deepEqual(await store.check(), []);
  await store.close();
  remove();
});

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const itemOf = (key: string, seq: number, value: string): ItemRow => ({
  kind: "decision",
  key,
  seq,
  at: 1,
  status: null,
  value,
  because: `because of ${value}`,
});

/** What `items` shows of a session, by key. */
async function itemsOf(store: Store, session: SessionId): Promise<readonly (readonly unknown[])[]> {
  const sql = `SELECT key, value, because FROM items WHERE session = '${session}' ORDER BY key`;
  return (await store.query(sql, { limit: 100, bytesMax: 1_000_000, timeoutMs: 10_000 })).rows;
}

test("titles, items, blobs and packed records lose it too, for all who share it", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  const { path, remove } = newPath();
  const store = await opens(path);
  const doomed = Array.from({ length: 12 }, () => canaryOf(random));
  const kept = Array.from({ length: 12 }, () => canaryOf(random));
  const [root, fork] = [idOf(1), idOf(2)];
  const blobOf = async (canary: string): Promise<string> => {
    // Longer than a chunk, so that it lies in several rows and over many pages.
    const bytes = Buffer.from(`${canary} ${filler} `.repeat(40));
    await store.putBlob(hashOf(bytes), [bytes]);
    return hashOf(bytes);
  };
  const saying = (canary: string, blobs: readonly string[] = []) =>
    draftOf({ content: `${canary} ${filler.slice(0, random.below(2_000))}`, blobs }, digest);
  // Positions 1 to 6 are kept, 7 to 12 erased; the fork shares up to 10.
  const drafts: Draft[] = [];
  for (let place = 0; place < 6; place++) drafts.push(saying(kept[place]!, [await blobOf(kept[place]!)]));
  for (let place = 0; place < 6; place++) drafts.push(saying(doomed[place]!, [await blobOf(doomed[place]!)]));
  for (let place = 0; place < 300; place++) drafts.push(saying("filler"));
  const title = { name: doomed[6]!, objective: doomed[7]!, labels: { ticket: doomed[8]! } };
  await append(store, { session: root, expect: "absent", drafts, index: entryOf(title) });
  const parent = { session: root, seq: 10 };
  const own = [saying(kept[6]!), saying(kept[7]!)];
  const index = entryOf({ name: kept[8]! });
  await append(store, { session: fork, expect: "absent", drafts: own, parent, index });
  const rows = (last: number): ItemRow[] =>
    [3, 8, last].map((seq) => itemOf(`at ${seq}`, seq, seq === 8 ? doomed[9]! : kept[9]!));
  await projected(store, [
    { session: root, rows: rows(12).map((row) => (row.seq === 12 ? itemOf("at 12", 12, doomed[10]!) : row)) },
    // The fork has a record of its own at 12.
    { session: fork, rows: rows(12) },
  ]);
  const packed = await store.pack(root, 200);
  assert.ok(packed.records > 0, "nothing was packed");
  // What was packed is small, so much of what was there before lies in free space.
  assert.deepEqual(foundIn(bytesOfStore(path), doomed.slice(0, 11)).length, 11);

  const untitled = entryOf({ name: "plain" });
  const part = { session: root, expect: "exists", drafts: [marker()], index: untitled } as const;
  await append(store, { ...part, erase: [[7, 12]] });
  assert.deepEqual(await itemsOf(store, root), [
    ["at 12", null, null],
    ["at 3", kept[9], `because of ${kept[9]}`],
    ["at 8", null, null],
  ]);
  assert.deepEqual(await itemsOf(store, fork), [
    ["at 12", kept[9], `because of ${kept[9]}`],
    ["at 3", kept[9], `because of ${kept[9]}`],
    ["at 8", null, null],
  ]);
  await store.scrub();
  const bytes = bytesOfStore(path);
  assert.deepEqual(foundIn(bytes, doomed), []);
  assert.equal(foundIn(bytes, kept.slice(0, 10)).length, 10);
  assert.deepEqual((await whole(store, root)).slice(0, 8), [1, 2, 3, 4, 5, 6, 13, 14]);
  assert.deepEqual(await whole(store, fork), [1, 2, 3, 4, 5, 6, 11, 12]);
  assert.equal((await store.stats()).blobs, 6);
  assert.deepEqual(await store.search(kept[2]!, { limit: 9 }), [{ session: root, seq: 3 }]);
  assert.deepEqual(await store.search(doomed[2]!, { limit: 9 }), []);
  assert.deepEqual(await store.check(), []);
  await store.close();
  remove();
});

test("a reader in another program puts a scrub off, which is still due then", async () => {
  const { path, remove } = newPath();
  const store = await opens(path, { lockWaitMs: 80 });
  const canary = canaryOf(makeRandom(7));
  const drafts = [draftOf({ content: canary }, digest), draftOf({ content: "kept" }, digest)];
  await append(store, { session: idOf(1), expect: "absent", drafts, index: entryOf() });
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec("BEGIN");
  const seen = () => reader.prepare("SELECT count(*) AS count FROM records WHERE content IS NOT NULL").get();
  assert.equal(seen()?.["count"], 2);
  await append(store, { session: idOf(1), expect: "exists", drafts: [marker()], erase: [[1, 1]] });
  const before = performance.now();
  await assert.rejects(store.scrub(), { code: "unavailable", message: /locked by another program/ });
  assert.ok(performance.now() - before < 2_000, "it waited for too long");
  assert.equal(seen()?.["count"], 2);
  assert.equal((await store.stats()).unscrubbed, true);
  // Sweeping does what it can.
  await store.sweep();
  // Others go on as if nothing were.
  await append(store, { session: idOf(1), expect: { seq: 3 }, drafts: [draftOf({}, digest)] });
  reader.exec("COMMIT");
  reader.close();
  await store.scrub();
  assert.equal((await store.stats()).unscrubbed, false);
  assert.deepEqual(foundIn(bytesOfStore(path), [canary]), []);
  assert.deepEqual(await whole(store, idOf(1)), [2]);
  await store.close();
  remove();
});

test("an erasure during a scrub is due for the next scrub", async () => {
  const { path, remove } = newPath();
  const [store, other] = [await opens(path), await opens(path)];
  const drafts = Array.from({ length: 40 }, (_, place) => draftOf({ content: `said ${place}` }, digest));
  await append(store, { session: idOf(1), expect: "absent", drafts, index: entryOf() });
  const erasing = (seq: number): Part => ({
    session: idOf(1),
    expect: "exists",
    drafts: [marker()],
    erase: [[seq, seq]],
  });
  await append(store, erasing(1));
  let appended: Promise<void> | undefined;
  const stop = beforeEachRun((sql) => {
    if (sql.includes("'merge'")) appended ??= append(other, erasing(2));
  });
  await store.scrub();
  stop();
  assert.ok(appended, "nothing was erased in between");
  await appended;
  assert.equal((await store.stats()).unscrubbed, true);
  await other.scrub();
  assert.equal((await store.stats()).unscrubbed, false);
  assert.equal((await whole(store, idOf(1))).length, 38);
  await store.close();
  await other.close();
  remove();
});

test("copies that SQLite leaves between rows are overwritten, and nothing else is", async () => {
  const { path, remove } = newPath();
  const store = await opens(path);
  // The same rows in the same order leave the same copies.
  const random = makeRandom(11);
  const raw = new DatabaseSync(path);
  raw.exec("PRAGMA secure_delete=ON; CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT)");
  const insert = raw.prepare("INSERT INTO plain (text) VALUES (?)");
  const canaries = Array.from({ length: 3_000 }, () => canaryOf(random));
  raw.exec("BEGIN");
  for (const canary of canaries) insert.run(`${canary} ${filler.slice(0, random.below(3_000))}`);
  raw.exec("COMMIT");
  const gone = new Set(canaries.map((_, place) => place + 1).filter(() => random.chance(0.8)));
  const remove1 = raw.prepare("DELETE FROM plain WHERE id = ?");
  raw.exec("BEGIN");
  for (const id of [...gone].toSorted(() => random.next() - 0.5)) remove1.run(id);
  raw.exec("INSERT INTO meta (key, value) VALUES ('scrub', '1'); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  const doomed = canaries.filter((_, place) => gone.has(place + 1));
  assert.notDeepEqual(foundIn(bytesOfStore(path), doomed), [], "SQLite leaves none by itself");
  const rows = () => raw.prepare("SELECT id, text FROM plain ORDER BY id").all();
  const before = rows();
  await store.scrub();
  assert.deepEqual(foundIn(bytesOfStore(path), doomed), []);
  assert.deepEqual(rows(), before);
  // A connection that knew the pages before does not bring the copies back with what it writes next.
  raw.exec("UPDATE plain SET text = text || '.'");
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  assert.deepEqual(foundIn(bytesOfStore(path), doomed), []);
  assert.deepEqual(await store.check(), []);
  raw.close();
  await store.close();
  remove();
});
