/**
 * Two runs of the same work side by side, turn by turn: answers, tool calls, usage. Pure: the caller reads
 * both from their logs.
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
  /** Null without an outcome. */
  readonly status: CallStatus | null;
}

/** The usage of a run or turn. */
export interface ReplayUsage {
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The known part of the cost. */
  readonly nanoUsd: number;
  /** Model calls of unknown cost. */
  readonly unpriced: number;
}

/** A turn of one run. */
export interface ReplayTurn extends ReplayUsage {
  /** The number of the turn in its session. */
  readonly turn: number;
  readonly startedSeq: number;
  /** Null if it has not ended. */
  readonly endedSeq: number | null;
  readonly outcome: string | null;
  readonly inputs: readonly string[];
  /** The whole text of the model in it. */
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
  /** The fork that ran again. */
  readonly fork: string;
  readonly model: { readonly original: string | null; readonly replay: string | null };
  /** The replacement of the agent's instructions; null if unchanged. */
  readonly instructions: string | null;
  /** Whether all answers, calls and items match. */
  readonly same: boolean;
  readonly turns: readonly ReplayPair[];
  readonly totals: { readonly original: ReplayTotals; readonly replay: ReplayTotals };
  /** The item differences at the end of the replay. */
  readonly items: readonly ItemChange[];
  readonly scores: readonly ReplayScores[];
  /** Calls of the replay that the original never made, and that were not executed. */
  readonly unrecorded: number;
  /** Why it ended early; null if it completed. */
  readonly stopped: { readonly by: string; readonly reason: string | null } | null;
}

/** Pairs turns by their order. */
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
 * Calls of the same tool with the same arguments match in any order. The rest is paired by tool and order,
 * and differs in arguments.
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

/** Equal for calls of the same tool with the same arguments, in any order of keys. */
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

/** Each score that either run has. */
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
