/**
 * A rate limit: a token bucket for each key, which holds so many requests and refills at a steady rate. An
 * unused key is forgotten, and starts with a full bucket.
 */
import { makeCache } from "../../core/cache.ts";

/** How often: the bucket's size and how fast it refills. */
export interface RateSize {
  readonly perSecond: number;
  /** The size of a full bucket. */
  readonly burst: number;
}

export interface RateOptions extends RateSize {
  /** The minimum number of remembered keys; at most twice as many. */
  readonly keysMin: number;
  /** Milliseconds of a monotonic clock. */
  readonly clock: () => number;
}

/** What is left of a bucket after a request. */
export interface RateTaken extends RateSize {
  /** 0: the request was taken. Else the milliseconds until the next one. */
  readonly waitMs: number;
  /** Requests that are left at once. */
  readonly left: number;
}

export interface Rate {
  /** Takes one request; `own` replaces the size for this key. */
  take(key: string, own?: RateSize | null): RateTaken;
}

/**
 * A limit as response headers, as the IETF draft "RateLimit header fields for HTTP" spells them: a full
 * bucket and the seconds that fill it; what is left and the seconds until the bucket is full again.
 */
export function rateHeaders(taken: Omit<RateTaken, "waitMs">): Readonly<Record<string, string>> {
  const { perSecond, burst, left } = taken;
  return {
    "ratelimit-policy": `"token";q=${burst};w=${Math.ceil(burst / perSecond)}`,
    ratelimit: `"token";r=${left};t=${Math.ceil((burst - left) / perSecond)}`,
  };
}

export function makeRate({ keysMin, clock, ...usual }: RateOptions): Rate {
  const buckets = makeCache<string, { left: number; atMs: number }>(keysMin);
  return {
    take(key, own) {
      const { perSecond, burst } = own ?? usual;
      const nowMs = clock();
      const bucket = buckets.get(key) ?? { left: burst, atMs: nowMs };
      buckets.set(key, bucket);
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(burst, bucket.left + (passedMs * perSecond) / 1_000);
      bucket.atMs = nowMs;
      // A client that waited as requested gets one, however the fractions add up.
      const waitMs = bucket.left < 1 - 1e-9 ? Math.ceil(((1 - bucket.left) * 1_000) / perSecond) : 0;
      if (waitMs === 0) bucket.left -= 1;
      return { waitMs, left: Math.max(0, Math.floor(bucket.left + 1e-9)), perSecond, burst };
    },
  };
}
