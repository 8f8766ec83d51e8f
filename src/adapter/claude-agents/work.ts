/**
 * The queue of a self-hosted environment: a session with calls that a worker is to execute is work. Who holds
 * it is a record of the session, written in an append that expects the state it was decided on: one worker
 * gets it, on any number of servers.
 */
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { toolsetNames } from "./project.ts";
import { environmentLabel } from "./sessions.ts";
import { timeText, type Fields } from "./values.ts";

const recordType = "x.claude-agents.work";

/** How long a heartbeat holds the work, and a poll until it is acknowledged. */
const ttlSeconds = 30;
const unacknowledgedMs = 5_000;
/** How often a poll that waits looks again. */
const lookMs = 200;
const blockMsMax = 10_000;

type WorkStep = "polled" | "acknowledged" | "beat" | "stopping" | "stopped";

interface WorkRecord {
  readonly work: string;
  readonly step: WorkStep;
}

/** What the log says of the last work of a session. */
interface WorkState {
  readonly id: string;
  readonly step: WorkStep;
  readonly seq: number;
  readonly polledAt: number;
  readonly acknowledgedAt: number | null;
  readonly beatAt: number | null;
  readonly stopAskedAt: number | null;
  readonly stoppedAt: number | null;
  readonly atMs: number;
}

const workId = (session: SessionId, callSeq: number): string => `work_${session.slice(4)}_${callSeq}`;

function sessionIn(id: string): SessionId | null {
  const [, of = ""] = /^work_([0-9a-z]{26})_[1-9]\d{0,14}$/.exec(id) ?? [];
  const session = `ses_${of}`;
  return isSessionId(session) ? session : null;
}

async function workStateOf(session: Session): Promise<WorkState | null> {
  let state: WorkState | null = null;
  const newest: WorkRecordAt[] = [];
  // A claim has at most one record for each heartbeat: all of the last work are found from the end.
  for await (const { seq, at, body } of session.events({ types: [recordType], reverse: true })) {
    const record = body as WorkRecord;
    newest.unshift({ ...record, seq, at });
    if (record.step === "polled") break;
  }
  for (const record of newest) state = afterStep(state, record);
  return state;
}

interface WorkRecordAt extends WorkRecord {
  readonly seq: number;
  readonly at: number;
}

function afterStep(before: WorkState | null, { work, step, seq, at }: WorkRecordAt): WorkState {
  const none = { acknowledgedAt: null, beatAt: null, stopAskedAt: null, stoppedAt: null };
  const fresh = { id: work, ...none, polledAt: at };
  return {
    ...(before === null || step === "polled" ? fresh : before),
    step,
    seq,
    atMs: at,
    ...(step === "acknowledged" ? { acknowledgedAt: at } : {}),
    ...(step === "beat" ? { beatAt: at } : {}),
    ...(step === "stopping" ? { stopAskedAt: at } : {}),
    ...(step === "stopped" ? { stoppedAt: at } : {}),
  };
}

/** Whether a worker holds it at this time. */
function isHeld(state: WorkState | null, nowMs: number, reclaimMs: number): boolean {
  if (state === null || state.step === "stopped") return false;
  return nowMs - state.atMs < (state.step === "polled" ? reclaimMs : ttlSeconds * 1_000);
}

/** The position of the first call that a worker is to execute; null: there is none. */
function dueCall({ mind, standing }: State, work: WorkState | null): number | null {
  if (standing.status !== "suspended") return null;
  // What a worker left when it stopped is not its own, unless it is of the toolset.
  const stoppedSeq = work?.step === "stopped" ? work.seq : 0;
  const due = [...mind.calls.entries()]
    .filter(([, { deadlineMs, phase }]) => deadlineMs !== undefined && phase !== "asked")
    .filter(([, { tool, seq }]) => toolsetNames.includes(tool) || seq > stoppedSeq)
    .map(([, { seq }]) => seq);
  return due.length === 0 ? null : Math.min(...due);
}

const write = (session: Session, record: WorkRecord, seq: number) =>
  session.append([{ type: recordType, body: record, content: null }], { expect: { seq } });

const isConflict = (error: unknown): boolean => error instanceof SkeinError && error.code === "conflict";

