/** What a session gives a child: a share of its budget, and its depth. */
import type { Budget } from "../../core/budget/commands.ts";
import { budgetLeft } from "../../core/budget/budget.ts";
import { amountsOf } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { resources, type Amounts, type State } from "../../core/state.ts";

/** The depth of a child. */
export function depthBelow({ standing: { depth } }: State): number {
  if (depth < limit.childDepthMax) return depth + 1;
  throw new SkeinError("refused", `child sessions are nested at most ${limit.childDepthMax} deep`, {
    hint: "do the work in this session",
  });
}

/** For each limit of the parent: what was asked for if available, else a quarter of what is left. */
export function allotment(state: State, asked: Budget | undefined): Amounts {
  const left = budgetLeft(state);
  const wanted = asked === undefined ? {} : amountsOf(asked);
  const given: Record<string, number> = {};
  for (const resource of resources) {
    const rest = left[resource];
    const want = wanted[resource];
    if (rest === undefined && want === undefined) continue;
    const amount = want ?? Math.floor((rest ?? 0) / 4);
    if (rest !== undefined && amount > rest) {
      throw new SkeinError("refused", `budget: ${resource}: expected at most ${rest}, got ${amount}`, {
        hint: "grant the child less, or raise this session's budget",
      });
    }
    given[resource] = amount;
  }
  return given;
}
