/**
 * Receives logs from elsewhere, record by record: each is verified against the chain before it is stored, and
 * nothing is visible until all of them are finished.
 */
import { readRecords } from "../read/record-pages.ts";
import type { BundleLog } from "../../core/bundle/format.ts";
import { flaw, genesisHash, type StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { FinishRequest, IndexEntry, ReceivedRecord, Store } from "../../store/port.ts";
import { blobsHere, blobsOf, blobTextOf } from "./move-blob.ts";
import { indexEntryOf } from "../log/session-index.ts";
import { makeStateReader } from "../read/state-reader.ts";
import type { World } from "../world.ts";

/** Bytes stored at once: a few milliseconds of work, so that other writers hardly wait. */
const batchBytesMax = 524_288;
const batchRecordsMax = 200;

/** How far the received and the existing log are equal. */
export interface CommonPrefix {
  readonly seq: number;
  /** The hash here at `seq`; null before the log's own first record. */
  readonly hash: string | null;
  /** The last record here. */
  readonly lastSeq: number;
}

export interface LogReceiver {
  /**
   * Begins a log, whose base must have been ended. With `whole`, its records come from the first one on;
   * otherwise from the one after `seq`, the last one here.
   */
  begin(log: BundleLog, options: { readonly whole: boolean }): Promise<CommonPrefix>;
  add(record: StoredRecord): Promise<void>;
  /** The log being received has grown at its source. */
  extend(end: { readonly seq: number; readonly hash: string }): void;
  /** The log is complete, or differs from its announcement. */
  end(): Promise<void>;
  /** The state at the end of an ended log. */
  state(session: SessionId): Promise<State>;
  /** How the store finishes them; by default each is folded to compute its index entry. */
  finished(as: (log: BundleLog) => FinishRequest["as"], known?: Entries): Promise<readonly FinishRequest[]>;
  /** Finishes all of them. */
  finish(as: (log: BundleLog) => FinishRequest["as"]): Promise<void>;
  /** Discards everything. */
  discard(): Promise<void>;
  readonly put: { readonly records: number };
  /** Blobs that records name and that did not arrive. */
  readonly lost: ReadonlySet<string>;
  /** Blobs that the records refer to. */
  readonly referred: ReadonlySet<string>;
}

/** Index entries of logs, if they are known from their source. */
export type Entries = ReadonlyMap<SessionId | ProjectId, IndexEntry>;

interface Current {
  log: BundleLog;
  /** The last record here. */
  readonly thereSeq: number;
  /** The hash here at the last common position. */
  readonly meetsAt: { readonly seq: number; readonly hash: string } | null;
  last: { readonly seq: number; readonly hash: string; readonly at: number };
  batch: ReceivedRecord[];
  batchBytes: number;
}

/** `deleted`: the result of `deletedIn`, if it is known. */
export function makeReceiver(store: Store, world: World, deleted?: ReadonlySet<string>): LogReceiver {
  const view = receivedView(store, world);
  const states = makeStateReader(view);
  const begun: BundleLog[] = [];
  const put = { records: 0 };
  const lost = new Set<string>();
  const referred = new Set<string>();
  /** Folding a long log takes a while, so it is done once. */
  const folded = new Map<SessionId, State>();
  let current: Current | null = null;
  let gone = deleted ?? null;

  async function begin(log: BundleLog, { whole }: { readonly whole: boolean }): Promise<CommonPrefix> {
    const { session, parent, base } = log;
    gone ??= await deletedIn(store);
    if (log.kind === "session" && gone.has(session)) {
      throw new SkeinError("refused", `${session} was deleted here`, {
        hint: "a deleted session cannot be imported again; use another store",
      });
    }
    const there = await store.receive({ session, parent, base });
    begun.push(log);
    if (there.there === "own") await checkMoved(log);
    const meetsSeq = Math.min(there.seq, log.toSeq);
    const meets = meetsSeq < log.fromSeq ? null : await hashHere(session, meetsSeq);
    const before = await beginning(log, whole ? log.fromSeq - 1 : meetsSeq);
    const meetsAt = meets === null ? null : { seq: meetsSeq, hash: meets };
    current = { log, thereSeq: there.seq, meetsAt, last: before, batch: [], batchBytes: 0 };
    return { seq: meetsSeq, hash: meets, lastSeq: there.seq };
  }

  /** A session that lives here continues here; more of it can only come from where it was moved to. */
  async function checkMoved({ session, toSeq }: BundleLog): Promise<void> {
    const headSeq = (await store.head(session))?.seq ?? 0;
    if (headSeq >= toSeq) return;
    if (!isSessionId(session)) return checkMovedProject(session, headSeq, toSeq);
    const { standing } = await states.at(session, headSeq);
    if (standing.status === "moved") return;
    throw new SkeinError("conflict", `${session} exists here and ends at ${headSeq}, not at ${toSeq}`, {
      hint: "the session continued in two stores; fork one of them instead",
    });
  }

  async function checkMovedProject(project: ProjectId, headSeq: number, toSeq: number): Promise<void> {
    const range = { fromSeq: headSeq, toSeq: headSeq, limit: 1, contents: false };
    const [last] = await store.read(project, range);
    if (last?.type !== "project.moved") throw grewTwice(project, headSeq, toSeq);
  }

  async function beginning(log: BundleLog, seq: number): Promise<Current["last"]> {
    if (seq === 0) return { seq, hash: genesisHash, at: 0 };
    const from = seq < log.fromSeq ? (log.base ?? log.session) : log.session;
    const [record] = await view.read(from, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
    if (record !== undefined) return record;
    throw new SkeinError("corrupt", `record ${seq} of ${from} is missing`, { detail: "received" });
  }

  async function hashHere(session: BundleLog["session"], seq: number): Promise<string | null> {
    const [record] = await view.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
    return record?.hash ?? null;
  }

  async function add(record: StoredRecord): Promise<void> {
    const now = assertCurrent(current);
    const { log, last } = now;
    const wrong = wrongWith(world, now, record);
    if (wrong !== null) {
      throw new SkeinError("corrupt", `record ${record.seq} of ${log.session} is damaged: ${wrong}`, {
        hint: "export it again from its source; the store is unchanged",
        detail: "received",
      });
    }
    if (record.seq === now.meetsAt?.seq && record.hash !== now.meetsAt.hash) {
      throw otherHistory(log.session, record.seq);
    }
    now.last = { seq: record.seq, hash: record.hash, at: Math.max(last.at, record.at) };
    const isHere = record.seq <= now.thereSeq;
    const refers = await blobsOf(record, (hash, bytes) => blobTextOf(store, hash, bytes));
    for (const hash of refers.named) referred.add(hash);
    if (refers.whole !== null) referred.add(refers.whole);
    if (isHere) return;
    const blobs = await blobsHere(store, refers, (hash) => void lost.add(hash));
    now.batch.push({ ...record, blobs });
    now.batchBytes += record.body.length + (record.contentBytes ?? 0);
    if (now.batchBytes >= batchBytesMax || now.batch.length >= batchRecordsMax) await flush(now);
  }

  function extend({ seq: toSeq, hash }: { readonly seq: number; readonly hash: string }): void {
    const now = assertCurrent(current);
    const longer = { ...now.log, toSeq, hash };
    begun.splice(begun.indexOf(now.log), 1, longer);
    now.log = longer;
  }

  async function flush(now: Current): Promise<void> {
    if (now.batch.length === 0) return;
    await store.put(now.log.session, now.batch);
    put.records += now.batch.length;
    now.batch = [];
    now.batchBytes = 0;
  }

  async function end(): Promise<void> {
    const now = assertCurrent(current);
    const { log, last } = now;
    await flush(now);
    if (last.seq !== log.toSeq || last.hash !== log.hash) {
      const what = `${log.session} does not end with the expected record ${log.toSeq}`;
      throw new SkeinError("corrupt", what, { detail: "received" });
    }
    current = null;
  }

  async function state(session: SessionId): Promise<State> {
    const log = begun.find((one) => one.session === session);
    if (log === undefined) throw new Error("invariant: the log was received");
    const known = folded.get(session) ?? (await states.at(session, log.toSeq));
    folded.set(session, known);
    return known;
  }

  async function finished(
    as: (log: BundleLog) => FinishRequest["as"],
    known?: Entries,
  ): Promise<readonly FinishRequest[]> {
    const list: FinishRequest[] = [];
    for (const log of begun) {
      const { session, toSeq: seq, hash } = log;
      const becomes = as(log);
      const entry = async (id: SessionId): Promise<IndexEntry> =>
        known?.get(id) ?? indexEntryOf(view, id, await state(id));
      list.push({
        session,
        seq,
        hash,
        as: becomes,
        ...(becomes === "prefix" || !isSessionId(session) ? {} : { index: await entry(session) }),
      });
    }
    return list;
  }

  return {
    begin,
    add,
    extend,
    end,
    state,
    finished,
    finish: async (as) => store.finish(await finished(as)),
    put,
    lost,
    referred,
    async discard() {
      for (const { session } of begun.toReversed()) await store.discard(session);
    },
  };
}

function assertCurrent(current: Current | null): Current {
  if (current === null) throw new Error("invariant: a log is being received");
  return current;
}

/** A project that lives here goes on here. */
const grewTwice = (project: ProjectId, headSeq: number, toSeq: number): SkeinError =>
  new SkeinError("conflict", `${project} exists here and ends at ${headSeq}, not at ${toSeq}`, {
    hint: "the project continued in two stores; import the bundle into another store",
  });

const otherHistory = (session: BundleLog["session"], seq: number): SkeinError =>
  new SkeinError("conflict", `${session} has a different record ${seq} here`, {
    hint: isSessionId(session)
      ? "the session continued in two stores; fork one of them instead"
      : "the project continued in two stores; import the bundle into another store",
  });

function wrongWith(world: World, { log, last }: Current, record: StoredRecord): string | null {
  if (record.session !== log.session) return `it is of ${record.session}`;
  if (record.seq !== last.seq + 1) return `it cannot follow ${last.seq}`;
  if (record.seq > log.toSeq) return `the log ends at ${log.toSeq}`;
  if (record.at < last.at) return "its time is before that of the record before";
  const bytes = record.content === null ? null : Buffer.byteLength(record.content);
  const wrong = flaw(world.digest, last.hash, record, bytes);
  return (
    wrong ??
    jsonFlaw("its body", record.body) ??
    (record.content === null ? null : jsonFlaw("its content", record.content)) ??
    (record.seq === log.fromSeq ? originFlaw(log, record) : null)
  );
}

/** A fork's first record names its fork point. */
function originFlaw({ parent, kind }: BundleLog, { type, body }: StoredRecord): string | null {
  if (kind === "project")
    return type === "project.opened" ? null : "expected project.opened at the start of the log";
  if (parent === null)
    return type === "session.opened" ? null : "expected session.opened at the start of the log";
  const named = JSON.parse(body) as { readonly parent?: unknown; readonly parentSeq?: unknown } | null;
  const same =
    type === "session.forked" && named?.parent === parent.session && named.parentSeq === parent.seq;
  return same ? null : "its fork point differs from the manifest";
}

/** JSON that a store may hold. Deep nesting would fail only when it is shown. */
function jsonFlaw(what: string, text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    if (brackets(text) > limit.jsonDepthMax) checkJson(what, value);
    return null;
  } catch (error) {
    return error instanceof SkeinError ? error.message : `${what} is not JSON`;
  }
}

/** How many brackets open, at least the depth; counted only as far as they matter. */
function brackets(text: string): number {
  let count = 0;
  for (const sign of ["{", "["]) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      if (++count > limit.jsonDepthMax) return count;
    }
  }
  return count;
}

/**
 * The store with everything received. Nothing is derived from it that might be discarded. Before each page
 * other work gets its turn: otherwise a long log would be folded in one go, and block it.
 */
const receivedView = (store: Store, world: World): Store => ({
  ...store,
  async read(session, range) {
    await new Promise<void>((resolve) => world.defer(resolve));
    return store.read(session, { ...range, limit: Math.min(range.limit, foldedAtOnce), received: true });
  },
  putSnapshot: async () => undefined,
});

/** Records folded before other work gets its turn: a few milliseconds. */
const foldedAtOnce = 250;

/** Sessions that were deleted in a store, and do not come back. */
export async function deletedIn(store: Store): Promise<ReadonlySet<string>> {
  const deleted = new Set<string>();
  const types = ["session.deleted"];
  for await (const { body } of readRecords(store, store.workspace, [1, Infinity], { types }))
    deleted.add((JSON.parse(body) as { session: string }).session);
  return deleted;
}
