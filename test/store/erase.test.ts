/** Nothing of what was erased or deleted is left in any file of a store, and everything else is. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { flaw, genesisHash } from "../../src/core/chain.ts";
import { makeSessionId, type LogId, type SessionId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf } from "../../src/store/conformance.ts";
import type { Draft, IndexEntry, ItemRow, Outcome, Part, Store } from "../../src/store/port.ts";
import { digest } from "../core/digest.ts";
import { sqliteStore, type SqliteOptions } from "../../src/store/sqlite.ts";
import { freshSeed, makeRandom, type Random } from "../crash/random.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { bytesOfStore, canaryOf, foundIn } from "./canary.ts";
import { createHash } from "node:crypto";

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

test("of what is erased in several rounds nothing is left, and all else is found and read", async (t) => {
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
void DatabaseSync;
void createHash;
