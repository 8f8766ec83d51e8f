/**
 * Scheduling, as far as states determine it: when a session has work, which session goes first, and what
 * blocks one. Pure; runtime/work executes it.
 */
import type { TriggerKind } from "./events.ts";
import { deadlineOf, overdueLabel } from "./deadline.ts";
import { SkeinError } from "../error.ts";
import { checkTexts, isObject } from "../option-check.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { imported, rolledBackReason, type State } from "../state.ts";
import { nextOf } from "../turn/next.ts";

/** When the session next has work: 0 now, a time, or null if none until the next append. */
export function dueOf(state: State): number | null {
  const { status, newer, sleep, triggers, requests } = state.standing;
  const expiresMs = expiryOf(state);
  if (newer !== null || status === "closed" || status === "archived" || status === "moved") return null;
  if (nextOf(state, { steered: false, stepsMax: Infinity }).next !== "rest") return 0;
  const times: number[] = [];
  for (const { deadlineMs } of requests.values()) times.push(deadlineMs);
  for (const { deadlineMs } of state.mind.calls.values())
    if (deadlineMs !== undefined) times.push(deadlineMs);
  if (status === "sleeping" && typeof sleep?.untilMs === "number") times.push(sleep.untilMs);
  // The clock does not wake a session that waits for a person.
  if (status !== "suspended")
    for (const { nextMs } of triggers.values()) if (nextMs !== null) times.push(nextMs);
  const deadlineMs = deadlineOf(state);
  for (const atMs of [expiresMs, deadlineMs]) if (atMs !== null) times.push(atMs);
  return times.length === 0 ? null : Math.min(...times);
}

/** When an idle session expires that was opened to do so; null: never. */
export function expiryOf({ at, standing }: State): number | null {
  const { status, expiresAfterIdleMs, holds } = standing;
  const may = (status === "open" || status === "suspended") && holds.size === 0;
  return may && expiresAfterIdleMs !== null ? at + expiresAfterIdleMs : null;
}

/** What an idle session waits for, in a word; null if it waits for nothing. */
export function waitsFor(state: State): string | null {
  const stale = state.standing.stale.size === 0 ? [] : ["stale"];
  return [...[waitingFor(state) ?? []].flat(), ...stale].join(", ") || null;
}

function waitingFor(state: State): string | null {
  const { status, why, sleep, triggers, requests, labels } = state.standing;
  if (status === "suspended" && why?.by === "error" && labels.has(overdueLabel)) return "deadline passed";
  if (status === "suspended") return suspendedFor[why?.by ?? "person"] ?? why?.by ?? null;
  if (status === "sleeping") {
    const until = typeof sleep?.untilMs === "number" ? ["time"] : [];
    const woken = isWokenBy(triggers) ? ["trigger"] : [];
    return [...until, ...woken].join(" or ") || "input";
  }
  if (status !== "open" || dueOf(state) === 0) return null;
  return requests.size > 0 ? "reply" : isWokenBy(triggers) ? "trigger" : "input";
}

/** Kinds that are used up once they have no next time. */
const timed: ReadonlySet<TriggerKind> = new Set(["at", "every", "cron"]);

/** Whether one of these triggers can still fire. */
const isWokenBy = (triggers: State["standing"]["triggers"]): boolean =>
  [...triggers.values()].some(({ kind, nextMs }) => nextMs !== null || !timed.has(kind));

const suspendedFor: Readonly<Record<string, string>> = {
  approval: "approval",
  budget: "budget",
  unknown: "answer",
  error: "error",
  person: "person",
  tool: "tool result",
  [rolledBackReason]: "rollback",
  [imported]: "review",
};

const triggersCharsMax = 200;

/** The names of a session's triggers, as a text; null if it has none. */
export function triggersText({ standing: { triggers } }: State): string | null {
  if (triggers.size === 0) return null;
  return [...triggers.keys()].join(", ").slice(0, triggersCharsMax);
}

/** Kinds that a worker must poll: no time and no record of the session announces them. */
const watched: ReadonlySet<TriggerKind> = new Set(["file", "git", "query", "session", "resource", "webhook"]);

/** Whether a worker has to watch something for this session. */
export const isWatching = ({ standing: { status, triggers, unreviewed } }: State): boolean =>
  !unreviewed &&
  status !== "closed" &&
  status !== "archived" &&
  status !== "moved" &&
  [...triggers.values()].some(({ kind }) => watched.has(kind));

/** How long a worker counts as alive after its last heartbeat. */
export const workerMs = 15_000;

/** A session with work, as far as order and limits go. */
export interface ScheduleCandidate {
  readonly session: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** 0 is the most urgent. */
  readonly priority: number;
  /** The deadline; absent or null without one. */
  readonly deadlineMs?: number | null;
}

/** At most so many sessions at once among those that match every field, over all workers. */
export interface RunLimit {
  readonly agent?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly running: number;
}

const limitHint = 'for example { agent: "coder", running: 2 }';

