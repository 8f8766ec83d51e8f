/**
 * Replay: recomputes every hash that the log records; or, from a position on, runs the session again into a
 * fork, and compares both.
 */
import { checkCall } from "../../call/check.ts";
import type { Budget } from "../../core/budget/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { ReplayReport } from "../../core/turn/run-comparison.ts";
import { recompute, type ReplayCheck } from "./replay-check.ts";
import type { ReplayScorer } from "./replay-score.ts";
import type { Deps } from "../deps.ts";

/** Options of `session.replay`. */
export interface ReplayOptions {
  /**
   * The turns that had not ended here run again, in a fork that leaves right before the first of them. If
   * absent, nothing runs, and every hash is recomputed.
   */
  readonly from?: number | string;
  /** `provider/model`; defaults to the original's. */
  readonly model?: string;
  /** Replaces the agent's instructions. The session's own stay. */
  readonly instructions?: string;
  /**
   * `recorded`, the default: calls get the original's results, and an unrecorded call is an error. `live`: an
   * unrecorded call runs if it only reads.
   */
  readonly tools?: "recorded" | "live";
  /** The name of the fork. */
  readonly name?: string;
  readonly budget?: Budget;
  /**
   * Scores both runs. The fork records its scores; those of the original are only in the report, and only
   * where the original has no score of that name.
   */
  readonly score?: ReplayScorer;
  readonly progress?: (progress: ReplayProgress) => void;
  /** Aborted: interrupts the repeated turn, and the report says so. */
  readonly signal?: AbortSignal;
}

/** The progress. */
export interface ReplayProgress {
  readonly what: "records" | "turns";
  readonly done: number;
  readonly of: number;
}

/** The result of `session.replay`: a report with `from`, else a check. */
export type ReplayResult<O extends ReplayOptions> = O extends { readonly from: number | string }
  ? ReplayReport
  : ReplayCheck;

export async function replaySession<O extends ReplayOptions>(
  deps: Deps,
  session: SessionId,
  options?: O,
): Promise<ReplayResult<O>> {
  const given: ReplayOptions = options ?? {};
  checkReplay(given);
  const { from, progress: tell, signal, ...rest } = given;
  const progress =
    (what: ReplayProgress["what"]) =>
    (done: number, of: number): void =>
      tell?.({ what, done, of });
  if (from === undefined)
    return (await recompute(deps, session, { progress: progress("records"), signal })) as ReplayResult<O>;
  const { rerun } = await import("./replay-run.ts");
  const run = { ...rest, from, progress: progress("turns"), signal };
  return (await rerun(deps, session, run)) as ReplayResult<O>;
}

const forRuns = ["model", "instructions", "tools", "name", "budget", "score"] as const;

function checkReplay(options: ReplayOptions): void {
  checkCall("session.replay", options);
  const { from, score } = options;
  const idle = forRuns.find((name) => options[name] !== undefined);
  if (from === undefined && idle !== undefined) {
    throw new SkeinError("invalid", `replay: ${idle}: requires from`, {
      hint: "pass from: a position or a checkpoint",
    });
  }
  for (const name of ["model", "instructions", "name"] as const) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === "string" && value.trim() !== "")) continue;
    throw new SkeinError("invalid", `replay: ${name}: expected a string, got ${quote(value)}`, {
      hint: "pass a string",
    });
  }
  if (score !== undefined && typeof score !== "function")
    throw new SkeinError("invalid", `replay: score: expected a function, got ${quote(score)}`, {
      hint: "pass a function",
    });
}
