/**
 * Retention: goes through all sessions and applies due policies. Each action is one append or one packing,
 * decided on the session's current state; so it may be stopped anywhere, repeated, and run twice at once.
 * Other work continues: after each few sessions it pauses for as long as it wrote.
 */
import { readRows } from "../read/session-rows.ts";
import { checkCall } from "../../call/check.ts";
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type LogId, type SessionId, type SharedLogId } from "../../core/ids.ts";
import { candidateOf, dueFor, isFor, obstacle } from "../../core/govern/policy.ts";
import type { PolicyAction, PolicySubject, Due, NamedPolicy } from "../../core/govern/policy.ts";
import type { State } from "../../core/state.ts";
import type { PackResult, SessionFilter, SessionRow } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { checkClocks } from "./clock-check.ts";
import { followedPolicies, refuseEverything } from "../workspace/policies.ts";
import { dropSessions, type SessionDrop } from "./retain-drop.ts";
import { planPacking, weigh, type PackPlan } from "./retain-pack.ts";
import { findProject } from "../project/project-reader.ts";
import { holdOfProject } from "../project/project-status.ts";
import { sessionsOf } from "../project/projects.ts";
import { isFree } from "../read/lease-status.ts";

/** Options of `engine.retain`. */
export interface RetainOptions {
  /** Reports what would be done, and does nothing. */
  readonly dryRun?: boolean;
  /** Only the sessions of this project, and its own log; by its id or a suffix. */
  readonly project?: string;
  /** Confirms policies that apply to every session. */
  readonly everything?: boolean;
  readonly progress?: (at: { readonly sessions: number; readonly done: number }) => void;
  /** Stops after the current sessions; the next run does the rest. */
  readonly signal?: AbortSignal;
}

/** An action on one session, done or planned. */
export interface RetainAction {
  readonly session: LogId;
  readonly do: PolicyAction;
  /** Null: the session was opened to expire, or is archived. */
  readonly policy: string | null;
  readonly because: string;
  /** Other due policies that say the same or less. */
  readonly besides: readonly string[];
  /** Packed or deleted records. */
  readonly records: number;
  /** Their size before and now; null where that is not known in advance. */
  readonly bytesBefore: number;
  readonly bytesAfter: number | null;
}

/** A due session that was left as it is. */
export interface RetainSkip {
  readonly session: SessionId;
  readonly do: PolicyAction;
  readonly policy: string | null;
  readonly why: string;
}

/** The result of `engine.retain`. */
export interface RetainReport {
  readonly dryRun: boolean;
  /** Inspected sessions. */
  readonly sessions: number;
  readonly done: readonly RetainAction[];
  readonly kept: readonly RetainSkip[];
  /** The size of the store's files, without the write-ahead log; null when it has none. */
  readonly bytesBefore: number | null;
  readonly bytesAfter: number | null;
  /** True when it was stopped before its end. */
  readonly stopped: boolean;
  /**
   * True when the files are free of deleted data. If not, because the run was stopped or another program kept
   * reading, the next run repeats it.
   */
  readonly swept: boolean;
}

interface Pass {
  readonly deps: Deps;
  readonly policies: readonly NamedPolicy[];
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
  readonly isStopped: () => boolean;
  /** How many records are handled together. */
  readonly pace: { records: number };
  readonly done: RetainAction[];
  readonly kept: RetainSkip[];
}

export async function retain(deps: Deps, options: RetainOptions = {}): Promise<RetainReport> {
  checkCall("engine.retain", options);
  const { dryRun = false, everything = false, progress, signal } = options;
  const { store } = deps;
  const only = options.project === undefined ? null : await findProject(deps.projects, options.project);
  const filter = only === null ? {} : { sessions: await sessionsOf(deps, only) };
  await checkClocks(deps, "retain");
  const policies = await followedPolicies(deps);
  if (!dryRun && !everything) refuseEverything(policies);
  const isStopped = (): boolean => signal?.aborted === true;
  const pace = { records: groupRecords.least };
  const pass: Pass = { deps, policies, dryRun, signal, isStopped, pace, done: [], kept: [] };
  const bytesBefore = await store.bytes();
  const places = new Map<LogId, number>();
  for await (const group of groups(pass, filter)) {
    if (pass.isStopped()) break;
    const tasks: RetainTask[] = [];
    for (const row of group) {
      if (pass.isStopped()) break;
      places.set(row.session, places.size);
      tasks.push(...(await survey(pass, row)));
      progress?.({ sessions: places.size, done: pass.done.length });
    }
    await withRest(pass, () => perform(pass, tasks));
  }
  if (only === null) await packShared(pass, store.workspace);
  for (const id of only === null ? await deps.projects.ids() : [only]) await packShared(pass, id);
  const stopped = isStopped();
  const swept = dryRun || stopped ? false : await giveBack(deps);
  const { kept } = pass;
  const place = ({ session }: RetainAction): number => places.get(session) ?? Infinity;
  const done = pass.done.toSorted((a, b) => place(a) - place(b));
  const sessions = places.size;
  const bytesAfter = await store.bytes();
  return { dryRun, sessions, done, kept, bytesBefore, bytesAfter, stopped, swept };
}

