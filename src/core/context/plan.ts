/**
 * The plan of a context: what it shows of items, memory and documents. It is made once, at a boundary (the
 * opening, a compaction, a rewind, a migration, a lifted overlay), logged as `context.planned` with the first
 * request after it, and read by the renderer, which chooses nothing. So nothing that was sent moves before
 * the next boundary.
 */
import type { BodyOf, ContentOf } from "../catalog.ts";
import type { ContextShares } from "./tiers.ts";

/** What was chosen: positions of items, characters of documents, numbers of memory entries. */
export type PlanChoice = NonNullable<ContentOf<"context.planned">>;

/** A plan that is not yet logged. */
export interface PlanDraft {
  readonly body: BodyOf<"context.planned">;
  readonly choice: PlanChoice;
}

/** What a plan is made for. */
export interface Planning {
  readonly windowTokens: number;
  readonly shares?: ContextShares | undefined;
}