/** Claims the next work of an environment. Null: there is none for so long. */
export async function pollWork(
  engine: Engine,
  environment: string,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<Fields | null> {
  const { world } = internalsOf(engine);
  const blockMs = Math.min(numberIn(query, "block_ms", 0), blockMsMax);
  const reclaimMs = numberIn(query, "reclaim_older_than_ms", unacknowledgedMs);
  const untilMs = world.now() + blockMs;
  for (;;) {
    const { rows } = await engine.sessions({
      labels: { [environmentLabel]: environment },
      status: ["suspended"],
      limit: 500,
    });
    for (const row of rows.toReversed()) {
      const claimed = await claim(engine, row.session, reclaimMs).catch((error: unknown) => {
        // Another worker was first, or the session is gone.
        if (isConflict(error) || (error instanceof SkeinError && error.code === "not-found")) return null;
        throw error;
      });
      if (claimed !== null) return claimed;
    }
    if (world.now() >= untilMs || signal.aborted) return null;
    await world.sleep(lookMs, signal).catch(() => null);
  }
}

async function claim(engine: Engine, id: string, reclaimMs: number): Promise<Fields | null> {
  const session = await engine.session(id);
  const { seq } = await session.head();
  const work = await workStateOf(session);
  if (isHeld(work, internalsOf(engine).world.now(), reclaimMs)) return null;
  const state = await session.fold();
  const callSeq = dueCall(state, work);
  if (callSeq === null || state.seq !== seq) return null;
  await write(session, { work: workId(session.id, callSeq), step: "polled" }, seq);
  return workObject(session);
}

/** The work of an id, with its session. Rejects when there is none, or another one since. */
async function findWork(engine: Engine, id: string): Promise<{ session: Session; work: WorkState }> {
  const of = sessionIn(id);
  const session = of === null ? null : await engine.session(of);
  const work = session === null ? null : await workStateOf(session);
  if (session !== null && work?.id === id) return { session, work };
  throw new SkeinError("not-found", `there is no work ${id.slice(0, 100)}`);
}

async function workObject(session: Session): Promise<Fields> {
  const work = await workStateOf(session);
  if (work === null) throw new SkeinError("not-found", "there is no work");
  const { standing } = await session.fold();
  const time = (ms: number | null): string | null => (ms === null ? null : timeText(ms));
  return {
    id: work.id,
    type: "work",
    environment_id: standing.labels.get(environmentLabel) ?? "",
    data: { type: "session", id: session.id },
    state: shownStates[work.step],
    // The worker uses its own key.
    secret: null,
    metadata: {},
    created_at: time(work.polledAt),
    acknowledged_at: time(work.acknowledgedAt),
    started_at: time(work.acknowledgedAt),
    latest_heartbeat_at: time(work.beatAt),
    stop_requested_at: time(work.stopAskedAt),
    stopped_at: time(work.stoppedAt),
  };
}

const shownStates: Readonly<Record<WorkStep, string>> = {
  polled: "queued",
  acknowledged: "starting",
  beat: "active",
  stopping: "stopping",
  stopped: "stopped",
};

export async function retrieveWork(engine: Engine, id: string): Promise<Fields> {
  return workObject((await findWork(engine, id)).session);
}

/** A worker has it, and begins. */
export async function acknowledgeWork(engine: Engine, id: string): Promise<Fields> {
  return change(engine, id, async (session, work, seq) => {
    if (work.step === "polled") await write(session, { work: id, step: "acknowledged" }, seq);
    return workObject(session);
  });
}

/** Stops it: at once with `force`, or by the answer to the next heartbeat. */
export async function stopWork(engine: Engine, id: string, { force }: Fields): Promise<Fields> {
  return change(engine, id, async (session, work, seq) => {
    if (work.step === "stopped") throw new SkeinError("refused", `${id} is stopped already`);
    if (force === true) await write(session, { work: id, step: "stopped" }, seq);
    else if (work.step !== "stopping") await write(session, { work: id, step: "stopping" }, seq);
    return workObject(session);
  });
}

/** The answer to a heartbeat; `lost`: another worker may have it. */
export async function beatWork(
  engine: Engine,
  id: string,
  expected: string | null,
): Promise<{ readonly lost: boolean; readonly body: Fields }> {
  return change(engine, id, async (session, work, seq) => {
    const last = work.beatAt === null ? "NO_HEARTBEAT" : timeText(work.beatAt);
    const isOver = work.step === "stopping" || work.step === "stopped";
    const lost = !isOver && expected !== null && expected !== last;
    if (!lost && !isOver) await write(session, { work: id, step: "beat" }, seq);
    const after = (await workStateOf(session)) ?? work;
    const body = {
      type: "work_heartbeat",
      last_heartbeat: after.beatAt === null ? "" : timeText(after.beatAt),
      lease_extended: !lost && !isOver,
      state: shownStates[after.step],
      ttl_seconds: ttlSeconds,
    };
    return { lost, body };
  });
}

const triesMax = 20;

/** Decides on the newest state, again when another append came between. */
async function change<T>(
  engine: Engine,
  id: string,
  decide: (session: Session, work: WorkState, seq: number) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const of = sessionIn(id);
    const seq = of === null ? 0 : (await (await engine.session(of)).head()).seq;
    const { session, work } = await findWork(engine, id);
    try {
      return await decide(session, work, seq);
    } catch (error) {
      if (!isConflict(error) || tries === triesMax) throw error;
    }
  }
}

function numberIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null || text === "") return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new SkeinError("invalid", `${name}: expected an integer from 0`);
}
