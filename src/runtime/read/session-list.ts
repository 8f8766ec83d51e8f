/**
 * How sessions stand, as lists show them: what each waits for, who runs it, what it has cost. From the index
 * of the store; their logs are read only for the outbox of those that have messages open, and for what keeps
 * one that could be run.
 */
import { heldBy, heldText } from "../../core/trigger/schedule.ts";
import { sideBySide } from "./content.ts";
import type { DueRow, ScheduledRow, SessionRow, Store, WorkerRow } from "../../store/port.ts";

/** A session as lists show it: what it is, and how it stands. */
export interface SessionSummary extends SessionRow {
  /** Messages to other stores that are not known to be there; absent: none. */
  readonly outbox?: number;
  readonly zone: "smart" | "strained" | "full";
  /** What it has cost, as `state().cost` says it. */
  readonly nanoUsd: number;
  /** The most that it may have cost besides: calls that are open or were lost, hidden reasoning. */
  readonly unconfirmedNanoUsd: number;
  /** Model calls of an unknown price: they are in neither amount. */
  readonly unpriced: number;
  /** The model it goes on with; null when it has none yet. */
  readonly model: string | null;
  /** It has something to do and nobody does it. */
  readonly runnable: boolean;
  /** What has to happen before it goes on; null when nothing has to, or it is over. */
  readonly waitingFor: string | null;
  /** Who runs it. */
  readonly runBy: string | null;
  /** The names of its triggers, as a text. */
  readonly triggers: string | null;
  /** Until when it is to be done; null: whenever. */
  readonly deadlineMs: number | null;
  /** When time brings something about; null: never. */
  readonly dueMs: number | null;
}

/** What is to be known once for all rows of a list. */
interface Around {
  readonly workers: readonly WorkerRow[];
  readonly running: readonly DueRow[];
  readonly nowMs: number;
  /** By the store's clock, as leases are. */
  readonly clockMs: number;
}

export async function standingRows(
  store: Store,
  rows: readonly SessionRow[],
  nowMs: number,
): Promise<SessionSummary[]> {
  const known = new Map(
    (await store.scheduled(rows.map(({ session }) => session))).map((row) => [row.session, row]),
  );
  const runnable = [...known.values()].some(({ due }) => due === 0);
  // Limits and workers matter only to those that could be run.
  const [workers, leased] = runnable ? await Promise.all([store.workers(), store.leased()]) : [[], []];
  const clockMs = store.now();
  const around: Around = {
    workers: workers.filter(({ untilMs }) => untilMs > clockMs),
    running: leased.filter((row) => isHeld(row, clockMs)),
    nowMs,
    clockMs,
  };
  const counted = await withOutbox(store, rows);
  const stood = counted.map((row) => standingRow(row, known.get(row.session), around));
  return sideBySide(stood, (row) => withTrial(store, row));
}

/**
 * Whoever gives back a session without having ended a turn could not go on, and the worker leaves it alone
 * for a while; how long, only the worker knows.
 */
async function withTrial(store: Store, row: SessionSummary): Promise<SessionSummary> {
  const { session, headSeq: toSeq, runnable, waitingFor } = row;
  if (!runnable || waitingFor !== null) return row;
  const range = { fromSeq: Math.max(1, toSeq - trialRecords), toSeq, reverse: true, limit: 2 };
  // What cannot be read, or was deleted meanwhile, is listed all the same.
  const read = store.read(session, { ...range, types: trialTypes, contents: false }).catch(() => []);
  const [last, before] = (await read).map(({ type }) => type);
  const failed = last === "lease.released" && before === "lease.taken";
  return failed ? { ...row, waitingFor: "another try" } : row;
}

/** Far enough for what was written under a lease, and after it. */
const trialRecords = 200;
const trialTypes = ["lease.taken", "lease.released", "turn.ended", "session.suspended"];

/** The index counts requests that wait for a reply along with what is not delivered: they are told apart. */
async function withOutbox(store: Store, rows: readonly SessionRow[]): Promise<readonly SessionRow[]> {
  if (rows.every(({ outbox = 0 }) => outbox === 0)) return rows;
  const states = (await import("./state-reader.ts")).makeStateReader(store);
  const counted: SessionRow[] = [];
  for (const row of rows) {
    const { outbox = 0, ...rest } = row;
    // What cannot be read, or was deleted meanwhile, is listed all the same.
    const read = outbox === 0 ? null : await states.at(row.session, row.headSeq).catch(() => null);
    const count = read?.standing.outbox.size ?? outbox;
    counted.push(count === 0 ? rest : { ...rest, outbox: count });
  }
  await states.settled();
  return counted;
}

const isHeld = ({ lease }: DueRow, clockMs: number): boolean => lease !== null && lease.untilMs > clockMs;

function standingRow(row: SessionRow, known: ScheduledRow | undefined, around: Around): SessionSummary {
  const { zone = "smart", model = null, triggers = null, lease = null, deadlineMs = null } = known ?? {};
  const { nanoUsd = 0, unconfirmedNanoUsd = 0, unpriced = 0 } = known ?? {};
  const isRun = known !== undefined && isHeld(known, around.clockMs);
  const runnable = !isRun && known?.due === 0;
  return {
    ...row,
    zone,
    nanoUsd,
    unconfirmedNanoUsd,
    unpriced,
    model,
    runnable,
    waitingFor: known === undefined || isRun ? null : waitingFor(known, around),
    runBy: isRun ? (lease?.holder ?? null) : null,
    triggers,
    deadlineMs,
    dueMs: known === undefined || known.due === 0 ? null : known.due,
  };
}

function waitingFor(row: ScheduledRow, { workers, running, nowMs }: Around): string | null {
  const { due, waits, status } = row;
  if (due === 0) {
    const held = heldBy(
      row,
      running,
      workers.flatMap(({ limits }) => limits),
    );
    if (held !== null) return heldText(held);
    if (workers.length === 0) return "a worker";
    const places = workers.reduce((sum, { concurrency }) => sum + concurrency, 0);
    return running.length >= places ? `a place (${running.length} of ${places})` : null;
  }
  if (waits === null || !waits.startsWith("time") || due === null || status !== "sleeping") return waits;
  return waits.replace("time", due <= nowMs ? "a worker" : `time until ${exact(due)}`);
}

const exact = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms));
