/**
 * Sessions that could not be run: each is left alone for a while, longer each time, so that it neither spins
 * nor keeps the others from their turn. One that fails again and again is suspended, and says why.
 */
import { SkeinError, type ErrorCode } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { dueOf } from "../../core/schedule.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/suppressed.ts";
import { agentOf, modelOf } from "../crew.ts";
import type { Context } from "../engine-context.ts";
import type { Told } from "./worker.ts";

export interface Trials {
  /** How many there are. */
  readonly size: number;
  /** Until when the session is left alone; 0 when it may be tried. */
  untilMs(session: SessionId): number;
  /** When the next of them may be tried. */
  nextMs(): number;
  failed(session: SessionId, error: unknown): Promise<void>;
  /** Leaves it alone for a moment; nothing failed. */
  pause(session: SessionId): void;
  passed(session: SessionId): void;
}

interface Trial {
  readonly times: number;
  readonly untilMs: number;
}

/** Twice as long each time. */
const firstMs = 1_000;
const mostMs = 300_000;
/** Somebody else was quicker: that is how it should be. */
const overtakenMs = 50;
const overtaken: readonly ErrorCode[] = ["conflict", "fenced"];
/** May be well again by itself, or on another worker. */
const passing: readonly ErrorCode[] = ["unavailable", "unknown"];
/** What is bound and cannot be opened for such a reason is not there until somebody puts it there. */
const lasting = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "EISDIR", "ELOOP"];
/** How often it is tried before it is suspended. */
const timesMax = 3;
const passingTimesMax = 8;

function mayPass(error: unknown): boolean {
  if (!(error instanceof SkeinError) || !passing.includes(error.code)) return false;
  const code = error.cause instanceof Error && "code" in error.cause ? error.cause.code : null;
  return typeof code !== "string" || !lasting.includes(code);
}

export function makeTrials(context: Context, worker: string, tell: (told: Told) => void): Trials {
  const { world, writer, store } = context;
  const trials = new Map<SessionId, Trial>();

  /** Those that nobody needs to remember any more. */
  function forget(): void {
    for (const [session, { untilMs }] of trials)
      if (untilMs + 2 * mostMs < world.now()) trials.delete(session);
  }

  /** Its model cannot be had here, for want of a key or of a provider: only a person can change that. */
  async function lacksModel(session: SessionId, error: unknown): Promise<boolean> {
    if (!(error instanceof SkeinError)) return false;
    try {
      const state = await writer.current(session);
      const { agent } = await agentOf(context, session, state);
      const asked = modelOf(context, state.standing.model ?? agent?.model);
      return await asked.then(
        () => false,
        (cause: unknown) => cause instanceof SkeinError,
      );
    } catch {
      return false;
    }
  }

  /** Another worker may have the key that is missing here. */
  async function isAlone(): Promise<boolean> {
    const others = (await store.workers()).filter(({ name }) => name !== worker);
    return others.every(({ untilMs }) => untilMs <= store.now());
  }

  async function timesFor(session: SessionId, error: unknown): Promise<number> {
    if ((await lacksModel(session, error)) && (await isAlone().catch(() => false))) return 1;
    return mayPass(error) ? passingTimesMax : timesMax;
  }

  async function suspended(session: SessionId, error: unknown): Promise<boolean> {
    const text = errorText(error);
    const build = ({ standing, ...state }: State) => {
      const stands = dueOf({ standing, ...state }) === 0 && !standing.lease.held;
      if (!stands) throw new SkeinError("conflict", `${session} changed in the meantime`);
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
      // Further ahead than anything is ever put off: the clock went back.
      return atMs > world.now() + mostMs ? 0 : atMs;
    },
    nextMs() {
      const times = [...trials.values()].map(({ untilMs }) => untilMs);
      return Math.min(Infinity, ...times.filter((atMs) => atMs > world.now()));
    },
    async failed(session, error) {
      const code = error instanceof SkeinError ? error.code : null;
      forget();
      if (code !== null && overtaken.includes(code)) return this.pause(session);
      if ((await store.head(session).catch(() => null)) === undefined) return void trials.delete(session);
      const times = (trials.get(session)?.times ?? 0) + 1;
      const againMs = Math.min(mostMs, firstMs * 2 ** (times - 1));
      trials.set(session, { times, untilMs: world.now() + againMs });
      const isOver = times >= (await timesFor(session, error)) && (await suspended(session, error));
      if (isOver) trials.delete(session);
      tell({ told: "failed", session, error, againMs: isOver ? null : againMs });
    },
    pause(session) {
      const times = trials.get(session)?.times ?? 0;
      trials.set(session, { times, untilMs: world.now() + overtakenMs });
    },
    passed: (session) => void trials.delete(session),
  };
}
