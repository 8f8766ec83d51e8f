/** Heads of logs as this process left them. They may be out of date: every statement judges for itself. */
import type { LogId } from "../../../core/ids.ts";
import { makeKept, type Kept } from "../../../core/cache.ts";
import type { End } from "./records.ts";

export interface KnownHead extends End {
  readonly epoch: number;
  /** As `active_at` in the schema. */
  readonly activeAt: number;
}

export type Heads = Kept<LogId, KnownHead>;

/** Heads kept at hand, at least. */
const headsMin = 20_000;

export const makeHeads = (): Heads => makeKept(headsMin);
