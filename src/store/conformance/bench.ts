/** The tools of the conformance cases: a clock they set, drafts, sessions, and whole reads. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Digest, StoredRecord } from "../../core/chain.ts";
import { bodyHashOf, contentHashOf, flaw, genesisHash } from "../../core/chain.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import { makeSessionId } from "../../core/ids.ts";
import type {
  AppendedPart,
  Draft,
  Expect,
  IndexEntry,
  Outcome,
  Part,
  ReadRange,
  Store,
  StoreWorld,
} from "../port.ts";
import type { Capability } from "../capabilities.ts";

/** The part of the world that the suite controls; the driver's author adds timers. */
export type ConformanceWorld = Pick<StoreWorld, "now" | "digest">;

export interface ConformanceCase {
  readonly name: string;
  run(bench: Bench): Promise<void>;
  /** The required capabilities; default: those of its file. */
  readonly needs?: readonly Capability[];
  /** The case closes the store and reopens it with all its data. */
  readonly reopens?: true;
}

export interface Bench {
  readonly store: Store;
  readonly world: ConformanceWorld;
  readonly setClock: (now: number) => void;
  /** A new id; later ones are greater. */
  readonly newId: () => SessionId;
  /** Closes the store and opens it again at the same place. */
  readonly reopen: () => Promise<Store>;
}

/** In milliseconds since 1970. Arbitrary. */
export const startOfTime = 1_700_000_000_000;

/** A world whose clock stands still until it is set. */
export function makeWorld(): Pick<Bench, "world" | "setClock"> {
  let now = startOfTime;
  return { world: { now: () => now, digest }, setClock: (moment) => void (now = moment) };
}

const digest: Digest = (prefixHex, text) =>
  createHash("sha256").update(Buffer.from(prefixHex, "hex")).update(text, "utf8").digest("hex");

/** SHA-256 of bytes, the key of a blob. */
export const hashOfBytes = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export function makeIds(): () => SessionId {
  let count = 0;
  return () => {
    count += 1;
    const random = Uint8Array.from({ length: 10 }, (_, place) => (place === 9 ? count & 255 : count >> 8));
    return makeSessionId({ nowMs: startOfTime + count, random });
  };
}

/** The parts of a record draft that a conformance case sets. */
export interface DraftFields {
  readonly type?: string;
  /** Any JSON value. */
  readonly body?: unknown;
  /** Any JSON value; undefined for none. */
  readonly content?: unknown;
  /** The idempotency key, in any form: its digest is stored. */
  readonly key?: string;
  /** Hashes of the blobs it refers to. */
  readonly blobs?: readonly string[];
}

/** A draft with all hashes correct. Deterministic: its salt derives from its content. */
export function draftOf(
  { type = "x.test", body = {}, content, key, blobs = [] }: DraftFields,
  digest: Digest,
): Draft {
  const bodyText = JSON.stringify(body);
  const text = content === undefined ? undefined : JSON.stringify(content);
  const salt = digest("", `salt of ${text}`).slice(0, 32);
  return {
    type,
    v: 1,
    actor: "system",
    turn: null,
    cause: null,
    key: key === undefined ? null : digest("", key).slice(0, 32),
    body: bodyText,
    bodyHash: bodyHashOf(digest, bodyText),
    content:
      text === undefined
        ? null
        : { text, bytes: Buffer.byteLength(text), salt, hash: contentHashOf(digest, salt, text) },
    blobs,
  };
}

export const entryOf = (given: Partial<IndexEntry> = {}): IndexEntry => ({
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
  ...given,
});

export const drafts = (bench: Bench, count: number, given: DraftFields = {}): readonly Draft[] =>
  Array.from({ length: count }, (_, place) => draftOf({ body: { place }, ...given }, bench.world.digest));

/** A part with that many drafts, and the rest as given. */
export const partOf = (
  bench: Bench,
  session: LogId,
  expect: Expect,
  more: Partial<Part> & { readonly count?: number } = {},
): Part => {
  const { count = 1, ...rest } = more;
  return { session, expect, drafts: drafts(bench, count), ...rest };
};

/** Opens a session with that many records and returns its id. */
export async function opened(bench: Bench, count = 1, more: Partial<Part> = {}): Promise<SessionId> {
  const session = bench.newId();
  await append(bench, partOf(bench, session, "absent", { count, index: entryOf(), ...more }));
  return session;
}

/** A fork with that many own records. */
export const forked = (bench: Bench, parent: SessionId, seq: number, count = 1): Promise<SessionId> =>
  opened(bench, count, { parent: { session: parent, seq } });

export const dropped = (bench: Bench, session: SessionId): Promise<readonly AppendedPart[]> =>
  append(bench, { session, expect: "exists", drafts: [], drop: true });

/** Appends, and fails the case if the append is refused. */
export async function append(bench: Bench, ...parts: readonly Part[]): Promise<readonly AppendedPart[]> {
  return written(await bench.store.append(parts));
}

export function written(outcome: Outcome): readonly AppendedPart[] {
  assert.equal(outcome.kind, "ok", `refused: ${JSON.stringify(outcome)}`);
  return outcome.kind === "ok" ? outcome.parts : [];
}

/** All records of the range, page by page. */
export async function readAll(
  store: Store,
  session: LogId,
  range: Partial<ReadRange> = {},
): Promise<readonly StoredRecord[]> {
  const all: StoredRecord[] = [];
  let { fromSeq, toSeq } = { fromSeq: 1, toSeq: Number.MAX_SAFE_INTEGER, ...range };
  for (;;) {
    const page = await store.read(session, { limit: 1_000, contents: true, ...range, fromSeq, toSeq });
    const last = page.at(-1);
    if (!last) return all;
    all.push(...page);
    if (range.reverse) toSeq = last.seq - 1;
    else fromSeq = last.seq + 1;
    if (fromSeq > toSeq) return all;
  }
}

export const seqsOf = (records: readonly { readonly seq: number }[]): readonly number[] =>
  records.map((record) => record.seq);

/** From 1 to `count`. */
export const upTo = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, place) => place + 1);

/** Reads the whole log and verifies the chain. */
export async function assertWhole(bench: Bench, session: LogId, headSeq: number): Promise<void> {
  const records = await readAll(bench.store, session);
  assert.deepEqual(seqsOf(records), upTo(headSeq), `${session} is not dense`);
  let before = { hash: genesisHash, at: 0 };
  for (const record of records) {
    const bytes = record.content === null ? null : Buffer.byteLength(record.content);
    assert.equal(flaw(bench.world.digest, before.hash, record, bytes), null, `${session} at ${record.seq}`);
    assert.ok(record.at >= before.at, `${session} at ${record.seq}: time goes back`);
    before = record;
  }
  const head = await bench.store.head(session);
  assert.deepEqual([head?.seq, head?.hash, head?.at], [headSeq, before.hash, before.at]);
}

/** Everything in the feed after a position, and the position behind it. */
export async function feedAll(
  store: Store,
  after: string | null,
  limit = 1_000,
): Promise<{ readonly records: readonly StoredRecord[]; readonly position: string }> {
  const records: StoredRecord[] = [];
  for (let position = after; ;) {
    const page = await store.feed(position, limit);
    if (page.records.length === 0) return { records, position: page.position };
    records.push(...page.records);
    position = page.position;
  }
}

export const isError = (code: string) => (error: unknown) => {
  assert.equal((error as { readonly code?: unknown }).code, code, String(error));
  return true;
};