/**
 * Sessions are handled in groups, so that their records are written at once: as many as take about this long,
 * by the duration of the last group.
 */
const groupMs = { least: 10, most: 20 };
const groupRecords = { least: 16, most: 512 };
const groupSessionsMax = 32;

/** All sessions, the most recently active first; those that change meanwhile wait for the next run. */
async function* groups(
  { deps: { store }, pace }: Pass,
  filter: SessionFilter,
): AsyncGenerator<readonly SessionRow[]> {
  let group: SessionRow[] = [];
  let records = 0;
  for await (const row of readRows(store, filter, groupSessionsMax)) {
    const own = row.headSeq - (row.parent?.seq ?? 0);
    if (group.length > 0 && (group.length === groupSessionsMax || records + own > pace.records)) {
      yield group;
      [group, records] = [[], 0];
    }
    group.push(row);
    records += own;
  }
  yield group;
}

/** Limits the wait of others: a pause is as long as the work before it. */
async function withRest({ deps, pace, signal }: Pass, work: () => Promise<void>): Promise<void> {
  const { world } = deps;
  const startedMs = world.now();
  await work();
  const tookMs = world.now() - startedMs;
  if (tookMs > groupMs.most) pace.records = Math.max(groupRecords.least, pace.records / 2);
  if (tookMs < groupMs.least) pace.records = Math.min(groupRecords.most, pace.records * 2);
  if (tookMs > 0) await world.sleep(Math.min(restMsMax, tookMs), signal);
}

const restMsMax = 250;

/** A planned action on one session. */
interface RetainTask {
  readonly row: SessionRow;
  readonly due: Due | null;
  readonly plan: PackPlan | null;
}

/** The planned actions for a session; a dry run reports them and does nothing. */
async function survey(pass: Pass, row: SessionRow): Promise<RetainTask[]> {
  const { deps, policies, dryRun } = pass;
  const { world, store } = deps;
  await new Promise<void>((resolve) => world.defer(resolve));
  try {
    const due = await dueNow(pass, row);
    const isOver = due !== null && due.do !== "expire";
    const plan = isOver ? null : await planPacking(deps, policies, row.session, row, store.now());
    if (due === null && plan === null) return [];
    if (!dryRun) return [{ row, due, plan }];
    if (due !== null) await note(pass, row, due);
    if (plan !== null) await packed(pass, row.session, plan);
  } catch (error) {
    passOver(pass, { row, due: null, plan: null }, error);
  }
  return [];
}

/**
 * A session that another process deleted or changed meanwhile is left to the next run. A damaged or
 * unwritable one is reported, and does not block the others.
 */
function passOver({ kept }: Pass, { row, due }: RetainTask, error: unknown): void {
  if (!(error instanceof SkeinError)) throw error;
  if (error.code === "not-found" || error.code === "conflict") return;
  if (error.code !== "refused" && error.code !== "corrupt") throw error;
  const { session } = row;
  kept.push({ session, do: due?.do ?? "pack", policy: due?.policy ?? null, why: error.message });
}

async function dueNow(pass: Pass, row: SessionRow): Promise<Due | null> {
  const { deps, policies, kept } = pass;
  const { store, states } = deps;
  const { session } = row;
  const due = dueFor(policies, await withOwnWish(deps, row), store.now());
  if (due === null) return null;
  const { standing } = await states.at(session, row.headSeq);
  const lease = (await store.head(session))?.lease ?? null;
  const why =
    obstacle(due.do, standing, store.now()) ??
    (isFree(deps, lease) ? null : `it is run by ${lease?.holder}`) ??
    (await projectObstacle(deps, standing.project));
  if (why === null) return due;
  kept.push({ session, do: due.do, policy: due.policy, why });
  return null;
}

async function projectObstacle(deps: Deps, project: string | null): Promise<string | null> {
  const held = await holdOfProject(deps, project);
  return held === null ? null : `its project is under legal hold ${quote(held)}`;
}

