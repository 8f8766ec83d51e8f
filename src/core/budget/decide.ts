/** Decisions on budgets and allotments. */
import type { BudgetCommand, Returned } from "./commands.ts";
import {
  type Decisions,
  type DraftEvent,
  accept,
  amountsOf,
  because,
  draft,
  forbidden,
} from "../decision.ts";
import type { Amounts } from "../state.ts";

export const budgetDecisions: Decisions<BudgetCommand["do"]> = {
  budget: (state, { limits, reason }) => {
    // Somebody who gives a session more wants it to go on.
    const { status, why } = state.standing;
    const goesOn = status === "suspended" && why?.by === "budget" ? [draft("session.activated", {})] : [];
    return (
      forbidden(state, "write", "be given a budget") ??
      accept(draft("budget.set", { limits: amountsOf(limits) }, because(reason)), ...goesOn)
    );
  },
  regain: (state, { from, amounts, returned }) =>
    forbidden(state, "describe", "be given back what it gave") ??
    accept(
      draft("budget.allotted", { session: from, direction: "regained", amounts }),
      ...returnedDrafts(returned),
    ),
};

export const returnedDrafts = (returned: Returned | undefined): readonly DraftEvent[] =>
  returned === undefined
    ? []
    : [draft("budget.allotted", { session: returned.to, direction: "returned", amounts: returned.amounts })];

/** What a session that another one made has to live on. */
export const gotDrafts = (from: string, amounts: Amounts | undefined): readonly DraftEvent[] =>
  amounts === undefined || Object.keys(amounts).length === 0
    ? []
    : [draft("budget.allotted", { session: from, direction: "got", amounts })];
