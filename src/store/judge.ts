/**
 * The verdicts that every driver shares: on an append, on a received log, on a fork. A driver reads the facts
 * under its own locks; the conclusions and their messages are here.
 */
import { bodyHashOf, link, type Digest } from "../core/chain.ts";
import { SkeinError } from "../core/error.ts";
import { isSharedLogId, type LogId, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Expect, FinishRequest, Outcome, Part, ReceivedLog, ReceivedRecord } from "./port.ts";

/** Whether a log with this end is as expected; 0 and no hash for a missing log. */
export const agrees = (headSeq: number, hash: string | undefined, expect: Expect): boolean => {
  if (expect === "unchecked") return true;
  if (expect === "absent") return headSeq === 0;
  if (expect === "exists") return headSeq > 0;
  return headSeq === expect.seq && (expect.hash ?? hash) === hash;
};

export type AppendRefusal = Exclude<Outcome, { kind: "ok" | "unknown" }>;

/** What a driver knows of the log of a part, read under the lock of its head. */
export interface LogFacts {
  /** Null if no log of this id is visible. */
  readonly head: { readonly seq: number; readonly hash: string; readonly epoch: number } | null;
  /** The id belongs to an invisible log: a deleted one, or a prefix. Ids are never reused. */
  readonly taken: boolean;
  /** Why it is not writable; null if it is. */
  readonly closed: "copy" | "receiving" | null;
}

/**
 * The verdict on one part of an append: null if it may be written. `seqOfKey` finds the position of a key in
 * the log, and is called only if the log is visible.
 */
export function judgePart(
  part: Part,
  { head, taken, closed }: LogFacts,
  seqOfKey: (key: string) => number | undefined,
): AppendRefusal | SkeinError | null {
  const { session, expect, epoch } = part;
  if (closed !== null && part.drop !== true) return closedError(session, closed);
  if (head === null) {
    if (epoch !== undefined && epoch !== 0) return { kind: "fenced", session, epoch: 0 };
    const isFree = agrees(0, undefined, expect) && !taken && part.drop !== true;
    return isFree ? null : { kind: "conflict", session, headSeq: 0 };
  }
  for (const { key } of part.drafts) {
    const seq = key === null ? undefined : seqOfKey(key);
    if (key !== null && seq !== undefined) return { kind: "duplicate", session, key, seq };
  }
  if (epoch !== undefined && epoch !== head.epoch) return { kind: "fenced", session, epoch: head.epoch };
  if (!agrees(head.seq, head.hash, expect)) return { kind: "conflict", session, headSeq: head.seq };
  if (part.parent === undefined) return null;
  return new SkeinError("invalid", `fork: ${session} exists already`);
}

const kindOf = (log: LogId): string => (isSharedLogId(log) ? "project" : "session");

const closedError = (session: LogId, closed: "copy" | "receiving"): SkeinError =>
  closed === "copy"
    ? new SkeinError("refused", `${session} is a read-only copy of a ${kindOf(session)} in another store`, {
        hint: "fork it to continue here",
      })
    : new SkeinError("refused", `${session} is being imported`, {
        hint: "finish the import or move, or discard it",
      });

/** The flaw of an append, regardless of the store's data; null if there is none. */
export function partsFlaw(parts: readonly Part[]): string | null {
  const [only] = parts;
  if (only !== undefined && parts.length === 1 && isPlain(only)) return null;
  if (parts.length === 0) return "append: no parts";
  const records = parts.reduce((sum, part) => sum + part.drafts.length, 0);
  if (parts.length > limit.appendLogsMax) {
    return `append: parts: expected at most ${limit.appendLogsMax} logs, got ${parts.length}`;
  }
  if (records > limit.appendRecordsMax) {
    return `append: records: expected at most ${limit.appendRecordsMax}, got ${records}`;
  }
  if (parts.length > 1 && new Set(parts.map(({ session }) => session)).size < parts.length) {
    return "append: the same log twice";
  }
  for (const part of parts) {
    const flaw = part.drop === true ? dropFlaw(part) : draftsFlaw(part);
    if (flaw !== null) return flaw;
  }
  return null;
}

/** The most frequent append, which cannot have a flaw. */
const isPlain = ({ drafts, drop, erase, parent, index }: Part): boolean =>
  drafts.length === 1 &&
  drop === undefined &&
  erase === undefined &&
  parent === undefined &&
  index === undefined;

function dropFlaw({ session, drafts, parent, index, lease, expect, erase }: Part): string | null {
  if (isSharedLogId(session)) return "append: drop: only sessions can be deleted";
  if (drafts.length > 0) return "append: expected either drafts or drop";
  if (expect === "absent") return "append: drop: expected a session that exists";
  const more = parent ?? index ?? lease ?? erase;
  return more === undefined ? null : "append: drop: not allowed with parent, index, lease or erase";
}

