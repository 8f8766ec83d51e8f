/** Compress: an explicitly requested compaction of a session that is not running. */
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { compactNow } from "./compact.ts";
import { gatherCrew } from "./run-context.ts";
import { takeDrive } from "./drive.ts";
import { keepLease } from "./lease-keeper.ts";
import type { Deps } from "../deps.ts";
import { writtenBefore } from "../log/workspace-log.ts";
import { agentOf } from "../workspace/session-agent.ts";

const strategies = ["prune", "summarize", "extract"] as const;
/** The strategies of `session.compress`. */
export type CompressStrategy = (typeof strategies)[number];

/** The result of `session.compress`. */
export interface CompressResult {
  /** False when nothing could be made smaller. */
  readonly compacted: boolean;
  readonly seq: number;
}

export async function compressSession(
  deps: Deps,
  session: SessionId,
  options: { readonly strategy?: CompressStrategy; readonly instructions?: string },
): Promise<CompressResult> {
  const { strategy } = options;
  if (strategy !== undefined && !strategies.includes(strategy)) {
    throw new SkeinError("invalid", `compress: strategy: unknown strategy ${quote(strategy)}`, {
      hint: `one of ${strategies.join(", ")}`,
    });
  }
  const before = await writtenBefore(deps, session);
  // Unless that records a failed summary because the transcript had changed.
  if (before !== null && before.type !== "model.failed") return { compacted: true, seq: before.seq };
  const { actor } = await agentOf(deps, session, await deps.writer.current(session));
  await using drive = await takeDrive(deps, session, { actor });
  await using keeper = keepLease(deps, drive);
  const state = await drive.state();
  await using runContext = await gatherCrew(deps, session, state, { signal: keeper.signal });
  const step = { deps, drive, runContext, signal: keeper.signal, lesson: null, asked: before === null };
  const compacted = await compactNow(step, { reason: "asked", ...options });
  return { compacted, seq: (await drive.state()).seq };
}
