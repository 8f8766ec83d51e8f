/**
 * Scheduling, as far as it can be told from states: when a session has something to do, which of those that
 * have goes first, and what holds one up. Pure; runtime/work does it.
 */
import type { TriggerKind } from "./catalogue/durable.ts";
import type { State } from "./state.ts";
import { nextOf } from "./turn.ts";

/**
 * When there is next something to do for the session: 0 at once, a time, or null when nothing is until
 * something is appended.
 */
export function dueOf(state: State): number | null {
  const { status, newer, sleep, triggers, requests } = state.standing;
  if (newer !== null || status === "closed" || status === "archived" || status === "moved") return null;
  if (nextOf(state, { steered: false, stepsMax: Infinity }).next !== "rest") return 0;
  const times: number[] = [];
  for (const { deadlineMs } of requests.values()) times.push(deadlineMs);
  if (status === "sleeping" && typeof sleep?.untilMs === "number") times.push(sleep.untilMs);
  // What stands still until a person says so is not woken by the clock.
  if (status !== "suspended")
    for (const { nextMs } of triggers.values()) if (nextMs !== null) times.push(nextMs);
  return times.length === 0 ? null : Math.min(...times);
}

/** Kinds that somebody must keep an eye on: no time and no record of the session itself tells of them. */
const watched: ReadonlySet<TriggerKind> = new Set(["file", "git", "query", "session", "resource", "webhook"]);

/** Whether a worker has to watch something for this session. */
export const isWatching = ({ standing: { status, triggers } }: State): boolean =>
  status !== "closed" &&
  status !== "archived" &&
  status !== "moved" &&
  [...triggers.values()].some(({ kind }) => watched.has(kind));

/** A session that has something to do, as far as order and limits go. */
export interface Candidate {
  readonly session: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** 0 is the most urgent. */
  readonly priority: number;
}

/** At most so many sessions at once of those that have all of this; without any of it, of all. */
export interface RunLimit {
  readonly agent?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly running: number;
}

/** What a candidate waits for: the limit that is used up, and by how many. */
export interface Held {
  readonly limit: RunLimit;
  readonly running: number;
}

const isOf = (limit: RunLimit, { agent, model, labels }: Candidate): boolean =>
  (limit.agent === undefined || limit.agent === agent) &&
  (limit.model === undefined || limit.model === model) &&
  Object.entries(limit.labels ?? {}).every(([key, value]) => labels[key] === value);

/** The first limit that keeps the candidate waiting, beside those that run; null when none does. */
export function heldBy(
  candidate: Candidate,
  running: readonly Candidate[],
  limits: readonly RunLimit[],
): Held | null {
  for (const limit of limits) {
    if (!isOf(limit, candidate)) continue;
    const count = running.filter((one) => isOf(limit, one)).length;
    if (count >= limit.running) return { limit, running: count };
  }
  return null;
}

/** In words: `agent limit (2 of 2)`. */
export function heldText({ limit, running }: Held): string {
  const what =
    limit.agent !== undefined
      ? "agent"
      : limit.model !== undefined
        ? "model"
        : limit.labels !== undefined
          ? "label"
          : "worker";
  return `${what} limit (${running} of ${limit.running})`;
}

/**
 * Those that may run now, in order, at most so many: by priority; among equals agents take turns, the one
 * that runs the least first; of one agent in the order given, which is by how long they have been due.
 */
export function choose(
  candidates: readonly Candidate[],
  running: readonly Candidate[],
  options: { readonly limits: readonly RunLimit[]; readonly most: number },
): readonly Candidate[] {
  const chosen: Candidate[] = [];
  const taken = new Set<Candidate>();
  while (chosen.length < options.most) {
    const going = [...running, ...chosen];
    const counts = new Map<string | null, number>();
    for (const { agent } of going) counts.set(agent, (counts.get(agent) ?? 0) + 1);
    let best: Candidate | null = null;
    for (const one of candidates) {
      if (taken.has(one) || heldBy(one, going, options.limits) !== null) continue;
      const isBetter =
        best === null ||
        one.priority < best.priority ||
        (one.priority === best.priority && (counts.get(one.agent) ?? 0) < (counts.get(best.agent) ?? 0));
      if (isBetter) best = one;
    }
    if (best === null) break;
    taken.add(best);
    chosen.push(best);
  }
  return chosen;
}
