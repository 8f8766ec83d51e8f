/**
 * Retention: goes through all sessions and does what policies say is due. Each thing that is done is one
 * append or one packing, decided on the session as it is at that moment; so it may be stopped anywhere, run
 * again, and run twice at once. Others work on: between two sessions it rests for as long as it worked.
 */
import { checkOptions, SkeinError } from "../core/error.ts";
import type { LogId, SessionId } from "../core/ids.ts";
import { candidateOf, dueFor, isFor, obstacle } from "../core/policy.ts";
import type { Action, Candidate, Due, NamedPolicy } from "../core/policy.ts";
import type { State } from "../core/state.ts";
import type { Packed, SessionRow } from "../store/port.ts";
import type { Context } from "./engine-context.ts";
import { isFree } from "./lease.ts";
import { followedPolicies, refuseEverything } from "./policies.ts";
import { dropSession } from "./retain-drop.ts";
import { planPacking, weigh, type PackPlan } from "./retain-pack.ts";

export interface RetainOptions {
  /** Says what would be done, and does nothing. */
  readonly dryRun?: boolean;
  /** Says that policies which are for every session there is are meant so. */
  readonly everything?: boolean;
  readonly progress?: (at: { readonly sessions: number; readonly done: number }) => void;
  /** Stops after the session at hand; what is left is done by the next run. */
  readonly signal?: AbortSignal;
}

/** What was done, or would be, to one session. */
export interface Retained {
  readonly session: LogId;
  readonly do: Action;
  /** Null: the session was opened to expire, or is archived. */
  readonly policy: string | null;
  readonly because: string;
  /** Policies that are due as well and say the same or less. */
  readonly besides: readonly string[];
  /** Records that are packed or deleted. */
  readonly records: number;
  /** What they took, and take now; null where that is not known before it is done. */
  readonly bytesBefore: number;
  readonly bytesAfter: number | null;
}

/** Something was due for a session, and it was left as it is. */
export interface RetainKept {
  readonly session: SessionId;
  readonly do: Action;
  readonly policy: string | null;
  readonly why: string;
}

export interface RetainReport {
  readonly dryRun: boolean;
  /** Sessions that were looked at. */
  readonly sessions: number;
  readonly done: readonly Retained[];
  readonly kept: readonly RetainKept[];
  /** Of the store's files; null when it has none. */
  readonly bytesBefore: number | null;
  readonly bytesAfter: number | null;
  /** Whether it was stopped before its end. */
  readonly stopped: boolean;
  /**
   * Whether the files are rid of what was deleted. If not, because it was stopped or somebody read from them
   * all the time, the next run sees to it.
   */
  readonly swept: boolean;
}

interface Pass {
  readonly context: Context;
  readonly policies: readonly NamedPolicy[];
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
  readonly done: Retained[];
  readonly kept: RetainKept[];
}

export async function retain(context: Context, options: RetainOptions = {}): Promise<RetainReport> {
  checkOptions("retain", options, ["dryRun", "everything", "progress", "signal"]);
  const { dryRun = false, everything = false, progress, signal } = options;
  const { store } = context;
  const policies = await followedPolicies(context);
  if (!dryRun && !everything) refuseEverything(policies);
  const pass: Pass = { context, policies, dryRun, signal, done: [], kept: [] };
  const bytesBefore = await store.bytes();
  let sessions = 0;
  for await (const row of everySession(context)) {
    if (signal?.aborted === true) break;
    await withRest(context, signal, () => attend(pass, row));
    sessions += 1;
    progress?.({ sessions, done: pass.done.length });
  }
  await packWorkspace(pass);
  const stopped = signal?.aborted === true;
  const swept = dryRun || stopped ? false : await giveBack(context);
  const { done, kept } = pass;
  const bytesAfter = await store.bytes();
  return { dryRun, sessions, done, kept, bytesBefore, bytesAfter, stopped, swept };
}

/** Sessions of one page of the index: few, so that nobody waits while they are read. */
const pageRows = 50;

/** The most recently active first; what is written to meanwhile has its turn the next time. */
async function* everySession({ store }: Context): AsyncGenerator<SessionRow> {
  for (let cursor: string | null = ""; cursor !== null;) {
    const from = cursor === "" ? {} : { cursor };
    const page: Awaited<ReturnType<typeof store.list>> = await store.list({}, { limit: pageRows, ...from });
    yield* page.rows;
    cursor = page.cursor;
  }
}

/** Nobody is kept waiting for long: a rest is as long as the work before it. */
async function withRest(
  { world }: Context,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const startedMs = world.now();
  await work();
  const tookMs = Math.min(restMsMax, world.now() - startedMs);
  if (tookMs > 0) await world.sleep(tookMs, signal);
  else await new Promise<void>((resolve) => world.defer(resolve));
}

const restMsMax = 50;

/** What somebody else deleted or changed in between is left to the next run. */
async function attend(pass: Pass, row: SessionRow): Promise<void> {
  try {
    const gone = await attendToAge(pass, row);
    if (!gone) await attendToRecords(pass, row);
  } catch (error) {
    const changed = error instanceof SkeinError && ["not-found", "conflict"].includes(error.code);
    if (!changed) throw error;
  } finally {
    // Whoever works on sessions here is to find their states at hand, not those that were passed through.
    pass.context.writer.forget(row.session);
  }
}

