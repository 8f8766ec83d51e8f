/**
 * Sessions as lists show them: what each waits for, who runs it, its cost. From the index of the store; logs
 * are read only for the outbox of sessions with open messages, and for what blocks a runnable one.
 */
import { heldBy, heldText } from "../../core/trigger/schedule.ts";
import { sideBySide } from "./content.ts";
import type { DueRow, ScheduledRow, SessionRow, Store, WorkerRow } from "../../store/port.ts";

/** A session in a list: its properties and its current state. */
export interface SessionSummary extends SessionRow {
  /** Undelivered messages to other stores; absent: none. */
  readonly outbox?: number;
  readonly zone: "smart" | "strained" | "full";
  /** Its cost, as in `state().cost`. */
  readonly nanoUsd: number;
  /** The upper bound of further cost: open or lost calls, hidden reasoning. */
  readonly unconfirmedNanoUsd: number;
  /** Model calls of an unknown price: they are in neither amount. */
  readonly unpriced: number;
  /** Its current model; null when it has none yet. */
  readonly model: string | null;
  /** It has something to do and is not running. */
  readonly runnable: boolean;
  /** What has to happen before it continues; null when nothing has to, or it is closed. */
  readonly waitingFor: string | null;
  /** The process that runs it. */
  readonly runBy: string | null;
  /** The names of its triggers, as a text. */
  readonly triggers: string | null;
  /** Its deadline; null: none. */
  readonly deadlineMs: number | null;
  /** When it is due by time; null: never. */
  readonly dueMs: number | null;
}

/** What all rows of a list share. */
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
  // Limits and workers matter only to runnable ones.
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
 * A released lease without an ended turn means a failed run, and the worker waits before it retries; how
 * long, only the worker knows.
 */
async function withTrial(store: Store, row: SessionSummary): Promise<SessionSummary> {
  const { session, headSeq: toSeq, runnable, waitingFor } = row;
  if (!runnable || waitingFor !== null) return row;
  const range = { fromSeq: Math.max(1, toSeq - trialRecords), toSeq, reverse: true, limit: 2 };
  // A row that cannot be read, or was deleted meanwhile, is listed all the same.
  const read = store.read(session, { ...range, types: trialTypes, contents: false }).catch(() => []);
  const [last, before] = (await read).map(({ type }) => type);
  const failed = last === "lease.released" && before === "lease.taken";
  return failed ? { ...row, waitingFor: "a retry" } : row;
}

/** Enough for the records under a lease, and after it. */
const trialRecords = 200;
const trialTypes = ["lease.taken", "lease.released", "turn.ended", "session.suspended"];

/** The index counts requests that wait for a reply along with undelivered messages: this separates them. */
async function withOutbox(store: Store, rows: readonly SessionRow[]): Promise<readonly SessionRow[]> {
  if (rows.every(({ outbox = 0 }) => outbox === 0)) return rows;
  const states = (await import("./state-reader.ts")).makeStateReader(store);
  const counted: SessionRow[] = [];
  for (const row of rows) {
    const { outbox = 0, ...rest } = row;
    // A row that cannot be read, or was deleted meanwhile, is listed all the same.
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
    return running.length >= places ? `a slot (${running.length} of ${places})` : null;
  }
  if (waits === null || !waits.startsWith("time") || due === null || status !== "sleeping") return waits;
  return waits.replace("time", due <= nowMs ? "a worker" : `time until ${exact(due)}`);
}

const exact = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms));
