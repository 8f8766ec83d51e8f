/** The token usage that a provider reports, as far as it can be true. */
import type { TokenUsage } from "./price.ts";

export interface ReportedUsage extends TokenUsage {
  readonly reasoningTokens?: number;
}

/** No call has more; with the highest prices its cost is still a safe integer. */
const tokensMax = 100_000_000;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= tokensMax;

/**
 * Null where a total is missing or impossible (negative, a fraction, a text, more than any call has): Skein
 * then counts by itself, and the answer is kept. A part that is impossible, or more than its total, is left
 * out; its tokens cost what the others cost.
 */
export function readUsage(reported: unknown): ReportedUsage | null {
  if (typeof reported !== "object" || reported === null) return null;
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } =
    reported as Partial<Record<keyof ReportedUsage, unknown>>;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return null;
  const part = (name: keyof ReportedUsage, value: unknown, most: number): Partial<ReportedUsage> =>
    isCount(value) && value <= most ? { [name]: value } : {};
  const cached = part("cachedInputTokens", cachedInputTokens, inputTokens);
  return {
    inputTokens,
    outputTokens,
    ...cached,
    ...part("cacheWriteTokens", cacheWriteTokens, inputTokens - (cached.cachedInputTokens ?? 0)),
    ...part("reasoningTokens", reasoningTokens, outputTokens),
  };
}
