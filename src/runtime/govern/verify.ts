/** Verification: hashes every record again and compares it with the chain. Reads only. */
import { flaw, genesisHash, type StoredRecord } from "../../core/chain.ts";
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import { isSharedLogId, type LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import type { Store } from "../../store/port.ts";
import { blobReference } from "../read/content.ts";
import { checkErased } from "./verify-erased.ts";
import type { World } from "../world.ts";

/** Options of `session.verify`. */
export interface VerifyOptions {
  /** A head noted earlier: the log must still hold that record, or its tail is missing. */
  readonly head?: { readonly seq: number; readonly hash: string };
  /** Leaves out what a fork shares with its parent. */
  readonly own?: boolean;
}

/** A defect of a log, with its position. */
export interface VerifyProblem {
  readonly session: LogId;
  readonly seq: number;
  readonly problem: string;
}

/** The result of `session.verify`. */
export interface VerifyReport {
  readonly ok: boolean;
  readonly sessions: number;
  readonly records: number;
  readonly contents: number;
  /** Erased contents, and their total length. */
  readonly erased: number;
  readonly erasedBytes: number;
  readonly blobs: number;
  readonly problems: readonly VerifyProblem[];
  /** The first bad position; null when all is well. */
  readonly firstBad: VerifyProblem | null;
}

/** Listed problems at most, over all sessions; the counts continue. */
const problemsMax = 100_000;

export function emptyReport(): VerifyReport {
  return {
    ok: true,
    sessions: 0,
    records: 0,
    contents: 0,
    erased: 0,
    erasedBytes: 0,
    blobs: 0,
    problems: [],
    firstBad: null,
  };
}

export function joinReports(a: VerifyReport, b: VerifyReport): VerifyReport {
  return {
    ok: a.ok && b.ok,
    sessions: a.sessions + b.sessions,
    records: a.records + b.records,
    contents: a.contents + b.contents,
    erased: a.erased + b.erased,
    erasedBytes: a.erasedBytes + b.erasedBytes,
    blobs: a.blobs + b.blobs,
    problems: b.problems.length === 0 ? a.problems : [...a.problems, ...b.problems].slice(0, problemsMax),
    firstBad: a.firstBad ?? b.firstBad,
  };
}

/** A problem of the store that belongs to no record. */
export function withStoreProblem(report: VerifyReport, { workspace }: Store, problem: string): VerifyReport {
  const found = { session: workspace, seq: 0, problem };
  return joinReports(report, { ...emptyReport(), ok: false, problems: [found], firstBad: found });
}

export async function verifyLog(
  store: Store,
  world: World,
  session: LogId,
  options: VerifyOptions = {},
  listed?: VerifyOptions["head"],
): Promise<VerifyReport> {
  const head = await store.head(session);
  if (head === undefined) throw sessionNotFound(session);
  const problems: VerifyProblem[] = [];
  const bad = (seq: number, problem: string) => void problems.push({ session, seq, problem });
  const count = { records: 0, contents: 0, erased: 0, erasedBytes: 0, blobs: 0 };
  const erasures = checkErased(store, head);
  const start = options.own === true ? (head.parent?.seq ?? 0) : 0;
  let before: string | null = start === 0 ? genesisHash : await hashAt(store, session, start);
  let at = 0;
  let next = start + 1;
  const check = async (record: StoredRecord | Unreadable): Promise<void> => {
    if (record.seq !== next) {
      const missing = record.seq === next + 1 ? "the record is" : `records up to ${record.seq - 1} are`;
      bad(next, `${missing} missing`);
      before = null;
    }
    next = record.seq + 1;
    count.records++;
    if ("unreadable" in record) {
      bad(record.seq, `it cannot be read: ${record.unreadable}`);
      before = null;
      return;
    }
    erasures.see(record);
    countContent(count, record);
    const wrong = flawOf(world, before, record) ?? (await blobFlaw(store, world, record, count));
    if (wrong !== null) bad(record.seq, wrong);
    if (record.at < at) bad(record.seq, "its time is before that of the record before");
    at = record.at;
    before = record.hash;
  };
  for await (const page of readPages(store, session, next, head.seq)) {
    for (const record of page) await check(record);
  }
  for (const { seq, problem } of await erasures.flaws()) bad(seq, problem);
  const isGone = (next <= head.seq || problems.length > 0) && (await store.head(session)) === undefined;
  if (isGone) throw new SkeinError("not-found", `${session} was deleted while it was verified`);
  if (next <= head.seq) bad(next, `the log ends here; its head says ${head.seq}`);
  else if (before !== head.hash) bad(head.seq, "the head does not match the last record");
  await checkNoted(store, session, options.head, head.seq, bad);
  const isNoted = listed?.seq === options.head?.seq && listed?.hash === options.head?.hash;
  if (!isNoted) await checkNoted(store, session, listed, head.seq, bad);
  problems.sort((a, b) => a.seq - b.seq);
  return {
    ok: problems.length === 0,
    sessions: isSharedLogId(session) ? 0 : 1,
    ...count,
    problems,
    firstBad: problems[0] ?? null,
  };
}

function countContent(
  count: { contents: number; erased: number; erasedBytes: number },
  { content, contentHash, contentBytes }: StoredRecord,
): void {
  if (content !== null) count.contents += 1;
  else if (contentHash !== null) {
    count.erased += 1;
    count.erasedBytes += contentBytes ?? 0;
  }
}

interface Unreadable {
  readonly seq: number;
  readonly unreadable: string;
}

/** Around an unreadable record, others are read in smaller pages, so that it hides none of them. */
async function* readPages(
  store: Store,
  session: LogId,
  fromSeq: number,
  toSeq: number,
): AsyncGenerator<readonly (StoredRecord | Unreadable)[]> {
  const whole = limit.pageRecordsMax;
  let size: number = whole;
  for (let next = fromSeq; next <= toSeq;) {
    const last = size === whole ? toSeq : Math.min(toSeq, next + size - 1);
    try {
      const page = await store.read(session, { fromSeq: next, toSeq: last, limit: size, contents: true });
      yield page;
      next = (page.at(-1)?.seq ?? last) + 1;
      size = Math.min(whole, size * 32);
    } catch (error) {
      if (error instanceof SkeinError && error.code !== "corrupt") throw error;
      if (size === 1) yield [{ seq: next++, unreadable: errorText(error) }];
      else size = Math.ceil(size / 32);
    }
  }
}

function flawOf(world: World, before: string | null, record: StoredRecord): string | null {
  if (before === null) return "it cannot be linked to the record before, which is missing or unreadable";
  return flaw(
    world.digest,
    before,
    record,
    record.content === null ? null : Buffer.byteLength(record.content),
  );
}

/** Most records have no blob, and need no await. */
function blobFlaw(
  store: Store,
  world: World,
  { content }: StoredRecord,
  count: { blobs: number },
): null | Promise<string | null> {
  if (content === null || !content.startsWith('{"$blob"')) return null;
  count.blobs++;
  return readBlobFlaw(store, world, JSON.parse(content));
}

async function readBlobFlaw(store: Store, world: World, content: unknown): Promise<string | null> {
  const reference = blobReference(content);
  if (reference === null) return null;
  const chunks = await store.blob(reference.sha256);
  if (chunks === undefined) return "its blob is missing";
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return world.hashBytes(Buffer.concat(parts)) === reference.sha256
    ? null
    : "its blob does not match its hash";
}

async function checkNoted(
  store: Store,
  session: LogId,
  noted: VerifyOptions["head"],
  headSeq: number,
  bad: (seq: number, problem: string) => void,
): Promise<void> {
  if (noted === undefined) return;
  if (noted.seq > headSeq) return bad(headSeq + 1, `the tail is missing: the noted head is ${noted.seq}`);
  const hash = await hashAt(store, session, noted.seq);
  if (hash !== noted.hash) bad(noted.seq, "the record is not the one whose hash was noted");
}

async function hashAt(store: Store, session: LogId, seq: number): Promise<string | null> {
  for await (const [record] of readPages(store, session, seq, seq)) {
    return record === undefined || "unreadable" in record ? null : record.hash;
  }
  return null;
}
