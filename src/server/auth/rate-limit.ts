/**
 * A rate limit: a token bucket for each key, which holds so many requests and refills at a steady rate. An
 * unused key is forgotten, and starts with a full bucket.
 */
import { makeCache } from "../../core/cache.ts";

export interface RateOptions {
  readonly perSecond: number;
  /** The size of a full bucket. */
  readonly burst: number;
  /** The minimum number of remembered keys; at most twice as many. */
  readonly keysMin: number;
  /** Milliseconds of a monotonic clock. */
  readonly clock: () => number;
}

export interface Rate {
  /** Takes one request. Returns 0, or the milliseconds until the next one. */
  take(key: string): number;
}

export function makeRate({ perSecond, burst, keysMin, clock }: RateOptions): Rate {
  const buckets = makeCache<string, { left: number; atMs: number }>(keysMin);
  return {
    take(key) {
      const nowMs = clock();
      const bucket = buckets.get(key) ?? { left: burst, atMs: nowMs };
      buckets.set(key, bucket);
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(burst, bucket.left + (passedMs * perSecond) / 1_000);
      bucket.atMs = nowMs;
      // A client that waited as requested gets one, however the fractions add up.
      if (bucket.left < 1 - 1e-9) return Math.ceil(((1 - bucket.left) * 1_000) / perSecond);
      bucket.left -= 1;
      return 0;
    },
  };
}