/** Throws `invalid` for an empty or impossible limit. */
export function checkLimit(given: RunLimit, where = "limits"): RunLimit {
  if (!isObject(given)) throw new SkeinError("invalid", `${where}: expected an object`, { hint: limitHint });
  const { agent, model, labels = {}, running } = given;
  checkTexts(where, { agent, model });
  if (!isObject(labels))
    throw new SkeinError("invalid", `${where}: labels: expected an object of strings`, { hint: limitHint });
  if (!Number.isInteger(running) || running < 0 || running > limit.concurrencyMax) {
    throw new SkeinError(
      "invalid",
      `${where}: running: expected 0 to ${limit.concurrencyMax}, got ${quote(running)}`,
      {
        hint: "the number of sessions that may run at once; 0 runs none",
      },
    );
  }
  if (agent !== undefined || model !== undefined || Object.keys(labels).length > 0) return given;
  throw new SkeinError("invalid", `${where}: specify at least one of agent, model or labels`, {
    hint: "to limit a worker as a whole, use its concurrency option",
  });
}

/** What a candidate waits for: the exhausted limit, and its usage. */
export interface LimitHold {
  readonly limit: RunLimit;
  readonly running: number;
}

const isOf = (limit: RunLimit, { agent, model, labels }: ScheduleCandidate): boolean =>
  (limit.agent === undefined || limit.agent === agent) &&
  (limit.model === undefined || limit.model === model) &&
  Object.entries(limit.labels ?? {}).every(([key, value]) => labels[key] === value);

/** The limits that the running sessions exhaust. */
export const usedUp = (
  running: readonly ScheduleCandidate[],
  limits: readonly RunLimit[],
): readonly RunLimit[] =>
  limits.filter((one) => running.filter((candidate) => isOf(one, candidate)).length >= one.running);

/** The first limit that blocks the candidate, given the running sessions; null if none does. */
export function heldBy(
  candidate: ScheduleCandidate,
  running: readonly ScheduleCandidate[],
  limits: readonly RunLimit[],
): LimitHold | null {
  for (const one of limits) {
    if (!isOf(one, candidate)) continue;
    const count = running.filter((other) => isOf(one, other)).length;
    if (count >= one.running) return { limit: one, running: count };
  }
  return null;
}

/** As text: `agent limit (2 of 2)`. */
export function heldText({ limit: { agent, model, running: most }, running }: LimitHold): string {
  const what = agent !== undefined ? "agent" : model !== undefined ? "model" : "label";
  return `${what} limit (${running} of ${most})`;
}

/**
 * The sessions to run now, in order, at most so many: by priority; among equals by the nearest deadline; then
 * agents take turns, the one with the fewest running sessions first; within an agent in the given order,
 * which is by how long they have been due.
 */
export function choose(
  candidates: readonly ScheduleCandidate[],
  running: readonly ScheduleCandidate[],
  options: { readonly limits: readonly RunLimit[]; readonly most: number },
): readonly ScheduleCandidate[] {
  const chosen: ScheduleCandidate[] = [];
  const taken = new Set<ScheduleCandidate>();
  const counts = new Map<string | null, number>();
  for (const { agent } of running) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  while (chosen.length < options.most) {
    const going = [...running, ...chosen];
    const full = usedUp(going, options.limits);
    let best: ScheduleCandidate | null = null;
    for (const one of candidates) {
      if (taken.has(one) || full.some((other) => isOf(other, one))) continue;
      if (best === null || isBefore(one, best, counts)) best = one;
    }
    if (best === null) break;
    taken.add(best);
    chosen.push(best);
    counts.set(best.agent, (counts.get(best.agent) ?? 0) + 1);
  }
  return chosen;
}

function isBefore(
  a: ScheduleCandidate,
  b: ScheduleCandidate,
  counts: ReadonlyMap<string | null, number>,
): boolean {
  if (a.priority !== b.priority) return a.priority < b.priority;
  const [deadline, other] = [a.deadlineMs ?? Infinity, b.deadlineMs ?? Infinity];
  if (deadline !== other) return deadline < other;
  return (counts.get(a.agent) ?? 0) < (counts.get(b.agent) ?? 0);
}

/**
 * Which running session is preempted for a more urgent one: the least urgent whose end would let it run, if
 * it is less urgent itself; null if none is.
 */
export function givesWay<R extends ScheduleCandidate>(
  urgent: ScheduleCandidate,
  mine: readonly R[],
  others: readonly ScheduleCandidate[],
  options: { readonly limits: readonly RunLimit[]; readonly isFull: boolean },
): R | null {
  // With a free slot and no limit in the way, nothing is preempted.
  if (!options.isFull && heldBy(urgent, [...mine, ...others], options.limits) === null) return null;
  for (const one of mine.toSorted((a, b) => b.priority - a.priority)) {
    if (one.priority <= urgent.priority) return null;
    const left = [...mine.filter((other) => other !== one), ...others];
    if (heldBy(urgent, left, options.limits) === null) return one;
  }
  return null;
}
