/**
 * How often somebody may ask: a bucket for each, which holds so many requests and fills at a steady rate.
 * Whoever was not heard of for long is forgotten, and begins with a full one.
 */
import { makeKept } from "../../core/cache.ts";

export interface RateOptions {
  readonly perSecond: number;
  /** What a full bucket holds. */
  readonly burst: number;
  /** How many are remembered, at least; at most twice as many. */
  readonly keysMin: number;
  /** Milliseconds by a clock that nobody sets. */
  readonly clock: () => number;
}

export interface Rate {
  /** Takes one request out. Gives 0, or after how many milliseconds there will be one. */
  take(key: string): number;
}

export function makeRate({ perSecond, burst, keysMin, clock }: RateOptions): Rate {
  const buckets = makeKept<string, { left: number; atMs: number }>(keysMin);
  return {
    take(key) {
      const nowMs = clock();
      const bucket = buckets.get(key) ?? { left: burst, atMs: nowMs };
      buckets.set(key, bucket);
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(burst, bucket.left + (passedMs * perSecond) / 1_000);
      bucket.atMs = nowMs;
      // Whoever waited as long as they were told gets one, however the fractions add up.
      if (bucket.left < 1 - 1e-9) return Math.ceil(((1 - bucket.left) * 1_000) / perSecond);
      bucket.left -= 1;
      return 0;
    },
  };
}
