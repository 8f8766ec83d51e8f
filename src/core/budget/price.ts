/** What a model call costs: whole nano-dollars from a price a token and the tokens used. */

/** Nano-dollars for one token. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
}

export interface TokenUsage {
  /** All input tokens: also those read from a cache and those written to one. */
  readonly inputTokens: number;
  /** All output tokens: also those of reasoning. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
}

/**
 * Rounded up, so that a budget is never overdrawn by a fraction. Null when the price or the usage is unknown:
 * an unknown cost is not a cost of zero. Tokens of a cache without a price of its own cost what input costs.
 */
export function costOf(price: TokenPrice | null, usage: TokenUsage | null): number | null {
  if (price === null || usage === null) return null;
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const cost =
    (usage.inputTokens - cached - written) * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output;
  // A sum such as 0.1 + 0.2 must not be rounded up for its last binary digit.
  return Math.ceil(Number(cost.toFixed(6)));
}
