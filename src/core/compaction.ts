/** Compaction, planned: when a context must become smaller, and where the range that is replaced ends. Pure. */
import { limit } from "./limit.ts";

/** What a model needs to give an answer that is of any use; in a small window that is less. */
export const usefulAnswerTokens = (windowTokens: number): number =>
  Math.max(limit.outputTokensMin, Math.min(1_024, Math.floor(windowTokens / 16)));

/** Whether a context of so many tokens is compacted before it is sent. */
export function isOverfull(
  tokens: number,
  windowTokens: number,
  { auto, atShare }: { readonly auto: boolean; readonly atShare: number },
): boolean {
  if (auto && tokens >= atShare * windowTokens) return true;
  return tokens + usefulAnswerTokens(windowTokens) > windowTokens;
}
