/** Folds of budgets and allotments. */
import type { budgetEvents } from "./events.ts";
import { type CallBody, isFailure, openSpend, settledSpend, type SettlingType, type Spend } from "./money.ts";
import { drawMore } from "../project/budget.ts";
import { type Folds, stand } from "../state-change.ts";
import { type State, type UsedAmounts, resources, type Amounts } from "../state.ts";

export const budgetFolds: Folds<keyof typeof budgetEvents> = {
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
  "budget.drawn": (state, { body }) => stand(state, { drawn: drawMore(state.standing, body.amounts) }),
  "budget.reached": (state) => state,
};

/** Limits with amounts added or subtracted. A session without limits gets exactly its allotment. */
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

export function plus(used: UsedAmounts, amounts: Amounts, sign: 1 | -1): UsedAmounts {
  return {
    tokens: used.tokens + sign * (amounts.tokens ?? 0),
    nanoUsd: used.nanoUsd + sign * (amounts.nanoUsd ?? 0),
    steps: used.steps + sign * (amounts.steps ?? 0),
    turns: used.turns + sign * (amounts.turns ?? 0),
    toolCalls: used.toolCalls + sign * (amounts.toolCalls ?? 0),
    wallMs: used.wallMs + sign * (amounts.wallMs ?? 0),
  };
}

/** Adds the money and tokens of the record that settles a call. No other record does. */
export function settleCall(state: State, type: SettlingType, body: CallBody): State {
  const { reserved } = state.standing;
  const spend = settledSpend(type, body, reserved?.amounts ?? null);
  if (spend === null) return state;
  if (body.released !== undefined) return stand(count(state, spend), { lost: null });
  const { usage, costNanoUsd = null, unconfirmed } = body;
  const isUnknown = isFailure(type) && costNanoUsd === null;
  const isLost = reserved !== null && isUnknown && (usage === undefined || unconfirmed === undefined);
  const counted = stand(count(state, spend), { reserved: null });
  if (!isLost) return counted;
  const { seq, amounts } = reserved;
  return stand(countOthers(counted, amounts), { lost: { seq, amounts } });
}

/** The other amounts of a reservation, besides tokens and money. */
const countOthers = (state: State, { tokens: _, nanoUsd: __, ...others }: Amounts): State =>
  stand(state, { used: plus(state.standing.used, others, 1) });

function count(state: State, spend: Spend): State {
  const { used, unpriced, calls } = state.standing;
  const { nanoUsd, unpriced: unknown, ...counts } = spend;
  const tokens = counts.inputTokens + counts.outputTokens + counts.unconfirmedTokens;
  return stand(state, {
    used: {
      ...used,
      tokens: used.tokens + tokens,
      nanoUsd: used.nanoUsd + nanoUsd + counts.unconfirmedNanoUsd,
    },
    unpriced: unpriced + unknown,
    calls: {
      calls: calls.calls + counts.calls,
      inputTokens: calls.inputTokens + counts.inputTokens,
      outputTokens: calls.outputTokens + counts.outputTokens,
      estimated: calls.estimated + counts.estimated,
      unconfirmedTokens: calls.unconfirmedTokens + counts.unconfirmedTokens,
      unconfirmedNanoUsd: calls.unconfirmedNanoUsd + counts.unconfirmedNanoUsd,
    },
  });
}

/** An unsettled request belongs to a crashed call: the most it can have cost counts. */
export function loseOpenCall(state: State): State {
  const { reserved } = state.standing;
  if (reserved === null) return state;
  return countOthers(count(state, openSpend(reserved.amounts)), reserved.amounts);
}
