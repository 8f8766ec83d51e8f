/** Money as the API has it: whole cents as a decimal text. Skein counts nano-dollars. */
import { invalid, isFields } from "./values.ts";

const nanoPerCent = 10_000_000;

export interface MonetaryAmount {
  readonly amount: string;
  readonly currency: "USD";
}

/** Rounded up: a client never sees less than was spent. */
export const centsOf = (nanoUsd: number): MonetaryAmount => ({
  amount: String(Math.ceil(nanoUsd / nanoPerCent)),
  currency: "USD",
});

/** The limit of a budget in dollars; null: no budget. */
export function budgetUsd(budget: unknown): number | null {
  if (budget === undefined || budget === null) return null;
  const { type, max_list_cost: cost } = isFields(budget) ? budget : {};
  const { amount, currency } = isFields(cost) ? cost : {};
  const isAmount = typeof amount === "string" && /^(0|[1-9]\d{0,10})$/.test(amount);
  if (type !== "limit" || !isAmount || currency !== "USD")
    throw invalid('budget: expected { type: "limit", max_list_cost: { amount: "2500", currency: "USD" } }');
  return Number(amount) / 100;
}

export const budgetOf = (limitNanoUsd: number | undefined) =>
  limitNanoUsd === undefined ? null : { type: "limit", max_list_cost: centsOf(limitNanoUsd) };
