/** Replay: every hash that the log says of itself is computed again. */
import { checkOptions } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import { recompute, type CheckOptions, type ReplayCheck } from "./replay-check.ts";
import type { Context } from "./session.ts";

export type { ReplayCheck } from "./replay-check.ts";
export type ReplayOptions = CheckOptions;

export async function replaySession(
  context: Context,
  session: SessionId,
  options: ReplayOptions = {},
): Promise<ReplayCheck> {
  checkOptions("replay", options, ["progress", "signal"]);
  return recompute(context, session, options);
}