function draftsFlaw({ session, expect, drafts, parent, index, erase }: Part): string | null {
  if (drafts.length === 0) return "append: expected either drafts or drop";
  if (drafts.length > 1) {
    const keys = drafts.flatMap(({ key }) => key ?? []);
    if (new Set(keys).size < keys.length) return "append: the same key twice";
  }
  if (index !== undefined && isSharedLogId(session))
    return "append: index: only sessions have an index entry";
  if (parent !== undefined) {
    if (expect !== "absent" || isSharedLogId(session))
      return 'append: parent: a fork is a new session; expect must be "absent"';
    if (!Number.isSafeInteger(parent.seq) || parent.seq < 1)
      return "append: parent.seq: expected a position from 1";
  }
  return erase === undefined ? null : rangesFlaw(erase);
}

function rangesFlaw(erase: NonNullable<Part["erase"]>): string | null {
  if (erase.length > limit.eraseRecordsMax) {
    return `append: erase: at most ${limit.eraseRecordsMax} ranges, got ${erase.length}`;
  }
  const isRange = ([fromSeq, toSeq]: readonly [number, number]): boolean =>
    Number.isSafeInteger(fromSeq) && Number.isSafeInteger(toSeq) && fromSeq >= 1 && fromSeq <= toSeq;
  return erase.every(isRange) ? null : "append: erase: expected ranges with 1 <= fromSeq <= toSeq";
}

/** More contents than one append may erase. */
export const tooManyErased = (): SkeinError =>
  new SkeinError("invalid", `append: erase: at most ${limit.eraseRecordsMax} contents at once`, {
    hint: "erase them in several calls",
  });

/** A record refers to a blob that is incomplete, or missing. */
export const missingBlob = (hash: string): SkeinError =>
  new SkeinError("not-found", `blob ${hash} is not in the store`, {
    hint: "store the blob before the record",
  });

/** A session's first append, and a received session, need an index entry. */
export const missingIndex = (session: LogId): SkeinError =>
  new SkeinError("invalid", `append: index: missing for ${session}`);

export const missingForkPoint = ({ session, seq }: NonNullable<Part["parent"]>): SkeinError =>
  new SkeinError("not-found", `fork: position ${seq} does not exist in ${session}`);

/** A fork of a log of this depth; null if it is allowed. */
export const depthFlaw = (parentDepth: number): SkeinError | null =>
  parentDepth < limit.forkDepthMax
    ? null
    : new SkeinError("refused", `forks are nested at most ${limit.forkDepthMax} deep`);

/** The state of a log for a receiver: `log` is null if only its name exists. */
export const presenceOf = (
  log: { readonly seen: boolean; readonly copy: boolean } | null,
): ReceivedLog["there"] => (log === null ? "nothing" : !log.seen ? "prefix" : log.copy ? "copy" : "own");

/** The base of a received fork is missing, or does not reach the fork point. */
export const missingOrigin = (seq: number, base: SessionId | null): SkeinError =>
  new SkeinError("not-found", `import: position ${seq} of ${base ?? "the parent"} does not exist`);

/** Another program received or discarded the log at the same time. */
const beginAgain = "another program receives it too; begin again";

export const notReceived = (session: LogId): SkeinError =>
  new SkeinError("conflict", `${session} is not being imported`, { hint: "start the import again" });

/** The position and hash of the last record of a log. */
export interface LastRecord {
  readonly seq: number;
  readonly hash: string;
}

/** Whether a received record follows the last one: by position, by hash, and in this log. */
export function checkNext(digest: Digest, session: LogId, last: LastRecord, record: ReceivedRecord): void {
  const { seq, body, hash } = record;
  if (seq !== last.seq + 1) {
    throw new SkeinError("conflict", `record ${seq} of ${session} cannot follow ${last.seq}`, {
      hint: beginAgain,
    });
  }
  const linked = link(digest, last.hash, record, bodyHashOf(digest, body)) === hash;
  if (linked && record.session === session) return;
  throw new SkeinError("corrupt", `record ${seq} of ${session} does not match the chain`, {
    detail: "received",
  });
}

/** A received record has the position of a different existing record. */
export const otherRecord = (session: LogId, seq: number): SkeinError =>
  new SkeinError("conflict", `${session} has a different record ${seq} here`, {
    hint: "the session continued in two stores; fork one of them instead",
  });

export const usedKey = (session: LogId | null, cause?: unknown): SkeinError =>
  new SkeinError(
    "corrupt",
    `a record${session === null ? "" : ` of ${session}`} has a key that is already used`,
    { cause, detail: "received" },
  );

/** Whether a received log can be finished: `end` is its last record here, undefined without records. */
export function checkFinished(
  { session, seq, hash, as, index }: FinishRequest,
  { end, deleted }: { readonly end: LastRecord | undefined; readonly deleted: boolean },
): void {
  if (end?.seq !== seq || end.hash !== hash) {
    throw new SkeinError("conflict", `${session} does not end at record ${seq}`, {
      hint: beginAgain,
    });
  }
  if (as === "prefix") return;
  if (deleted) throw new SkeinError("refused", `${session} was deleted here`);
  if (index === undefined && !isSharedLogId(session)) throw missingIndex(session);
}

/** Whether finishing changes a visible log: it got more records, or a copy becomes a local session. */
export const changesVisible = (as: FinishRequest["as"], log: { more: boolean; copy: boolean }): boolean =>
  log.more || (as === "own" && log.copy);
