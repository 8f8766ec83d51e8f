/** Verifies one log or every log of a store: the chain, the store, and the listed or anchored heads. */
import { SkeinError } from "../../core/error.ts";
import { isLogId, quote, type LogId, type SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { holdsRecord } from "../read/known-heads.ts";
import type { IndexProgress } from "../read/projection.ts";
import { everyLog } from "../read/every-log.ts";
import { emptyReport, joinReports, verifyLog, withStoreProblem } from "./verify.ts";
import type { VerifyOptions, VerifyProblem, VerifyReport } from "./verify.ts";
import { readHeads, type HeadLists } from "./read-heads.ts";

/** Options of `engine.verify`. */
export interface VerifyAllOptions {
  readonly progress?: IndexProgress;
  /** An anchor kept outside the store: the workspace's own log must still hold that record. */
  readonly anchor?: { readonly seq: number; readonly hash: string };
}

/** The result of `engine.verify`. */
export interface VerifyAllReport extends VerifyReport {
  /** The lists of heads that the logs were checked against. */
  readonly heads: {
    readonly lists: number;
    readonly logs: number;
    /** When the newest list was made; null when there is none. */
    readonly at: number | null;
    /** The keys that signed the lists. */
    readonly signedBy: readonly string[];
    /** True when all lists are signed. */
    readonly signed: boolean;
  };
}

export async function verifyAll(
  { store, world }: Pick<Deps, "store" | "world">,
  { progress, anchor }: VerifyAllOptions,
): Promise<VerifyAllReport> {
  let report = emptyReport();
  const add = (problems: readonly VerifyProblem[]): void => {
    const [firstBad = null] = problems;
    if (firstBad !== null) report = joinReports(report, { ...emptyReport(), ok: false, problems, firstBad });
  };
  const ofWorkspace = (seq: number, problem: string): VerifyProblem => ({
    session: store.workspace,
    seq,
    problem,
  });
  for (const fault of await store.check())
    report = withStoreProblem(report, store, `the store itself: ${fault}`);
  const lists = await readHeads(store, world.digest).catch(ifDamaged);
  const listed = new Map(lists?.heads ?? []);
  for await (const log of everyLog(store)) {
    if (!isLogId(log)) {
      report = withStoreProblem(report, store, `a log has the damaged id ${quote(log)}`);
      continue;
    }
    const done = await verifyOne({ store, world }, log, listed);
    if (done === null) continue;
    report = joinReports(report, done);
    progress?.({ records: report.records, sessions: report.sessions });
  }
  add(await gone(store, listed));
  add((lists?.problems ?? []).map(({ seq, problem }) => ofWorkspace(seq, problem)));
  if (anchor !== undefined) add(await anchorProblems(store, lists, anchor));
  return { ...report, heads: summaryOf(lists) };
}

type Heads = Map<string, { readonly seq: number; readonly hash: string }>;

/** Null: it is gone. A log that was looked at is no longer in `listed`. */
async function verifyOne(
  { store, world }: Pick<Deps, "store" | "world">,
  log: LogId,
  listed: Heads,
): Promise<VerifyReport | null> {
  const head = await store.head(log);
  if (head === undefined) return null;
  // A fork's shared records are verified with its parent, unless the parent was deleted.
  const own = head.parent !== null && (await store.head(head.parent.session)) !== undefined;
  const noted = listed.get(log);
  listed.delete(log);
  return verifyLog(store, world, log, { own }, noted).catch(ifGone);
}

/** Verifies some logs, and that each still holds its last listed head. */
export async function verifyLogs(
  { store, world }: Pick<Deps, "store" | "world">,
  logs: readonly LogId[],
): Promise<VerifyReport> {
  const lists = await readHeads(store, world.digest).catch(ifDamaged);
  const listed = new Map(lists?.heads ?? []);
  let report = emptyReport();
  for (const log of logs) {
    const done = await verifyOne({ store, world }, log, listed);
    if (done !== null) report = joinReports(report, done);
  }
  // Without the lists a cut tail looks right: "ok" would claim more than was checked.
  return lists === null ? withStoreProblem(report, store, "the lists of heads cannot be read") : report;
}

/** Verifies one log, and that it still holds the last listed head. */
export async function verifySession(
  { store, world }: Pick<Deps, "store" | "world">,
  session: SessionId,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const lists = await readHeads(store, world.digest).catch(ifDamaged);
  const report = await verifyLog(store, world, session, options, lists?.heads.get(session));
  // Without the lists a cut tail looks right: "ok" would claim more than was checked.
  if (lists === null) return withStoreProblem(report, store, "the lists of heads cannot be read");
  const problems = lists.problems.map((one): VerifyProblem => ({ session: store.workspace, ...one }));
  const [firstBad = null] = problems;
  return firstBad === null
    ? report
    : joinReports(report, { ...emptyReport(), ok: false, problems, firstBad });
}

/** Listed logs that are missing. One that was deleted meanwhile is not a problem. */
async function gone(
  store: Store,
  listed: ReadonlyMap<string, { readonly seq: number }>,
): Promise<readonly VerifyProblem[]> {
  if (listed.size === 0) return [];
  const still = (await readHeads(store, null)).heads;
  return [...listed].flatMap(([log, { seq }]) =>
    still.has(log)
      ? [{ session: log as LogId, seq: 1, problem: `the log is missing; it had ${seq} records` }]
      : [],
  );
}

/** True when the workspace's own log still holds the anchored record, or a person accepted its loss. */
export async function anchorProblems(
  store: Store,
  lists: HeadLists | null,
  anchor: { readonly seq: number; readonly hash: string },
): Promise<readonly VerifyProblem[]> {
  const { seq, hash } = anchor;
  if (lists?.accepted.some((one) => one.seq === seq && one.hash === hash) === true) return [];
  const bad = (at: number, problem: string): readonly VerifyProblem[] => [
    { session: store.workspace, seq: at, problem },
  ];
  const head = await store.head(store.workspace);
  if ((head?.seq ?? 0) < seq)
    return bad((head?.seq ?? 0) + 1, `the tail is missing: the anchor is at ${seq}`);
  return (await holdsRecord(store, store.workspace, anchor))
    ? []
    : bad(seq, "the record is not the anchored one");
}

const summaryOf = (lists: HeadLists | null): VerifyAllReport["heads"] => ({
  lists: lists?.lists ?? 0,
  logs: lists?.heads.size ?? 0,
  at: lists?.last?.at ?? null,
  signedBy: [...(lists?.signedBy ?? [])].filter((key) => key !== null),
  signed: lists !== null && lists.lists > 0 && !lists.signedBy.has(null),
});

/** A session that another process deleted in the meantime is not damaged. */
function ifGone(error: unknown): null {
  if (error instanceof SkeinError && error.code === "not-found") return null;
  throw error;
}

/** Unreadable lists are damage of the workspace's log, which is reported there. */
function ifDamaged(error: unknown): null {
  if (error instanceof SkeinError && error.code !== "corrupt") throw error;
  return null;
}
