/** The cost of a model call: whole nano-dollars from the price per token and the tokens used. */

/** Nano-dollars for one token. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
}

export interface PricedUsage {
  /** All input tokens, including cache reads and cache writes. */
  readonly inputTokens: number;
  /** All output tokens, including reasoning. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
}

/**
 * Rounded up, so that fractions never overdraw a budget. Null if the price or the usage is unknown: an
 * unknown cost is not zero. Cached tokens without a separate price cost as much as input.
 */
export function costOf(price: TokenPrice | null, usage: PricedUsage | null): number | null {
  if (price === null || usage === null) return null;
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const cost =
    (usage.inputTokens - cached - written) * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output;
  // A sum such as 0.1 + 0.2 must not round up because of its last binary digit.
  return Math.ceil(Number(cost.toFixed(6)));
}
