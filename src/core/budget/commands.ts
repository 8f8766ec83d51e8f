/** Commands on budgets and allotments. */
import type { Amounts } from "../state.ts";

/** Limits as people write them: money in dollars. What is not named is unlimited. */
export interface Budget {
  readonly usd?: number;
  readonly tokens?: number;
  readonly steps?: number;
  readonly turns?: number;
  readonly toolCalls?: number;
  readonly wallMs?: number;
}

/** What a session that ends gives back of what it got, and to whom. */
export interface Returned {
  readonly to: string;
  readonly amounts: Amounts;
}

export type BudgetCommand =
  | { readonly do: "budget"; readonly limits: Budget; readonly reason?: string }
  /** What a session that it paid for gives back; one that is over itself passes it on. */
  | {
      readonly do: "regain";
      readonly from: string;
      readonly amounts: Amounts;
      readonly returned?: Returned;
    };
