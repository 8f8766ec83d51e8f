/**
 * Backoff for sessions that could not run: each waits for a while, longer each time, so that it neither spins
 * nor blocks the others. One that fails repeatedly is suspended, with the reason.
 */
import { SkeinError, type ErrorCode } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { dueOf, heldBy } from "../../core/trigger/schedule.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import type { WorkerRow } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import type { WorkerEvent } from "./worker.ts";
import { isFree } from "../read/lease-status.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { modelOf } from "../context/model-settings.ts";

export interface RunBackoff {
  /** How many there are. */
  readonly size: number;
  /** When the session may be retried; 0 when now. */
  untilMs(session: SessionId): number;
  /** When the next of them may be retried. */
  nextMs(): number;
  /**
   * Rejects when it failed before and its model is still unavailable: then it is not taken from other
   * workers, and nothing is written.
   */
  check(session: SessionId): Promise<void>;
  failed(session: SessionId, error: unknown): Promise<void>;
  /** Pauses it for a moment; nothing failed. */
  pause(session: SessionId): void;
  passed(session: SessionId): void;
}

interface Trial {
  readonly times: number;
  readonly untilMs: number;
  /** The end of its log, and how often in a row it was unchanged at the next attempt. */
  readonly seq: number;
  readonly calm: number;
}

const fresh: Trial = { times: 0, untilMs: 0, seq: 0, calm: 0 };

/** Exponential. */
const firstMs = 1_000;
const mostMs = 300_000;
/** Another worker was quicker, as intended. */
const overtakenMs = 50;
const overtaken: readonly ErrorCode[] = ["conflict", "fenced"];
/** Errors that may be temporary, or specific to this worker. */
const passing: readonly ErrorCode[] = ["unavailable", "unknown"];
/** A binding that fails to open with these errors stays missing until a person restores it. */
const lasting = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EISDIR", "ELOOP"];
/** Attempts before it is suspended. */
const timesMax = 3;
const passingTimesMax = 8;
/** Unchanged for so many attempts: 7 to 15 seconds after the first; every worker checks each second. */
const calmMin = 3;

function mayPass(error: unknown): boolean {
  if (!(error instanceof SkeinError) || !passing.includes(error.code)) return false;
  const code = error.cause instanceof Error && "code" in error.cause ? error.cause.code : null;
  return typeof code !== "string" || !lasting.includes(code);
}

export function makeRunBackoff(deps: Deps, worker: string, emit: (event: WorkerEvent) => void): RunBackoff {
  const { writer, store } = deps;
  const trials = new Map<SessionId, Trial>();

  /** Forgets entries that are no longer needed. */
  function forget(): void {
    for (const [session, { untilMs }] of trials)
      if (untilMs + 2 * mostMs < store.now()) trials.delete(session);
  }

  async function modelOfSession(session: SessionId): Promise<string | undefined> {
    const state = await writer.current(session);
    const { agent } = await agentOf(deps, session, state);
    return state.standing.model ?? agent?.model;
  }

  /** Its model is unavailable here, without a key or a provider: only a person can change that. */
  async function lacksModel(session: SessionId, error: unknown): Promise<boolean> {
    if (!(error instanceof SkeinError)) return false;
    return modelOf(deps, await modelOfSession(session)).then(
      () => false,
      (cause: unknown) => cause instanceof SkeinError,
    );
  }

  /** True when none of them has all slots taken, or a limit reached. */
  async function haveRoom(workers: readonly WorkerRow[], session: SessionId): Promise<boolean> {
    const [row] = await store.scheduled([session]);
    const leased = (await store.leased()).filter(({ lease }) => !isFree(deps, lease));
    const runs = (name: string): number =>
      leased.filter(({ lease }) => `${lease?.holder}@`.startsWith(`${name}@`)).length;
    const limits = workers.flatMap((one) => one.limits);
    const isHeld = row === undefined || row.copy === true || heldBy(row, leased, limits) !== null;
    return !isHeld && workers.every(({ name, concurrency }) => runs(name) < concurrency);
  }

  /** True after enough attempts. */
  async function isHopeless(session: SessionId, error: unknown, { times, calm }: Trial): Promise<boolean> {
    const most = mayPass(error) ? passingTimesMax : timesMax;
    if (!(await lacksModel(session, error))) return times >= most;
    // Another worker may have the missing key. It would have taken the session by now, if it has a slot.
    const others = (await store.workers()).filter(
      ({ name, untilMs }) => name !== worker && untilMs > store.now(),
    );
    if (others.length === 0) return true;
    return calm < calmMin ? times >= most : haveRoom(others, session);
  }

  async function suspended(session: SessionId, error: unknown): Promise<boolean> {
    const text = errorText(error);
    const build = ({ standing, ...state }: State) => {
      const stands = dueOf({ standing, ...state }) === 0 && !standing.lease.held;
      if (!stands) throw new SkeinError("conflict", `${session} has changed since it was read`);
      const reason = `it could not be run: ${text}`.slice(0, limit.reasonCharsMax);
      return { do: "suspend", by: "error", reason } as const;
    };
    return writer.change(session, build, { actor: "system" }).then(
      () => true,
      () => false,
    );
  }

  return {
    get size() {
      return trials.size;
    },
    untilMs(session) {
      const atMs = trials.get(session)?.untilMs ?? 0;
      // Further ahead than any backoff: the clock went back.
      return atMs > store.now() + mostMs ? 0 : atMs;
    },
    nextMs() {
      const times = [...trials.values()].map(({ untilMs }) => untilMs);
      return Math.min(Infinity, ...times.filter((atMs) => atMs > store.now()));
    },
    async check(session) {
      if ((trials.get(session)?.times ?? 0) > 0) await modelOf(deps, await modelOfSession(session));
    },
    async failed(session, error) {
      const code = error instanceof SkeinError ? error.code : null;
      forget();
      if (code !== null && overtaken.includes(code)) return this.pause(session);
      const head = await store.head(session).catch(() => null);
      if (head === undefined) return void trials.delete(session);
      const before = trials.get(session) ?? fresh;
      const times = before.times + 1;
      const againMs = Math.min(mostMs, firstMs * 2 ** (times - 1));
      const seq = head?.seq ?? 0;
      const calm = seq === before.seq ? before.calm + 1 : 0;
      const trial = { times, untilMs: store.now() + againMs, seq, calm };
      trials.set(session, trial);
      const hopeless = await isHopeless(session, error, trial).catch(() => false);
      const isOver = hopeless && (await suspended(session, error));
      if (isOver) trials.delete(session);
      emit({ type: "failed", session, error, againMs: isOver ? null : againMs });
    },
    pause(session) {
      trials.set(session, { ...(trials.get(session) ?? fresh), untilMs: store.now() + overtakenMs });
    },
    passed: (session) => void trials.delete(session),
  };
}
