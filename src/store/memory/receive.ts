/** The memory driver's receptions: logs received whole, invisible until they are finished. */
import type { Digest, StoredRecord } from "../../core/chain.ts";
import { genesisHash } from "../../core/chain.ts";
import type { LogId, ProjectId, SessionId } from "../../core/ids.ts";
import {
  changesVisible,
  checkFinished,
  checkNext,
  depthFlaw,
  missingOrigin,
  notReceived,
  otherRecord,
  presenceOf,
  usedKey,
  type LogFacts,
} from "../judge.ts";
import type { FinishRequest, ReadRange, ReceivedLog, ReceivedRecord, Reception } from "../port.ts";
import type { Log, Logs } from "./log.ts";
import { beginLog, pageOf, setIndex } from "./log.ts";

/** The received part of an unfinished log. */
export interface ReceivingLog {
  readonly reception: Reception;
  readonly records: ReceivedRecord[];
}

export type Receptions = Map<LogId, ReceivingLog>;

export function receive(logs: Logs, receptions: Receptions, reception: Reception): ReceivedLog {
  const { session } = reception;
  const log = logs.all.get(session);
  if (!receptions.has(session) && !log) {
    if (reception.parent && reception.base) {
      const point = lastUpTo(logs, receptions, reception.base, reception.parent.seq);
      if (point?.seq !== reception.parent.seq) {
        throw missingOrigin(reception.parent.seq, reception.base);
      }
    }
    receptions.set(session, { reception, records: [] });
  }
  const { seq, hash } = lastUpTo(logs, receptions, session, Infinity) ?? { seq: 0, hash: genesisHash };
  return { seq, hash, there: presenceOf(log ? { seen: !log.dropped, copy: log.copy } : null) };
}

export function put(
  logs: Logs,
  receptions: Receptions,
  {
    session,
    records,
    digest,
  }: { session: SessionId | ProjectId; records: readonly ReceivedRecord[]; digest: Digest },
): void {
  const log = logs.all.get(session);
  const known = receptions.get(session);
  if (!known && !log) throw notReceived(session);
  const reception = known?.reception ?? { session, parent: log?.parent ?? null, base: null };
  const receiving: ReceivingLog = { reception, records: [...(known?.records ?? [])] };
  const keys = new Set([...(log?.records ?? []), ...receiving.records].map(({ key }) => key));
  let last = lastUpTo(logs, receptions, session, Infinity) ?? { seq: 0, hash: genesisHash };
  for (const record of records) {
    if (record.seq <= last.seq) {
      if (lastUpTo(logs, receptions, session, record.seq)?.hash === record.hash) continue;
      throw otherRecord(session, record.seq);
    }
    checkNext(digest, session, last, record);
    if (record.key !== null && keys.has(record.key)) throw usedKey(session);
    keys.add(record.key);
    receiving.records.push({ ...record });
    last = record;
  }
  if (receiving.records.length > 0) receptions.set(session, receiving);
}

/** Checks all of them first, so nothing needs a rollback. */
export function finish(logs: Logs, receptions: Receptions, list: readonly FinishRequest[]): void {
  for (const one of list) {
    const { session, seq } = one;
    const end = lastUpTo(logs, receptions, session, receptions.has(session) ? Infinity : seq);
    const log = logs.all.get(session);
    const deleted = logs.gone.has(session) || (log?.dropped === true && !log.held);
    checkFinished(one, { end, deleted });
  }
  for (const one of list) finishOne(logs, receptions, one);
}

function finishOne(logs: Logs, receptions: Receptions, { session, as, index }: FinishRequest): void {
  const received = receptions.get(session);
  const there = logs.all.get(session);
  const wasSeen = there !== undefined && !there.dropped;
  const log = there ?? newLog(logs, receptions, received?.reception);
  const fresh = received?.records ?? [];
  for (const { blobs, ...record } of fresh) {
    const kept: StoredRecord = Object.freeze(record);
    log.records.push(kept);
    if (kept.key !== null) log.seqOfKey.set(kept.key, kept.seq);
    logs.position += 1;
    logs.journal.push({ position: logs.position, log, record: kept, blobs });
  }
  receptions.delete(session);
  if (as === "prefix" && !wasSeen) {
    // The remains of a deleted session stay those of a deleted one.
    log.held = there === undefined || there.held;
    log.dropped = true;
    return;
  }
  if (wasSeen && !changesVisible(as, { more: fresh.length > 0, copy: log.copy })) return;
  if (!wasSeen) seenNow(logs, log);
  [log.dropped, log.held, log.copy] = [false, false, as !== "own"];
  if (index) setIndex(log, index, log.records.at(-1)?.at ?? 0);
  if (fresh.length > 0 || !wasSeen) [log.epoch, log.lease] = [0, null];
}