/** Expires, archives or deletes; true when nothing is left to pack. */
async function attendToAge(pass: Pass, row: SessionRow): Promise<boolean> {
  const { context, policies, dryRun, kept } = pass;
  const { store, states, world } = context;
  const { session } = row;
  const candidate = await withOwnWish(context, row);
  const due = dueFor(policies, candidate, world.now());
  if (due === null) return false;
  const { standing } = await states.at(session, row.headSeq);
  const lease = (await store.head(session))?.lease ?? null;
  const why =
    obstacle(due.do, standing, world.now()) ??
    (isFree(context, lease) ? null : `it is run by ${lease?.holder}`);
  if (why !== null) {
    kept.push({ session, do: due.do, policy: due.policy, why });
    return false;
  }
  if (dryRun) return note(pass, row, due);
  return perform(pass, row, due);
}

async function note(pass: Pass, row: SessionRow, due: Due): Promise<boolean> {
  const { store } = pass.context;
  const { session, headSeq, parent } = row;
  const nothing = { records: 0, bytesBefore: 0 };
  const packedTo = due.do === "archive" ? await store.packedTo(session) : (parent?.seq ?? 0);
  const concerned = due.do === "expire" ? nothing : await weigh(store, session, packedTo + 1, headSeq);
  const bytesAfter = due.do === "archive" ? null : 0;
  const { records, bytesBefore } = concerned;
  pass.done.push({ session, ...due, records, bytesBefore, bytesAfter });
  return due.do !== "expire";
}

async function perform(pass: Pass, row: SessionRow, due: Due): Promise<boolean> {
  const { context, policies, signal } = pass;
  const { store, writer, world, actor } = context;
  const { session, headSeq, parent } = row;
  const reason = due.policy === null ? due.because : `policy "${due.policy}": ${due.because}`;
  /** On the state that the change is decided on: what is due is due still. */
  const check = (state: State): void => {
    const candidate = { ...candidateOf(state), ...(row.copy === true ? { copy: true as const } : {}) };
    const now = dueFor(policies, candidate, world.now());
    if (now?.do === due.do && obstacle(due.do, state.standing, world.now()) === null) return;
    throw new SkeinError("conflict", `${session} changed in the meantime`);
  };
  if (due.do === "delete") {
    const { records, bytesBefore } = await weigh(store, session, (parent?.seq ?? 0) + 1, headSeq);
    await dropSession(context, session, { reason, check });
    pass.done.push({ session, ...due, records, bytesBefore, bytesAfter: 0 });
    return true;
  }
  const change =
    due.do === "expire" ? ({ do: "close", outcome: "expired" } as const) : { do: "archive" as const };
  const build = (state: State) => {
    check(state);
    return { ...change, reason };
  };
  const { headSeq: head } = await writer.change(session, build, { actor });
  const none: Packed = { records: 0, bytesBefore: 0, bytesAfter: 0 };
  const packed = due.do === "archive" ? await store.pack(session, head, signal) : none;
  pass.done.push({ session, ...due, ...packed });
  return due.do === "archive";
}

/** What the session itself was opened with: it stands in its first record, and a fork has none of its own. */
async function withOwnWish({ store }: Context, row: SessionRow): Promise<Candidate> {
  if (row.parent !== null || row.copy === true || !isFor({ do: "expire" }, row)) return row;
  const [first] = await store.read(row.session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  const { expiresAfterIdleMs = null } = JSON.parse(first?.body ?? "{}") as { expiresAfterIdleMs?: number };
  return { ...row, expiresAfterIdleMs };
}

async function attendToRecords(pass: Pass, row: SessionRow): Promise<void> {
  const { context, policies } = pass;
  const { session } = row;
  const plan = await planPacking(context, policies, session, row, context.world.now());
  if (plan !== null) await packed(pass, session, plan);
}

/** The workspace's own log is packed by policies that are for every session. */
async function packWorkspace(pass: Pass): Promise<void> {
  const { context, policies, signal } = pass;
  const { store, world } = context;
  const head = await store.head(store.workspace);
  if (head === undefined || signal?.aborted === true) return;
  const candidate = {
    status: "open",
    agent: null,
    labels: {},
    activeAt: head.at,
    headSeq: head.seq,
  } as const;
  const wide = policies.filter(({ policy: { match } }) => match === undefined);
  const plan = await planPacking(context, wide, store.workspace, candidate, world.now());
  if (plan !== null) await packed(pass, store.workspace, plan);
}

async function packed(
  pass: Pass,
  session: LogId,
  { fromSeq, toSeq, policy, because }: PackPlan,
): Promise<void> {
  const { context, dryRun, signal, done } = pass;
  const { store } = context;
  const found = dryRun
    ? await weigh(store, session, fromSeq, toSeq)
    : await store.pack(session, toSeq, signal);
  if (found.records === 0) return;
  const bytesAfter = dryRun ? null : found.bytesAfter;
  done.push({ session, do: "pack", policy, because, besides: [], ...found, bytesAfter });
}

/** False when somebody else stood in the way: then it is still due. */
async function giveBack({ store }: Context): Promise<boolean> {
  await store.sweep();
  try {
    await store.scrub();
    return true;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "unavailable") return false;
    throw error;
  }
}
