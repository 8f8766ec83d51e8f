/**
 * Two runs of the same work side by side, turn by turn: what was answered, which tools were called, what it
 * took. Pure: both are given as they were read from their logs.
 */
import type { ItemChange } from "../branch/diff.ts";

/** The outcome of a tool call in a comparison of runs. */
export type CallStatus = "ok" | "error" | "unknown" | "skipped";

/** A tool call of one run. */
export interface ReplayCall {
  /** The position of the request. */
  readonly seq: number;
  readonly tool: string;
  readonly input: unknown;
  /** Null while it has no outcome. */
  readonly status: CallStatus | null;
}

/** What something took. */
export interface ReplayUsage {
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What is known of the cost. */
  readonly nanoUsd: number;
  /** Model calls of which nobody knows what they cost. */
  readonly unpriced: number;
}

/** A turn of one run. */
export interface ReplayTurn extends ReplayUsage {
  /** The number of the turn in its session. */
  readonly turn: number;
  readonly startedSeq: number;
  /** Null while it has not ended. */
  readonly endedSeq: number | null;
  readonly outcome: string | null;
  readonly inputs: readonly string[];
  /** All that the model said in it. */
  readonly answer: string;
  readonly calls: readonly ReplayCall[];
}

/** `missing`: only the original has it. `added`: only the replay has it. */
export type ReplayMatch = "same" | "different" | "missing" | "added";

/** A tool call of both runs, and whether they match. */
export interface ReplayCallPair {
  readonly match: ReplayMatch;
  readonly tool: string;
  readonly original: ReplayCall | null;
  readonly replay: ReplayCall | null;
}

/** A turn of both runs, and whether they match. */
export interface ReplayPair {
  /** Of the answers. */
  readonly match: ReplayMatch;
  readonly original: ReplayTurn | null;
  readonly replay: ReplayTurn | null;
  readonly calls: readonly ReplayCallPair[];
}

/** The totals of both runs. */
export interface ReplayTotals extends ReplayUsage {
  readonly turns: number;
  readonly calls: number;
}

/** The scores of both runs. */
export interface ReplayScores {
  readonly name: string;
  readonly original: number | null;
  readonly replay: number | null;
}

/** The result of a replay that runs again: both runs, turn by turn. */
export interface ReplayReport {
  /** The session that was run again, and the position from which. */
  readonly session: string;
  readonly from: number;
  /** Where it was run again. */
  readonly fork: string;
  readonly model: { readonly original: string | null; readonly replay: string | null };
  /** Those that took the place of the agent's; null when they are the same. */
  readonly instructions: string | null;
  /** Whether all answers, calls and items are the same. */
  readonly same: boolean;
  readonly turns: readonly ReplayPair[];
  readonly totals: { readonly original: ReplayTotals; readonly replay: ReplayTotals };
  /** What the replay knows otherwise at its end. */
  readonly items: readonly ItemChange[];
  readonly scores: readonly ReplayScores[];
  /** Calls of the replay that the original never made, and that were not run. */
  readonly unrecorded: number;
  /** Why it ended before all was asked again; null when all was. */
  readonly stopped: { readonly by: string; readonly reason: string | null } | null;
}

/** Turns belong together by their order. */
export function pairTurns(original: readonly ReplayTurn[], replay: readonly ReplayTurn[]): ReplayPair[] {
  const pairs: ReplayPair[] = [];
  for (let place = 0; place < Math.max(original.length, replay.length); place++) {
    const [was, is] = [original[place] ?? null, replay[place] ?? null];
    const match = is === null ? "missing" : was === null ? "added" : sameText(was.answer, is.answer);
    pairs.push({ match, original: was, replay: is, calls: pairCalls(was?.calls ?? [], is?.calls ?? []) });
  }
  return pairs;
}

const sameText = (a: string, b: string): "same" | "different" => (a === b ? "same" : "different");

/**
 * Calls of the same tool with the same arguments are the same, in whatever order they were made. Of the rest
 * those of one tool belong together by their order, and differ in their arguments.
 */
function pairCalls(original: readonly ReplayCall[], replay: readonly ReplayCall[]): ReplayCallPair[] {
  const left = new Set(replay);
  const take = (by: Map<string, ReplayCall[]>, key: string): ReplayCall | null => {
    const found = by.get(key)?.shift() ?? null;
    if (found !== null) left.delete(found);
    return found;
  };
  const equal = Map.groupBy(replay, callKey);
  const same = original.map((was) => take(equal, callKey(was)));
  const alike = Map.groupBy(left, ({ tool }) => tool);
  const pairs = original.map((was, place): ReplayCallPair => {
    const { tool } = was;
    const twin = same[place] ?? null;
    if (twin !== null) return { match: "same", tool, original: was, replay: twin };
    const is = take(alike, tool);
    return { match: is === null ? "missing" : "different", tool, original: was, replay: is };
  });
  const more = [...left].map((is): ReplayCallPair => {
    return { match: "added", tool: is.tool, original: null, replay: is };
  });
  return [...pairs, ...more];
}

/** The same for calls of the same tool with the same arguments. The order of an object's keys is nothing. */
export const callKey = ({ tool, input }: { readonly tool: string; readonly input: unknown }): string =>
  `${tool}\n${JSON.stringify(ordered(input)) ?? ""}`;

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, ordered(one)]));
}

export function totalsOf(turns: readonly ReplayTurn[]): ReplayTotals {
  const sum = (of: (turn: ReplayTurn) => number): number =>
    turns.reduce((total, turn) => total + of(turn), 0);
  return {
    turns: turns.length,
    steps: sum(({ steps }) => steps),
    calls: sum(({ calls }) => calls.length),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    nanoUsd: sum(({ nanoUsd }) => nanoUsd),
    unpriced: sum(({ unpriced }) => unpriced),
  };
}

/** Of each name that one of both was given. */
export function pairScores(
  original: ReadonlyMap<string, number>,
  replay: ReadonlyMap<string, number>,
): ReplayScores[] {
  const names = [...new Set([...original.keys(), ...replay.keys()])].toSorted();
  return names.map((name) => ({
    name,
    original: original.get(name) ?? null,
    replay: replay.get(name) ?? null,
  }));
}
