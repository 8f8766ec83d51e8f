/** Cached heads of logs as this process left them. They may be stale: every statement verifies them. */
import type { LogId } from "../../../core/ids.ts";
import { makeCache, type Cache } from "../../../core/cache.ts";
import type { End } from "./records.ts";

export interface CachedHead extends End {
  readonly epoch: number;
  /** As `active_at` in the schema. */
  readonly activeAt: number;
}

export type CachedHeads = Cache<LogId, CachedHead>;

/** Cached heads, at least. */
const headsMin = 20_000;

export const makeHeads = (): CachedHeads => makeCache(headsMin);
