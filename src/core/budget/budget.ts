/** Budgets: what remains of a session's limits, and which limit blocks an amount. */
import { moneyText } from "../text/money.ts";
import { resources, type Amounts, type State } from "../state.ts";

export type Resource = (typeof resources)[number];

/** What remains of each limit. A reservation counts as spent until its call is settled. */
export function budgetLeft(state: State): Amounts {
  const left = resources.flatMap((resource) => {
    const most = state.standing.limits[resource];
    return most === undefined ? [] : [[resource, Math.max(0, most - spentOf(state, resource))]];
  });
  return Object.fromEntries(left) as Amounts;
}

/** The smaller of both amounts of each resource; absent is unlimited. */
export function leastOf(a: Amounts, b: Amounts): Amounts {
  const least: Record<string, number> = {};
  for (const resource of resources) {
    const given = [a[resource], b[resource]].filter((amount) => amount !== undefined);
    if (given.length > 0) least[resource] = Math.min(...given);
  }
  return least;
}

/** The refund of a session's allotment: null if nothing remains, or there was no allotment. */
export function leftToReturn(state: State, nowMs: number): { to: string; amounts: Amounts } | null {
  const { payer, limits } = state.standing;
  if (payer === null) return null;
  const left = resources.flatMap((resource) => {
    const got = payer.amounts[resource];
    if (got === undefined) return [];
    const going = resource === "wallMs" ? workMs(state, nowMs) : 0;
    const rest = Math.min(got, limits[resource] ?? got) - spentOf(state, resource) - going;
    return rest > 0 ? [[resource, rest] as const] : [];
  });
  return left.length === 0 ? null : { to: payer.session, amounts: Object.fromEntries(left) };
}

/** How a budget passes to a successor. No part is duplicated, and none is lost. */
export interface BudgetHandover {
  /** The successor's own limits. */
  readonly limits: Amounts;
  /** Its part of an allotment: what remains of that goes back to the payer. */
  readonly got: Amounts;
  /** What the predecessor keeps: as much as it has used. */
  readonly kept: Amounts;
}

/** Null without a limit. */
export function handOverBudget(state: State, nowMs: number): BudgetHandover | null {
  const { limits, payer } = state.standing;
  const own: Record<string, number> = {};
  const got: Record<string, number> = {};
  const kept: Record<string, number> = {};
  for (const resource of resources) {
    const most = limits[resource];
    if (most === undefined) continue;
    const spent = spentOf(state, resource) + (resource === "wallMs" ? workMs(state, nowMs) : 0);
    const rest = Math.max(0, most - spent);
    const paid = payer?.amounts[resource];
    const share = paid === undefined ? 0 : Math.max(0, Math.min(rest, paid - spent));
    kept[resource] = most - rest;
    if (paid !== undefined) got[resource] = share;
    if (paid === undefined || rest > share) own[resource] = rest - share;
  }
  return Object.keys(limits).length === 0 ? null : { limits: own, got, kept };
}

/** Working time that is not yet counted. */
export const workMs = ({ standing: { workedTo } }: State, nowMs: number): number =>
  workedTo === null ? 0 : Math.max(0, nowMs - workedTo);

function spentOf({ standing }: State, resource: Resource): number {
  const { used, allotted, reserved } = standing;
  return used[resource] + allotted[resource] + (reserved?.amounts[resource] ?? 0);
}

/** The first limit that these amounts exceed, and its usage. */
export function budgetShort(
  state: State,
  wanted: Amounts,
): { readonly resource: Resource; readonly limit: number; readonly used: number } | null {
  const left = budgetLeft(state);
  for (const resource of resources) {
    const rest = left[resource];
    const want = wanted[resource] ?? 0;
    if (rest === undefined || want === 0 || want <= rest) continue;
    const most = state.standing.limits[resource] ?? 0;
    // Elapsed time counts as used, not as requested.
    const used = spentOf(state, resource) + (resource === "wallMs" ? want : 0);
    return { resource, limit: most, used };
  }
  return null;
}

const words: Readonly<Record<Resource, string>> = {
  tokens: "token",
  nanoUsd: "cost",
  steps: "step",
  turns: "turn",
  toolCalls: "tool call",
  wallMs: "time",
};

/** The message for a person when a limit is reached. */
export function budgetReason(resource: Resource, limit: number, used: number): string {
  const [spent, most] = [amount(resource, used), amount(resource, limit)];
  return `${words[resource]} budget exhausted: ${spent} of ${most}`;
}

/** The same when the rest does not cover what something may cost. */
export function shortReason(resource: Resource, limit: number, used: number, wanted: number): string {
  const [spent, most, more] = [used, limit, wanted].map((value) => amount(resource, value));
  return `${words[resource]} budget does not cover the call: ${spent} of ${most} used, up to ${more} needed`;
}

function amount(resource: Resource, value: number): string {
  if (resource === "nanoUsd") return moneyText(value);
  return resource === "wallMs" ? `${Math.floor(value / 1000)} s` : String(value);
}
