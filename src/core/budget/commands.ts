/** Commands on budgets and allotments. */
import type { Amounts } from "../state.ts";

/** Limits as people write them, with money in dollars. Without a limit, a resource is unlimited. */
export interface Budget {
  readonly usd?: number;
  readonly tokens?: number;
  readonly steps?: number;
  readonly turns?: number;
  readonly toolCalls?: number;
  readonly wallMs?: number;
}

/** The refund of a session that ends, and its payer. */
export interface Refund {
  readonly to: string;
  readonly amounts: Amounts;
}

export type BudgetCommand =
  | { readonly do: "budget"; readonly limits: Budget; readonly reason?: string }
  /** A refund from a session that this one paid for; a closed session passes it on. */
  | {
      readonly do: "regain";
      readonly from: string;
      readonly amounts: Amounts;
      readonly returned?: Refund;
    };
