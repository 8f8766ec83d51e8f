/** Folds of governance: budgets, erasure, holds, scores. */
import type { governanceEvents } from "../catalog/governance.ts";
import type { Folds } from "../fold.ts";
import * as range from "../range.ts";
import { resources, type Amounts } from "../state.ts";
import { stand } from "./session.ts";
import { plus } from "./turn.ts";

export const governanceFolds: Folds<keyof typeof governanceEvents> = {
  "budget.set": (state, { body }) => stand(state, { limits: body.limits }),
  "budget.allotted": (state, { body }) => {
    const { allotted, limits } = state.standing;
    switch (body.direction) {
      case "given":
        return stand(state, { allotted: plus(allotted, body.amounts, 1) });
      case "regained":
        return stand(state, { allotted: plus(allotted, body.amounts, -1) });
      case "got": {
        const payer = { session: body.session, amounts: body.amounts };
        return stand(state, { limits: raise(limits, body.amounts, 1), payer });
      }
      case "returned": {
        const { payer } = state.standing;
        const rest = payer && { ...payer, amounts: raise(payer.amounts, body.amounts, -1) };
        return stand(state, { limits: raise(limits, body.amounts, -1), payer: rest });
      }
    }
  },
  "budget.reached": (state) => state,
  "content.erased": (state, { body }) => {
    const { ranges, records, bytes } = state.standing.erased;
    return stand(state, {
      erased: {
        ranges: range.union(ranges, body.ranges),
        records: records + body.records,
        bytes: bytes + body.bytes,
      },
    });
  },
  "hold.set": (state, { body, seq }) => stand(state, { holds: state.standing.holds.set(body.name, seq) }),
  "hold.lifted": (state, { body }) => stand(state, { holds: state.standing.holds.delete(body.name) }),
  "score.recorded": (state, { body, seq }) =>
    stand(state, { scores: state.standing.scores.set(body.name, { value: body.value, seq }) }),
};

/** Limits with amounts added or taken. An allotment is all there is for one who had no limit before. */
function raise(limits: Amounts, amounts: Amounts, sign: 1 | -1): Amounts {
  const next: Record<string, number> = {};
  for (const resource of resources) {
    const before = limits[resource];
    const amount = amounts[resource];
    if (before === undefined && (amount === undefined || sign < 0)) continue;
    next[resource] = (before ?? 0) + sign * (amount ?? 0);
  }
  return next;
}
