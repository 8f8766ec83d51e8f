/** The subpath `skein/replay`: what `session.replay` takes and returns. */
export type {
  CallStatus,
  ReplayCall,
  ReplayCallPair,
  ReplayMatch,
  ReplayPair,
  ReplayReport,
  ReplayScores,
  ReplayTotals,
  ReplayTurn,
  ReplayUsage,
} from "../core/turn/run-comparison.ts";
export type { ReplayCheck, ReplayMismatch } from "../runtime/replay/replay-check.ts";
export type { ReplayJudgment, ReplayRun, ReplayScorer } from "../runtime/replay/replay-score.ts";
export type { ReplayOptions, ReplayProgress, ReplayResult } from "../runtime/replay/replay.ts";
