/**
 * Runs of this process: at most one a session. A run continues without subscribers; only an interrupt, a
 * cancellation or the end of the engine stops it.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { firstError } from "../../core/first-error.ts";
import { runSession, type RunResult, type RunRequest } from "./runner.ts";
import type { Deps } from "../deps.ts";

export interface Runs {
  /**
   * Runs the session here, or joins its current run; input that came too late for that one gets another run.
   * `within`: with other models or tools than the engine's.
   */
  run(session: SessionId, options?: RunRequest, within?: Deps): Promise<RunResult>;
  /**
   * Stops every run before its next step, and resolves when all have released their lease; a slow one is
   * abandoned to the next runner.
   */
  stop(): Promise<void>;
}

export function makeRuns(deps: () => Deps): Runs {
  const going = new Map<SessionId, { readonly ran: Promise<RunResult>; readonly isHeld: boolean }>();
  const stopping = new AbortController();

  async function run(session: SessionId, options: RunRequest = {}, within = deps()): Promise<RunResult> {
    const before = going.get(session);
    if (before !== undefined) {
      // The caller of that run has changed the session already, or is about to.
      if (options.expectSeq !== undefined)
        throw new SkeinError("conflict", `session ${session} is already running in this process`, {
          hint: "wait for the current run",
        });
      const ran = await before.ran.catch((error: unknown) => {
        // It was bound to a position that only its own caller named.
        if (before.isHeld && error instanceof SkeinError && error.code === "conflict") return null;
        throw error;
      });
      if (ran === null) return run(session, options, within);
      // The run may have read the inbox for the last time just before this call.
      const { standing } = await within.writer.current(session);
      const waits = standing.inbox.waiting.length > 0 && standing.status === "open";
      return waits ? run(session, options, within) : ran;
    }
    if (stopping.signal.aborted) throw new SkeinError("unavailable", "the engine is closed");
    const signals = options.signal === undefined ? [] : [options.signal];
    const signal = AbortSignal.any([stopping.signal, ...signals]);
    const mine = runSession(within, session, { ...options, signal }).catch((error: unknown) => {
      // If the store fails, so does releasing the lease: the first error is the one to report.
      throw firstError(error);
    });
    going.set(session, { ran: mine, isHeld: options.expectSeq !== undefined });
    const leave = (): void => void going.delete(session);
    mine.then(leave, leave);
    return mine;
  }

  return {
    run,
    async stop() {
      stopping.abort();
      const ended = new AbortController();
      const all = Promise.allSettled([...going.values()].map(({ ran }) => ran)).then(() => ended.abort());
      await Promise.race([all, deps().world.sleep(limit.closeGraceMs, ended.signal)]);
    },
  };
}
