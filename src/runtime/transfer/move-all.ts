/**
 * Moves a whole store: every session that lives in it moves to another one, with the workspace's data. A
 * repeated call finds what was done, and continues.
 */
import { readRows } from "../read/session-rows.ts";
import { checkCall } from "../../call/check.ts";
import type { MoveBody } from "../../core/session/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, quote, type SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { moveGroup, type Fate, type DepartingSession, type MoveParams } from "./move-group.ts";
import { lineageOf, type MovedSession } from "./move-lineage.ts";
import { deletedIn } from "./move-receive.ts";
import { countProjects, moveProjects } from "./move-project.ts";
import { carryWorkspace, nothingCarried, type CarriedCounts } from "./move-workspace.ts";
import { makeStateReader } from "../read/state-reader.ts";
import { makeWriter } from "../log/writer.ts";
import { logPages } from "../read/every-log.ts";
import { isFree } from "../read/lease-status.ts";
import { shownPlace } from "../read/move-target.ts";

/** Options of `engine.migrate`. */
export interface MigrateAllOptions {
  /** A store or its address; created if missing. */
  readonly to: Store | string;
  /** Reports what would move, and changes nothing. */
  readonly dryRun?: boolean;
  /** How long to wait for running sessions; by default they are listed and left at once. */
  readonly waitMs?: number;
  readonly progress?: (at: MigrateProgress) => void;
  /** Stops after the current sessions; the next run continues. */
  readonly signal?: AbortSignal;
}

/** Receives the progress of `engine.migrate`. */
export interface MigrateProgress {
  /** Done so far, and in all. */
  readonly sessions: number;
  readonly sessionsAll: number;
  readonly records: number;
  readonly recordsAll: number;
  /** Since the beginning. */
  readonly ms: number;
}

/** The result of `engine.migrate`. */
export interface MigrateAllReport {
  readonly dryRun: boolean;
  /** The workspace of the other store; null when that does not exist yet. */
  readonly workspace: string | null;
  /** Sessions that this run moved; or would move. */
  readonly moved: number;
  /** Projects that this run moved; or would move. */
  readonly projects: number;
  /** Sessions that live in a third store, and can now be read there as here. */
  readonly copied: number;
  /** Sessions that had arrived there before. */
  readonly before: number;
  /** Sessions that were moved to other stores earlier. */
  readonly elsewhere: number;
  /** Sessions that still live here, and why. */
  readonly left: readonly { readonly session: SessionId; readonly why: string }[];
  /** New records there; or records to send. */
  readonly records: number;
  readonly blobs: number;
  /** Records whose hash was read back there and equals the one here. */
  readonly verified: number;
  readonly carried: CarriedCounts;
  readonly ms: number;
  /** True when it was stopped before its end. */
  readonly stopped: boolean;
}

