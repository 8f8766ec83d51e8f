/** The memory driver's logs: appending, forks by reference, reading across them, freeing deleted ones. */
import type { Digest, StoredRecord } from "../../core/chain.ts";
import { genesisHash, link } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { isSessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { notAPosition, type FeedSource } from "../feed-position.ts";
import {
  depthFlaw,
  judgePart,
  missingForkPoint,
  missingIndex,
  partsFlaw,
  type LogFacts,
  type AppendRefusal,
} from "../judge.ts";
import type { AppendedPart, Draft, Head, IndexEntry, Outcome, Part } from "../port.ts";
import type { ReadRange, RecordVector, Snapshot, WordStep } from "../port.ts";

export interface Log {
  readonly id: LogId;
  /** Earlier positions are the parent's. */
  readonly firstSeq: number;
  /** As named when the fork was made. */
  readonly parent: Head["parent"];
  /** The log that holds the record at the fork point: the parent or an ancestor of it. Reads go this way. */
  readonly base: Log | null;
  /** The logs with this one as their base. */
  readonly sharers: Set<Log>;
  /** The number of ancestors. */
  readonly depth: number;
  readonly records: StoredRecord[];
  readonly seqOfKey: Map<string, number>;
  readonly snapshots: Map<number, Snapshot>;
  /** The words of each record's content, for search. */
  readonly words: Map<number, readonly string[]>;
  /** For `rank`, in no order. */
  wordSteps: readonly WordStep[];
  readonly vectors: Map<string, RecordVector>;
  index: IndexEntry | null;
  /** Since when it is due; see `DueRow`. */
  sinceMs: number;
  epoch: number;
  lease: Head["lease"];
  /** The journal position of the record that took the lease. */
  leaseOrder: number;
  /** Deleted, or only a prefix. It stays as long as forks share its records. */
  dropped: boolean;
  /** Never lived here: its records came with a fork. */
  held: boolean;
  /** Lives in another store, and is read-only here. */
  copy: boolean;
  /** Packing gains nothing here; only its extent is recorded. */
  packedTo: number;
}

export interface Logs {
  readonly all: Map<LogId, Log>;
  /** Ids of deleted sessions without any remains. They are never reused. */
  readonly gone: Set<LogId>;
  /** Every record of every log in write order. */
  journal: JournalEntry[];
  /** Of the last entry ever made; positions are not reused either. */
  position: number;
}

export interface JournalEntry {
  readonly position: number;
  readonly log: Log;
  readonly record: StoredRecord;
  readonly blobs: readonly string[];
}

export const newLogs = (): Logs => ({ all: new Map(), gone: new Set(), journal: [], position: 0 });

export function livingLog(logs: Logs, id: LogId): Log | undefined {
  const log = logs.all.get(id);
  return log?.dropped === true ? undefined : log;
}

export const headSeqOf = (log: Log): number => log.firstSeq + log.records.length - 1;

/** Why a log is not writable; null if it is. */
export type ClosedReason = (session: LogId) => LogFacts["closed"];

interface AppendDeps {
  readonly digest: Digest;
  readonly now: number;
  readonly closed: ClosedReason;
  /** Throws if the append is impossible, after its verdict. */
  readonly beforeWrite: () => void;
}

/** Checks all parts first and writes only if none is refused, so nothing needs a rollback. */
export function appendParts(
  logs: Logs,
  { digest, now, closed, beforeWrite }: AppendDeps,
  parts: readonly Part[],
): Outcome {
  const flaw = partsFlaw(parts);
  if (flaw !== null) throw new SkeinError("invalid", flaw);
  for (const part of parts) {
    const refusal = verdictOn(logs, part, closed);
    if (refusal) return refusal;
  }
  checkBeginnings(logs, parts);
  beforeWrite();
  return { kind: "ok", parts: parts.map((part) => writePart({ logs, digest, now }, part)) };
}

function verdictOn(logs: Logs, part: Part, closed: ClosedReason): AppendRefusal | null {
  const { session } = part;
  const log = livingLog(logs, session);
  const seq = log && headSeqOf(log);
  const last = log && seq !== undefined ? recordAt(log, seq) : undefined;
  const head = log && last ? { seq: last.seq, hash: last.hash, epoch: log.epoch } : null;
  const taken = logs.gone.has(session) || logs.all.has(session);
  const verdict = judgePart(part, { head, taken, closed: closed(session) }, (key) => log?.seqOfKey.get(key));
  if (verdict instanceof SkeinError) throw verdict;
  return verdict;
}

/** The conditions of a new log. A fork may start from what an earlier part of the same append writes. */
function checkBeginnings(logs: Logs, parts: readonly Part[]): void {
  const after = new Map<LogId, { readonly seq: number; readonly depth: number }>();
  const standing = (id: LogId): { readonly seq: number; readonly depth: number } =>
    after.get(id) ?? { seq: headSeqIn(logs, id), depth: livingLog(logs, id)?.depth ?? 0 };
  for (const { session, index, parent, drafts, drop } of parts) {
    const before = standing(session);
    const begins = before.seq === 0 && isSessionId(session);
    if (begins && !index) throw missingIndex(session);
    const from = parent && standing(parent.session);
    if (parent && from && from.seq < parent.seq) throw missingForkPoint(parent);
    const tooDeep = from ? depthFlaw(from.depth) : null;
    if (tooDeep !== null) throw tooDeep;
    const depth = from ? from.depth + 1 : before.depth;
    after.set(session, { seq: drop ? 0 : (parent?.seq ?? before.seq) + drafts.length, depth });
  }
}

function headSeqIn(logs: Logs, id: LogId): number {
  const log = livingLog(logs, id);
  return log ? headSeqOf(log) : 0;
}

interface Write {
  readonly logs: Logs;
  readonly digest: Digest;
  readonly now: number;
}

function writePart(write: Write, part: Part): AppendedPart {
  const log = write.logs.all.get(part.session) ?? beginPart(write.logs, part);
  const firstSeq = headSeqOf(log) + 1;
  const last = recordAt(log, firstSeq - 1);
  const at = Math.max(write.now, last?.at ?? 0);
  if (part.drop) dropLog(log);
  for (const draft of part.drafts) writeDraft(write, log, at, draft);
  if (part.index) setIndex(log, part.index, write.now);
  if (part.lease) setLease(log, part.lease, { firstSeq, now: write.now, order: write.logs.position });
  const hashes = part.drop ? [] : log.records.slice(firstSeq - log.firstSeq).map((record) => record.hash);
  return { session: log.id, firstSeq, headSeq: firstSeq + part.drafts.length - 1, at, hashes };
}

function writeDraft(write: Write, log: Log, at: number, draft: Draft): void {
  const seq = headSeqOf(log) + 1;
  const { type, v, actor, turn, cause, key, body, content } = draft;
  const contentHash = content?.hash ?? null;
  const contentBytes = content?.bytes ?? null;
  const fields = { session: log.id, seq, at, type, v, actor, turn, cause, key, contentHash, contentBytes };
  const before = recordAt(log, seq - 1)?.hash ?? genesisHash;
  const hash = link(write.digest, before, fields, draft.bodyHash);
  const kept = { salt: content?.salt ?? null, content: content?.text ?? null };
  pushRecord(write.logs, log, { ...fields, body, hash, ...kept }, draft.blobs);
}

export function pushRecord(logs: Logs, log: Log, given: StoredRecord, blobs: readonly string[]): void {
  const record: StoredRecord = Object.freeze({ ...given });
  log.records.push(record);
  if (record.key !== null) log.seqOfKey.set(record.key, record.seq);
  logs.position += 1;
  logs.journal.push({ position: logs.position, log, record, blobs });
}

/** Takes or releases the lease, with an append whose first record is at `firstSeq`. */
export function setLease(
  log: Log,
  lease: NonNullable<Part["lease"]>,
  { firstSeq, now, order }: { readonly firstSeq: number; readonly now: number; readonly order: number },
): void {
  if (lease === "release") {
    log.epoch = 0;
    log.lease = null;
    if (log.index?.due === 0) log.sinceMs = now;
    return;
  }
  log.epoch = firstSeq;
  log.lease = { holder: lease.holder, untilMs: now + lease.leaseMs };
  log.leaseOrder = order;
}

/** The log of a session's first record: new, or a fork of another one. */
export function beginPart(logs: Logs, part: Pick<Part, "session" | "parent">): Log {
  const { session, parent = null } = part;
  const from = parent ? logs.all.get(parent.session) : undefined;
  return beginLog(logs, session, parent, parent && from ? ownerOf(from, parent.seq) : null, from?.depth);
}

export function beginLog(
  logs: Logs,
  id: LogId,
  parent: Head["parent"],
  base: Log | null,
  parentDepth = base?.depth,
): Log {
  const log: Log = {
    id,
    firstSeq: (parent?.seq ?? 0) + 1,
    parent: parent && { ...parent },
    base,
    sharers: new Set(),
    depth: parentDepth === undefined ? 0 : parentDepth + 1,
    records: [],
    seqOfKey: new Map(),
    snapshots: new Map(),
    words: new Map(),
    wordSteps: [],
    vectors: new Map(),
    index: null,
    sinceMs: 0,
    epoch: 0,
    lease: null,
    leaseOrder: 0,
    dropped: false,
    held: false,
    copy: false,
    packedTo: parent?.seq ?? 0,
  };
  base?.sharers.add(log);
  logs.all.set(log.id, log);
  return log;
}

/** The log of the lineage that holds this position. */
function ownerOf(log: Log, seq: number): Log | null {
  let owner: Log | null = log;
  while (owner && seq < owner.firstSeq) owner = owner.base;
  return owner;
}

function recordAt(log: Log, seq: number): StoredRecord | undefined {
  const owner = ownerOf(log, seq);
  return owner?.records[seq - owner.firstSeq];
}

/** A copy of the entry; an empty outbox is left out. */
export function setIndex(log: Log, entry: IndexEntry, now: number): void {
  const wasDue = log.index?.due === 0;
  log.index = indexOf(entry);
  if (entry.due !== 0) log.sinceMs = entry.due ?? 0;
  else if (!wasDue) log.sinceMs = now;
}

export function indexOf({ outbox = 0, ...entry }: IndexEntry): IndexEntry {
  const own = { ...entry, labels: { ...entry.labels } };
  return outbox > 0 ? { ...own, outbox } : own;
}

/** The records stay for the forks; `sweepLogs` frees what no fork shares. */
function dropLog(log: Log): void {
  log.dropped = true;
  log.index = null;
  log.epoch = 0;
  log.lease = null;
  log.seqOfKey.clear();
  log.words.clear();
  log.wordSteps = [];
  log.vectors.clear();
}

export function headOf(log: Log): Head {
  const { id: session, epoch, parent } = log;
  const last = recordAt(log, headSeqOf(log));
  if (!last) throw new SkeinError("corrupt", `${session} has no record at its head`);
  const { seq, hash, at } = last;
  const head = { session, seq, hash, at, epoch, lease: log.lease && { ...log.lease }, parent };
  return log.copy ? { ...head, copy: true } : head;
}

export function readLog(log: Log, range: ReadRange): readonly StoredRecord[] {
  const types = range.types && new Set(range.types);
  const wanted = recordsOf(log, range)
    .filter((record) => types?.has(record.type) ?? true)
    .map((record) => (range.contents ? record : { ...record, salt: null, content: null }));
  return pageOf(wanted, range.limit, (record) => record);
}

export function seqAtOf(log: Log, at: number): number {
  const found = recordsOf(log, { fromSeq: 1, toSeq: headSeqOf(log) }).find((record) => record.at >= at);
  return found?.seq ?? headSeqOf(log) + 1;
}

/**
 * Walks up the lineage for the stretches that hold the range, then along them. A loop, because lineages can
 * be long.
 */
export function* recordsOf(
  log: Log,
  { fromSeq, toSeq, reverse = false }: Pick<ReadRange, "fromSeq" | "toSeq" | "reverse">,
): Generator<StoredRecord> {
  const stretches: (readonly StoredRecord[])[] = [];
  let lastSeq = Math.min(toSeq, headSeqOf(log));
  for (let owner: Log | null = log; owner && lastSeq >= fromSeq; owner = owner.base) {
    const start = Math.max(fromSeq, owner.firstSeq) - owner.firstSeq;
    stretches.push(owner.records.slice(start, Math.max(start, lastSeq + 1 - owner.firstSeq)));
    lastSeq = Math.min(lastSeq, owner.firstSeq - 1);
  }
  if (!reverse) stretches.reverse();
  for (const stretch of stretches) yield* reverse ? stretch.toReversed() : stretch;
}

/** As many as requested and as fit in a page, and at least one. */
export function pageOf<T>(
  items: Iterable<T>,
  count: number,
  recordOf: (item: T) => StoredRecord,
): readonly T[] {
  const page: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const { body, content, contentBytes } = recordOf(item);
    bytes += Buffer.byteLength(body) + (content === null ? 0 : (contentBytes ?? 0));
    if (page.length > 0 && bytes > limit.pageBytesMax) break;
    page.push(item);
    if (page.length >= Math.min(count, limit.pageRecordsMax)) break;
  }
  return page;
}

