/**
 * Compaction, planned: when a context must become smaller, and which range of the transcript goes. Pure.
 *
 * A range ends where no call is open: before a later step of a turn, or where a turn ended. What came last
 * stays as it was said, the last answered step at least. So a call is never parted from its result, and an
 * input from its answer only inside a long turn, whose inputs are then carried along word for word.
 */
import { limit } from "../limit.ts";

/**
 * The first line of the prompt that asks a model for a summary. A model without a provider (model/offline)
 * knows by it what is wanted, so it stays as it is.
 */
export const compactionPromptLine = "Summarize the transcript of this session so far.";

/** What a model needs to give an answer that is of any use; in a small window that is less. */
const usefulAnswerTokens = (windowTokens: number): number =>
  Math.max(limit.outputTokensMin, Math.min(1_024, Math.floor(windowTokens / 16)));

/** Whether a context leaves no room for an answer. */
export const isBeyond = (tokens: number, windowTokens: number): boolean =>
  tokens + usefulAnswerTokens(windowTokens) > windowTokens;

/** Whether a context of so many tokens is compacted before it is sent. */
export function isOverfull(
  tokens: number,
  windowTokens: number,
  { auto, atShare }: { readonly auto: boolean; readonly atShare: number },
): boolean {
  return (auto && tokens >= atShare * windowTokens) || isBeyond(tokens, windowTokens);
}

/** The types of events that say where a range may end. */
export const markTypes = [
  "turn.started",
  "model.requested",
  "model.responded",
  "tool.requested",
  "tool.settled",
  "turn.ended",
] as const;

/** What the plan wants to know of an event of the transcript. Requests for summaries are none of them. */
export interface Mark {
  readonly type: (typeof markTypes)[number];
  readonly seq: number;
  /** Of a tool's events. */
  readonly call?: string;
  /** Of a request: how often the step was tried. */
  readonly attempt?: number;
}

/** One message of the context: up to where it speaks of the log, 0 for nowhere, and its tokens. */
export interface Weight {
  readonly toSeq: number;
  readonly tokens: number;
}

/** Where a range may end. */
export interface Cut {
  readonly toSeq: number;
  /** Whether a turn ends here. */
  readonly endsTurn: boolean;
  /** Tokens of the messages up to here, the boundary included, and of those after it. */
  readonly goneTokens: number;
  readonly keptTokens: number;
}

/** Every place where a range may end, the earliest first. `marks` are those since the last boundary. */
export function cutsOf(marks: readonly Mark[], weights: readonly Weight[]): Cut[] {
  const open = new Set<string>();
  const places: { readonly toSeq: number; readonly endsTurn: boolean }[] = [];
  let hasAnswer = false;
  let stepSeq = 0;
  let lastStepSeq = 0;
  for (const { type, seq, call = "", attempt = 1 } of marks) {
    if (type === "turn.started") hasAnswer = false;
    if (type === "model.requested" && attempt <= 1) {
      if (hasAnswer && open.size === 0) places.push({ toSeq: seq - 1, endsTurn: false });
      stepSeq = seq;
    }
    if (type === "model.responded") {
      hasAnswer = true;
      lastStepSeq = stepSeq === 0 ? seq : stepSeq;
    }
    if (type === "tool.requested") open.add(call);
    if (type === "tool.settled") open.delete(call);
    if (type === "turn.ended" && open.size === 0) places.push({ toSeq: seq, endsTurn: true });
  }
  return places.filter(({ toSeq }) => toSeq < lastStepSeq).map((place) => weighed(place, weights));
}

/** A place with the weight of what stands before it and after it. */
export function weighed(place: Pick<Cut, "toSeq" | "endsTurn">, weights: readonly Weight[]): Cut {
  const last = weights.findLastIndex(({ toSeq }) => toSeq > 0 && toSeq <= place.toSeq);
  const sum = (some: readonly Weight[]): number => some.reduce((all, { tokens }) => all + tokens, 0);
  return { ...place, goneTokens: sum(weights.slice(0, last + 1)), keptTokens: sum(weights.slice(last + 1)) };
}

export interface RangeOptions {
  /** How much of what came last stays as it was said. */
  readonly keepTokens: number;
  /** How much of the range may be the boundary before it, of which nothing is gained. */
  readonly boundaryTokens: number;
  /** Less than this is not worth it. */
  readonly gainTokensMin: number;
  /** The most that whoever summarizes can read of the range. */
  readonly fitTokens: number;
}

export interface RangePlan {
  readonly cut: Cut;
  /** Whether it can be read in one piece. */
  readonly fits: boolean;
  /** False: only a first piece of what is to go, since all of it cannot be read at once. */
  readonly isWhole: boolean;
}

/** The range that is replaced next; null when nothing is left that is worth it. */
export function planRange(cuts: readonly Cut[], options: RangeOptions): RangePlan | null {
  const { keepTokens, boundaryTokens, gainTokensMin, fitTokens } = options;
  const worth = cuts.filter(({ goneTokens }) => goneTokens - boundaryTokens >= Math.max(1, gainTokensMin));
  const [earliest] = worth;
  if (earliest === undefined) return null;
  const small = worth.filter((cut) => cut.keptTokens <= keepTokens);
  const step = small[0] ?? worth.at(-1) ?? earliest;
  // A whole turn is easier to go on from than a half one, if it does not cost too much of the rest.
  const turn = small.find(({ endsTurn }) => endsTurn);
  const wanted = turn !== undefined && turn.keptTokens * 2 >= step.keptTokens ? turn : step;
  const cut = worth.findLast(({ toSeq, goneTokens }) => toSeq <= wanted.toSeq && goneTokens <= fitTokens);
  if (cut === undefined) return { cut: earliest, fits: false, isWhole: earliest === wanted };
  return { cut, fits: true, isWhole: cut === wanted };
}

/** The output of a call, as the context shows it. */
export interface ShownOutput {
  /** Of its `tool.settled`. */
  readonly seq: number;
  readonly tokens: number;
}

/** What stands in place of an output that is left out. */
const prunedTokens = 30;

export interface PrunePlan {
  readonly seqs: readonly number[];
  readonly gainTokens: number;
}

/** The outputs that are left out of the context next; null when that is not worth it. */
export function planPrune(
  outputs: readonly ShownOutput[],
  options: { readonly toSeq: number; readonly tokensMin: number; readonly gainTokensMin: number },
): PrunePlan | null {
  const { toSeq, tokensMin, gainTokensMin } = options;
  const least = Math.max(tokensMin, prunedTokens + 1);
  const large = outputs.filter(({ seq, tokens }) => seq <= toSeq && tokens >= least);
  const gainTokens = large.reduce((sum, { tokens }) => sum + tokens - prunedTokens, 0);
  if (large.length === 0 || gainTokens < gainTokensMin) return null;
  return { seqs: large.map(({ seq }) => seq), gainTokens };
}
