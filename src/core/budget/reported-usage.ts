/** The token usage that a provider reports, validated. */
import type { PricedUsage } from "./price.ts";

export interface ReportedUsage extends PricedUsage {
  readonly reasoningTokens?: number;
}

/** No call uses more; at the highest prices its cost is still a safe integer. */
const tokensMax = 100_000_000;

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= tokensMax;

/**
 * Null if a total is missing or impossible (negative, a fraction, a text, more than any call has): Skein then
 * counts, and keeps the answer. An impossible part, or one above its total, is dropped; its tokens cost as
 * much as the others.
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