/** The position before the first record. */
const beginning = "0";

export const feedSource = (logs: Logs): FeedSource => ({
  async page(place, count) {
    const from = place === null ? 0 : positionIn(place);
    const start = logs.journal.findLastIndex((entry) => entry.position <= from) + 1;
    const living = logs.journal.slice(start).filter((entry) => !entry.log.dropped);
    const page = pageOf(living, count, (entry) => entry.record);
    const last = page.at(-1);
    const records = page.map((entry) => entry.record);
    return {
      records,
      place: last?.position.toString() ?? place ?? beginning,
      hash: last?.record.hash ?? null,
    };
  },
  end: async () => String(logs.position),
  async hashAt(place) {
    const position = positionIn(place);
    if (position > logs.position) return "absent";
    const found = logs.journal.find((entry) => entry.position === position);
    return found === undefined ? "unknown" : { hash: found.record.hash };
  },
  distance: (place) => BigInt(positionIn(place)),
  recordBefore: async (distance) =>
    logs.journal.findLast((entry) => entry.position <= Number(distance))?.position.toString() ?? null,
});

function positionIn(place: string): number {
  if (/^\d{1,15}$/.test(place)) return Number(place);
  throw notAPosition(place);
}

/** Frees deleted logs, and the part of shared ones behind the last fork point; the youngest first. */
/** Returns the blobs that no record refers to any more. */
export function sweepLogs(logs: Logs): readonly string[] {
  // No log is older than its base, so all sharers are handled before their base.
  for (const log of [...logs.all.values()].filter(({ dropped }) => dropped).toReversed()) {
    const sharedSeq = [...log.sharers].reduce((most, sharer) => Math.max(most, sharer.firstSeq - 1), 0);
    log.records.length = Math.max(0, Math.min(log.records.length, sharedSeq + 1 - log.firstSeq));
    for (const seq of log.snapshots.keys()) if (seq > sharedSeq) log.snapshots.delete(seq);
    if (log.sharers.size > 0) continue;
    logs.all.delete(log.id);
    if (!log.held) logs.gone.add(log.id);
    log.base?.sharers.delete(log);
  }
  const before = logs.journal;
  logs.journal = before.filter(({ log, record }) => record.seq <= headSeqOf(log));
  const referred = new Set(logs.journal.flatMap(({ blobs }) => blobs));
  return before.flatMap(({ blobs }) => blobs).filter((hash) => !referred.has(hash));
}
