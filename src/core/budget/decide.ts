/** Decisions on budgets and allotments. */
import type { BudgetCommand, Refund } from "./commands.ts";
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
    // A person who raises a budget wants the session to continue.
    const { status, why } = state.standing;
    const goesOn = status === "suspended" && why?.by === "budget" ? [draft("session.activated", {})] : [];
    return (
      forbidden(state, "write", "be given a budget") ??
      accept(draft("budget.set", { limits: amountsOf(limits) }, because(reason)), ...goesOn)
    );
  },
  regain: (state, { from, amounts, returned }) =>
    forbidden(state, "describe", "take back a budget that it granted") ??
    accept(
      draft("budget.allotted", { session: from, direction: "regained", amounts }),
      ...returnedDrafts(returned),
    ),
};

export const returnedDrafts = (returned: Refund | undefined): readonly DraftEvent[] =>
  returned === undefined
    ? []
    : [draft("budget.allotted", { session: returned.to, direction: "returned", amounts: returned.amounts })];

/** The allotment of a session that another one made. */
export const gotDrafts = (from: string, amounts: Amounts | undefined): readonly DraftEvent[] =>
  amounts === undefined || Object.keys(amounts).length === 0
    ? []
    : [draft("budget.allotted", { session: from, direction: "got", amounts })];