/** Newly visible records come last in the feed, because readers may be past their old position. */
function seenNow(logs: Logs, log: Log): void {
  const own = logs.journal.filter((entry) => entry.log === log);
  logs.journal = logs.journal.filter((entry) => entry.log !== log);
  for (const entry of own) {
    logs.position += 1;
    logs.journal.push({ ...entry, position: logs.position });
    if (entry.record.key !== null) log.seqOfKey.set(entry.record.key, entry.record.seq);
  }
}

/** Makes a prefix of the part that a fork shares of a log still being received; the rest stays. */
function keepShared(logs: Logs, receptions: Receptions, base: SessionId, seq: number): void {
  const received = receptions.get(base);
  const shared = received?.records.filter((record) => record.seq <= seq) ?? [];
  const there = logs.all.get(base);
  if (received === undefined || shared.length === 0 || there?.dropped === false) return;
  receptions.set(base, { ...received, records: shared });
  finishOne(logs, receptions, { session: base, seq, hash: shared.at(-1)?.hash ?? "", as: "prefix" });
  const rest = received.records.slice(shared.length);
  if (rest.length > 0) receptions.set(base, { ...received, records: rest });
}

function newLog(logs: Logs, receptions: Receptions, reception: Reception | undefined): Log {
  if (!reception) throw new Error("invariant: a log that is finished was received");
  const { session, parent, base } = reception;
  if (base !== null) keepShared(logs, receptions, base, parent?.seq ?? 0);
  const from = base === null ? null : (logs.all.get(base) ?? null);
  const tooDeep = depthFlaw(from?.depth ?? 0);
  if (tooDeep !== null) throw tooDeep;
  return beginLog(logs, session, parent, from);
}

/** The blobs that nothing refers to any more. */
export function discard(receptions: Receptions, session: LogId): readonly string[] {
  const blobs = receptions.get(session)?.records.flatMap((record) => record.blobs) ?? [];
  receptions.delete(session);
  return blobs;
}

/** A page of a received log. */
export function readReceived(
  logs: Logs,
  receptions: Receptions,
  session: LogId,
  range: ReadRange,
): readonly StoredRecord[] {
  const types = range.types && new Set(range.types);
  const records = everyRecord(logs, receptions, session, range.toSeq).filter(
    ({ seq, type }) => seq >= range.fromSeq && (types?.has(type) ?? true),
  );
  if (range.reverse) records.reverse();
  const shown = records.map(
    ({ blobs: _, ...record }: StoredRecord & { readonly blobs?: readonly string[] }) =>
      range.contents ? record : { ...record, salt: null, content: null },
  );
  return pageOf(shown, range.limit, (record) => record);
}

const lastUpTo = (
  logs: Logs,
  receptions: Receptions,
  session: LogId,
  toSeq: number,
): StoredRecord | undefined => everyRecord(logs, receptions, session, toSeq).at(-1);

/** All records of a log up to a position, including shared ones, visible or not. */
function everyRecord(logs: Logs, receptions: Receptions, session: LogId, toSeq: number): StoredRecord[] {
  const stretches: (readonly StoredRecord[])[] = [];
  let upTo = toSeq;
  for (let id: LogId | null = session; id !== null;) {
    const log = logs.all.get(id);
    const receiving = receptions.get(id);
    const end = upTo;
    stretches.push(
      [...(log?.records ?? []), ...(receiving?.records ?? [])].filter((record) => record.seq <= end),
    );
    const parent = log ? log.parent : (receiving?.reception.parent ?? null);
    upTo = Math.min(upTo, parent?.seq ?? 0);
    id = log ? (log.base?.id ?? null) : (receiving?.reception.base ?? null);
  }
  return stretches.toReversed().flat();
}

/** A log is not writable while more of it is received, or if it is only a copy. */
export function closedFor(logs: Logs, receptions: Receptions, session: LogId): LogFacts["closed"] {
  const log = logs.all.get(session);
  if (log?.copy === true && !log.dropped) return "copy";
  const receiving = receptions.get(session);
  const isOpen = receiving === undefined || (log !== undefined && receiving.records.length === 0);
  return isOpen ? null : "receiving";
}
