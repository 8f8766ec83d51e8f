/**
 * The budget of a project. A session draws a part of it before a call, in one append of both logs, and what
 * it has not used returns by itself with the end of its turn: then the session may use no more than it has,
 * and the project takes the rest back when it needs it. So the sum of what all sessions may use never exceeds
 * the budget, however many run at once.
 */
import { moneyText } from "../text/money.ts";
import type { Amounts, Spendable, Standing } from "../state.ts";

/** The resources that a project bounds. */
export const spendables = ["tokens", "nanoUsd"] as const;

/** The budget of a project, from its log. Null before it was given one. */
export interface ProjectBudget {
  readonly limits: Amounts;
  /** Used before it had a budget. */
  readonly spent: Spendable;
  /** By session: given, minus what came back. */
  readonly given: ReadonlyMap<string, Spendable>;
}

/** What a session holds of the budget: used or set aside. */
export type Holder = Pick<Standing, "used" | "reserved" | "drawn">;

export const nothing: Spendable = { tokens: 0, nanoUsd: 0 };

export const plusSpendable = (a: Spendable, b: Amounts, sign: 1 | -1 = 1): Spendable => ({
  tokens: a.tokens + sign * (b.tokens ?? 0),
  nanoUsd: a.nanoUsd + sign * (b.nanoUsd ?? 0),
});

/** Used, and set aside for the call in flight. */
const takenOf = ({ used, reserved }: Pick<Holder, "used" | "reserved">): Spendable =>
  plusSpendable(used, reserved?.amounts ?? {});

/** What the session may still use of what it has drawn; negative when a call cost more than was set aside. */
function balanceOf(holder: Holder): Spendable {
  if (holder.drawn === null) return nothing;
  return plusSpendable(holder.drawn.upTo, takenOf(holder), -1);
}

/** The session has drawn more. */
export function drawMore(holder: Holder, amounts: Amounts): NonNullable<Holder["drawn"]> {
  const { tokens, nanoUsd } = holder.used;
  const { base, upTo } = holder.drawn ?? { base: { tokens, nanoUsd }, upTo: { tokens, nanoUsd } };
  return { base, upTo: plusSpendable(upTo, amounts) };
}

/** The session gives back what it has not used. */
export function releaseDraw<S extends Holder>(standing: S): S {
  if (standing.drawn === null) return standing;
  const { base, upTo } = standing.drawn;
  const taken = takenOf(standing);
  const least = (resource: keyof Spendable): number => Math.min(upTo[resource], taken[resource]);
  return { ...standing, drawn: { base, upTo: { tokens: least("tokens"), nanoUsd: least("nanoUsd") } } };
}

/** What the project holds too much for a session: it gave it, and the session may no longer use it. */
export function toRegain(given: Spendable, { drawn }: Pick<Holder, "drawn">): Spendable | null {
  const held = drawn === null ? nothing : plusSpendable(drawn.upTo, drawn.base, -1);
  const rest = plusSpendable(given, held, -1);
  const back = { tokens: Math.max(0, rest.tokens), nanoUsd: Math.max(0, rest.nanoUsd) };
  return back.tokens === 0 && back.nanoUsd === 0 ? null : back;
}

/** Spent, or given to sessions. */
export function allottedOf({ spent, given }: ProjectBudget): Spendable {
  let sum = spent;
  for (const one of given.values()) sum = plusSpendable(sum, one);
  return sum;
}

/** What is not given to any session. Absent: unlimited. */
export function projectLeft(budget: ProjectBudget): Amounts {
  const allotted = allottedOf(budget);
  const left: { tokens?: number; nanoUsd?: number } = {};
  for (const resource of spendables) {
    const most = budget.limits[resource];
    if (most !== undefined) left[resource] = Math.max(0, most - allotted[resource]);
  }
  return left;
}

/** The most that a session may use with all that is left. */
export function reachOf(left: Amounts, holder: Holder): Amounts {
  const own = balanceOf(holder);
  const reach: { tokens?: number; nanoUsd?: number } = {};
  for (const resource of spendables) {
    const rest = left[resource];
    if (rest !== undefined) reach[resource] = Math.max(0, rest + own[resource]);
  }
  return reach;
}

/** Calls that one draw is for, where the project has enough: each draw is a record in its log. */
const callsAhead = 4;
/** Of what is left, a draw for later calls takes at most this part. */
const shareMax = 1 / 8;

/** What to draw so that a call that wants this much may be made; null if nothing is needed. */
export function drawFor(left: Amounts, holder: Holder, wanted: Amounts): Spendable | null {
  const own = balanceOf(holder);
  const draw = { tokens: 0, nanoUsd: 0 };
  let isShort = holder.drawn === null;
  for (const resource of spendables) {
    const want = wanted[resource] ?? 0;
    const need = Math.max(0, want - own[resource]);
    const most = left[resource] ?? Number.MAX_SAFE_INTEGER;
    if (need > 0) isShort = true;
    const ahead = Math.min(want * callsAhead - own[resource], Math.floor(most * shareMax));
    draw[resource] = Math.min(most, Math.max(need, ahead, 0));
  }
  return isShort ? draw : null;
}

/** Whether a call may not be made with what is drawn. */
export function isOverDrawn(holder: Holder, wanted: Amounts): boolean {
  const own = balanceOf(holder);
  return holder.drawn !== null && spendables.some((resource) => (wanted[resource] ?? 0) > own[resource]);
}

/** Why no call that wants this much may be made; null if it may. */
export function shortOf(budget: ProjectBudget, reach: Amounts, wanted: Amounts): string | null {
  for (const resource of spendables) {
    const most = budget.limits[resource];
    const rest = reach[resource];
    if (most === undefined || rest === undefined) continue;
    if (resource === "nanoUsd" && wanted.nanoUsd === undefined)
      return "the price of the model is unknown, so the budget of the project cannot be enforced";
    if ((wanted[resource] ?? 0) <= rest) continue;
    const [used, limit] = [most - rest, most].map((value) =>
      resource === "nanoUsd" ? moneyText(value) : String(value),
    );
    const what = resource === "nanoUsd" ? "cost" : "token";
    return `the ${what} budget of the project does not cover the call: ${used} of ${limit} used or set aside`;
  }
  return null;
}