/** The session's own expiry: it stands in its first record, and a fork has none. */
async function withOwnWish({ store }: Deps, row: SessionRow): Promise<PolicySubject> {
  if (row.parent !== null || row.copy === true || !isFor({ do: "expire" }, row)) return row;
  const [first] = await store.read(row.session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  const { expiresAfterIdleMs = null } = JSON.parse(first?.body ?? "{}") as { expiresAfterIdleMs?: number };
  return { ...row, expiresAfterIdleMs };
}

async function note(pass: Pass, row: SessionRow, due: Due): Promise<void> {
  const { store } = pass.deps;
  const { session, headSeq, parent } = row;
  const none = { records: 0, bytesBefore: 0 };
  const from = due.do === "archive" ? await store.packedTo(session) : (parent?.seq ?? 0);
  const { records, bytesBefore } =
    due.do === "expire" ? none : await weigh(store, session, from + 1, headSeq);
  const bytesAfter = due.do === "archive" ? null : 0;
  pass.done.push({ session, ...due, records, bytesBefore, bytesAfter });
}

/** In parallel, so that the store writes them together; deletions in one append. */
async function perform(pass: Pass, tasks: readonly RetainTask[]): Promise<void> {
  const doomed = tasks.filter(({ due }) => due?.do === "delete");
  const work = tasks.map(async ({ row, due, plan }) => {
    if (due !== null && due.do !== "delete") await close(pass, row, due);
    if (plan !== null) await packed(pass, row.session, plan);
  });
  const all = await Promise.allSettled([...work, dropAll(pass, doomed)]);
  // The state cache is for active sessions, not for those that retention passes through.
  for (const { row } of tasks) pass.deps.writer.forget(row.session);
  for (const [place, one] of all.entries()) {
    const task = tasks[place];
    if (one.status === "fulfilled") continue;
    if (task === undefined) throw one.reason;
    passOver(pass, task, one.reason);
  }
}

/** Checks on the state of the decision that it is still due. */
function check({ deps, policies }: Pass, row: SessionRow, due: Due, state: State): void {
  const nowMs = deps.store.now();
  const candidate = { ...candidateOf(state), ...(row.copy === true ? { copy: true as const } : {}) };
  const now = dueFor(policies, candidate, nowMs);
  if (now?.do === due.do && obstacle(due.do, state.standing, nowMs) === null) return;
  throw new SkeinError("conflict", `${row.session} has changed since it was read`);
}

const reasonOf = ({ policy, because }: Due): string =>
  policy === null ? because : `policy "${policy}": ${because}`;

/** Expires or archives. */
async function close(pass: Pass, row: SessionRow, due: Due): Promise<void> {
  const { deps, signal } = pass;
  const { store, writer, actor } = deps;
  const { session } = row;
  const reason = reasonOf(due);
  const build = (state: State): Command => {
    check(pass, row, due, state);
    return due.do === "expire" ? { do: "close", outcome: "expired", reason } : { do: "archive", reason };
  };
  const { headSeq } = await writer.change(session, build, { actor, asked: false });
  const none: PackResult = { records: 0, bytesBefore: 0, bytesAfter: 0 };
  const found = due.do === "archive" ? await store.pack(session, headSeq, signal) : none;
  pass.done.push({ session, ...due, ...found });
}

/** Together; if that fails, each separately. */
async function dropAll(pass: Pass, tasks: readonly RetainTask[]): Promise<void> {
  if (tasks.length === 0) return;
  try {
    await drop(pass, tasks);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    for (const task of tasks) await drop(pass, [task]).catch((one) => passOver(pass, task, one));
  }
}

async function drop(pass: Pass, tasks: readonly RetainTask[]): Promise<void> {
  const { deps, done } = pass;
  const dropped: SessionDrop[] = [];
  const deleted: RetainAction[] = [];
  for (const { row, due } of tasks) {
    if (due === null) continue;
    const { session, headSeq, parent } = row;
    const found = await weigh(deps.store, session, (parent?.seq ?? 0) + 1, headSeq);
    dropped.push({ session, reason: reasonOf(due), check: (state) => check(pass, row, due, state) });
    deleted.push({ session, ...due, ...found, bytesAfter: 0 });
  }
  await dropSessions(deps, dropped);
  done.push(...deleted);
}

/** Policies for every session also pack the logs of the workspace and of its projects. */
async function packShared(pass: Pass, log: SharedLogId): Promise<void> {
  const { deps, policies } = pass;
  const { store } = deps;
  const head = await store.head(log);
  if (head === undefined || pass.isStopped()) return;
  const candidate = {
    status: "open",
    agent: null,
    labels: {},
    activeAt: head.at,
    headSeq: head.seq,
  } as const;
  const wide = policies.filter(({ policy: { match } }) => match === undefined);
  const plan = await planPacking(deps, wide, log, candidate, store.now());
  if (plan !== null) await packed(pass, log, plan);
}

async function packed(
  pass: Pass,
  session: LogId,
  { fromSeq, toSeq, policy, because }: PackPlan,
): Promise<void> {
  const { deps, dryRun, signal, done } = pass;
  const { store } = deps;
  const found = dryRun
    ? await weigh(store, session, fromSeq, toSeq)
    : await store.pack(session, toSeq, signal);
  if (found.records === 0) return;
  const bytesAfter = dryRun ? null : found.bytesAfter;
  done.push({ session, do: "pack", policy, because, besides: [], ...found, bytesAfter });
}

/** False when another process prevented it: then it is still due. */
async function giveBack({ store }: Deps): Promise<boolean> {
  await store.sweep();
  try {
    await store.scrub();
    return true;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "unavailable") return false;
    throw error;
  }
}