export async function migrateAll(deps: Deps, options: MigrateAllOptions): Promise<MigrateAllReport> {
  checkCall("engine.migrate", options);
  const { to, dryRun = false } = options;
  if (typeof to === "object" && typeof to.append === "function") {
    return dryRun ? surveyAll(deps, to) : moveAll(deps, { to, where: to.workspace }, options);
  }
  if (typeof to !== "string" || to === "" || to === "memory:") {
    throw new SkeinError(
      "invalid",
      `migrate: to: expected a path, a URL or an open store, got ${quote(to)}`,
      {
        hint: "for example ./team.db or postgres://skein@db/skein",
      },
    );
  }
  if (deps.openStore === undefined) {
    throw new SkeinError("refused", "access to other stores is disabled", {
      hint: "pass an open store instead of a path, or export the session",
    });
  }
  const store = await deps.openStore(to, { create: !dryRun }).catch((error: unknown) => {
    if (dryRun && error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  });
  try {
    if (dryRun || store === null) return await surveyAll(deps, store);
    return await moveAll(deps, { to: store, where: shownPlace(to) }, options);
  } finally {
    await store?.close();
  }
}

const checkOther = ({ store }: Deps, to: Store): void => {
  if (to !== store && to.workspace !== store.workspace) return;
  throw new SkeinError("refused", "migrate: to: the sessions are already in that store", {
    hint: "pass another store",
  });
};

/** What was found of a session. */
type FoundStores =
  | DepartingSession
  | { readonly session: SessionId; readonly stands: "gone" | "before" | "elsewhere" };

/** Source and destination; null: a store that does not exist yet. */
interface StorePair extends Pick<MoveParams, "deps" | "deleted"> {
  readonly to: Store | null;
}

/** The status of a session in both stores. */
async function look({ deps: { store }, to, deleted }: StorePair, session: SessionId): Promise<FoundStores> {
  const head = await store.head(session);
  if (head === undefined) return { session, stands: "gone" };
  const range = { fromSeq: head.seq, toSeq: head.seq, limit: 1, contents: false };
  const [last] = await store.read(session, range);
  const moved = last?.type === "session.moved" ? (JSON.parse(last.body) as MoveBody) : null;
  if (moved !== null && head.copy !== true) {
    if (to === null || moved.to !== to.workspace) return { session, stands: "elsewhere" };
    const there = await to.head(session);
    // A session deleted there had arrived.
    const isGone = there === undefined && deleted.has(session);
    if (isGone || (there?.seq ?? 0) > head.seq) return { session, stands: "before" };
  }
  const { seq: toSeq, hash } = head;
  const whole: MovedSession = {
    session,
    parent: null,
    base: null,
    fromSeq: 1,
    toSeq,
    hash,
    kind: "session",
    via: session,
  };
  const lineage = head.parent === null ? [whole] : await lineageOf(store, session);
  const stands = head.copy === true ? "copy" : moved === null ? "here" : "begun";
  return { session, head, stands, move: stands === "begun" ? (moved?.move ?? null) : null, lineage };
}

const isLeaving = (found: FoundStores): found is DepartingSession => "lineage" in found;

/** Sessions inspected at once. */
const lookedAtOnce = 64;

/** All sessions, so that a fork mostly comes after its parent. */
async function* lookAtAll(looking: StorePair): AsyncGenerator<FoundStores> {
  for await (const page of logPages(looking.deps.store)) {
    const sessions = page.filter((log) => isSessionId(log));
    for (let from = 0; from < sessions.length; from += lookedAtOnce) {
      const some = sessions.slice(from, from + lookedAtOnce);
      yield* await Promise.all(some.map((session) => look(looking, session)));
    }
  }
}

const ownRecords = ({ lineage }: DepartingSession): number => {
  const own = lineage.at(-1);
  return own === undefined ? 0 : own.toSeq - own.fromSeq + 1;
};

async function surveyAll(deps: Deps, to: Store | null): Promise<MigrateAllReport> {
  if (to !== null) checkOther(deps, to);
  const startedMs = deps.world.now();
  const deleted = to === null ? new Set<string>() : await deletedIn(to);
  const tally = makeTally();
  let records = 0;
  for await (const found of lookAtAll({ deps, to, deleted })) {
    if (!isLeaving(found)) {
      tally.found(found.stands);
      continue;
    }
    const { session, head, stands } = found;
    const why = stands === "here" ? await hindrance(deps, session, head.lease) : null;
    const became = why !== null ? "left" : stands === "copy" ? "copied" : "moved";
    tally.fate({ session, became, ...(why === null ? {} : { why }) });
    if (why === null) records += ownRecords(found);
  }
  const ms = deps.world.now() - startedMs;
  const workspace = to?.workspace ?? null;
  const projects = await countProjects(deps, to);
  const sum = { projects, records, blobs: 0, verified: 0, carried: nothingCarried, ms, stopped: false };
  return { dryRun: true, workspace, ...tally.sum(), ...sum };
}

/** Why a session would be left. */
async function hindrance(
  deps: Deps,
  session: SessionId,
  lease: { readonly holder: string; readonly untilMs: number } | null,
): Promise<string | null> {
  if (lease !== null && !isFree(deps, lease)) return `the session is running on ${lease.holder}`;
  const { standing } = await deps.writer.current(session);
  return standing.status === "running" ? "a turn is in progress" : null;
}

function makeTally() {
  const counts = { moved: 0, copied: 0, before: 0, elsewhere: 0 };
  const left = new Map<SessionId, string>();
  return {
    found: (stands: "gone" | "before" | "elsewhere") => {
      if (stands !== "gone") counts[stands]++;
    },
    fate({ session, became, why = "" }: Fate) {
      left.delete(session);
      if (became === "left") left.set(session, why);
      else counts[became]++;
    },
    get done() {
      return counts.moved + counts.copied + counts.before + left.size;
    },
    sum: () => ({ ...counts, left: [...left].map(([session, why]) => ({ session, why })) }),
  };
}

type Tally = ReturnType<typeof makeTally>;

async function moveAll(
  deps: Deps,
  { to, where }: { readonly to: Store; readonly where: string },
  { waitMs = 0, progress, signal }: MigrateAllOptions,
): Promise<MigrateAllReport> {
  checkOther(deps, to);
  const { world } = deps;
  const startedMs = world.now();
  const writer = makeWriter(to, world, makeStateReader(to), { tenant: "default" });
  const sent = { records: 0, blobs: 0, verified: 0 };
  const moving: MoveParams = { deps, to, where, writer, deleted: await deletedIn(to), sent };
  const all = await countAll(deps);
  const tally = makeTally();
  const tell = (): void => {
    const [sessions, records] = [tally.done, sent.verified];
    const ms = world.now() - startedMs;
    progress?.({ sessions, sessionsAll: all.sessions, records, recordsAll: all.records, ms });
  };
  tell();
  // First, because sessions that have arrived may run at once; and again for what came meanwhile.
  const first = await carryWorkspace(moving);
  // Before the sessions, so that each finds its project there; and again for those opened meanwhile.
  let projects = await moveProjects(moving);
  const again = await moveEach(moving, tally, { tell, signal });
  await retry(moving, tally, again, { untilMs: world.now() + waitMs, tell, signal });
  const stopped = signal?.aborted === true;
  const second = stopped ? nothingCarried : await carryWorkspace(moving);
  if (!stopped) projects += await moveProjects(moving);
  const carried = Object.fromEntries(
    Object.entries(first).map(([what, count]) => [what, count + second[what as keyof CarriedCounts]]),
  ) as unknown as CarriedCounts;
  const ms = world.now() - startedMs;
  return { dryRun: false, workspace: to.workspace, ...tally.sum(), projects, ...sent, carried, ms, stopped };
}

/** How much there is to do, by the index. */
async function countAll({ store }: Deps): Promise<{ readonly sessions: number; readonly records: number }> {
  let [sessions, records] = [0, 0];
  for await (const { status, headSeq, parent } of readRows(store, {})) {
    sessions++;
    if (status !== "moved") records += headSeq - (parent?.seq ?? 0);
  }
  return { sessions, records };
}

/** Sessions in a group, and groups at once: one is read while another is written. */
const group = { sessionsMax: 64, recordsMax: 4_096, atOnce: 2 };

interface MoveHooks {
  readonly tell: () => void;
  readonly signal: AbortSignal | undefined;
}

/** Returns those that may move with another attempt. */
async function moveEach(moving: MoveParams, tally: Tally, { tell, signal }: MoveHooks): Promise<SessionId[]> {
  const again: SessionId[] = [];
  const flying = new Map<ReadonlySet<SessionId>, Promise<unknown>>();
  const failures: unknown[] = [];
  const isOver = (): boolean => signal?.aborted === true || failures.length > 0;
  const settle = async (most: number): Promise<void> => {
    while (flying.size > most) await Promise.race(flying.values());
  };
  const move = async (list: readonly DepartingSession[]): Promise<void> => {
    for (const fate of await moveGroup(moving, list)) {
      tally.fate(fate);
      if (fate.again === true) again.push(fate.session);
    }
    tell();
  };
  for await (const list of groupsOf(lookAtAll(moving), tally)) {
    const ids = new Set(list.flatMap(({ lineage }) => lineage.map(({ session }) => session)));
    const isKin = [...flying.keys()].some((others) => !others.isDisjointFrom(ids));
    await settle(isKin ? 0 : group.atOnce - 1);
    if (isOver()) break;
    const done = move(list).catch((error: unknown) => failures.push(error));
    flying.set(
      ids,
      done.finally(() => flying.delete(ids)),
    );
  }
  await settle(0);
  if (failures.length > 0) throw failures[0];
  return again;
}

/** Groups of which none is an ancestor of another. */
async function* groupsOf(
  all: AsyncIterable<FoundStores>,
  tally: Tally,
): AsyncGenerator<readonly DepartingSession[]> {
  let list: DepartingSession[] = [];
  let records = 0;
  for await (const found of all) {
    if (!isLeaving(found)) {
      tally.found(found.stands);
      continue;
    }
    const own = ownRecords(found);
    const isFull = list.length === group.sessionsMax || records + own > group.recordsMax;
    if (list.length > 0 && (isFull || list.some((one) => isAncestor(one, found) || isAncestor(found, one)))) {
      yield list;
      [list, records] = [[], 0];
    }
    list.push(found);
    records += own;
  }
  if (list.length > 0) yield list;
}

const isAncestor = ({ session }: DepartingSession, { lineage }: DepartingSession): boolean =>
  lineage.some((log) => log.session === session);

/** The pause between two checks of running sessions. */
const lookMs = 250;

/** One retry at once, for sessions that were written to meanwhile; then for as long as the caller waits. */
async function retry(
  moving: MoveParams,
  tally: Tally,
  sessions: readonly SessionId[],
  { untilMs, tell, signal }: MoveHooks & { readonly untilMs: number },
): Promise<void> {
  const { world } = moving.deps;
  for (let left = sessions; left.length > 0;) {
    const next: SessionId[] = [];
    if (signal?.aborted === true) return;
    for (const session of left) {
      const found = await look(moving, session);
      if (!isLeaving(found)) tally.fate({ session, became: "moved" });
      else {
        const [fate] = await moveGroup(moving, [found]);
        if (fate !== undefined) tally.fate(fate);
        if (fate?.again === true) next.push(session);
      }
      tell();
    }
    left = next;
    if (world.now() >= untilMs) return;
    if (left.length > 0) await world.sleep(lookMs, signal);
  }
}
