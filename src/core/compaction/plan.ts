/**
 * Compaction planning: when a context must shrink, and which range of the transcript to replace. Pure.
 *
 * A range ends where no call is open: before a later step of a turn, or where a turn ended. The latest part
 * stays verbatim, the last answered step at least. So a call is never separated from its result, and an input
 * from its answer only inside a long turn, whose inputs are then carried along verbatim.
 */
import { limit } from "../limit.ts";

/**
 * The first line of the prompt for a summary. The offline model (model/offline) recognizes the request by it,
 * so it must not change.
 */
export const compactionPromptLine = "Summarize the transcript of this session so far.";

/** The tokens a model needs for a useful answer; less in a small context window. */
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

/** The event types that mark where a range may end. */
export const markTypes = [
  "turn.started",
  "model.requested",
  "model.responded",
  "tool.requested",
  "tool.settled",
  "turn.ended",
  "input.imported",
  "answer.imported",
  "call.imported",
] as const;

/** What the plan needs of an event of the transcript. Requests for summaries are excluded. */
export interface PlanMark {
  readonly type: (typeof markTypes)[number];
  readonly seq: number;
  /** Of a tool event. */
  readonly call?: string;
  /** Of a request: the attempt of the step. */
  readonly attempt?: number;
}

/** One message of the context: the last position it covers, 0 for none, and its tokens. */
export interface Weight {
  readonly toSeq: number;
  readonly tokens: number;
}

/** Where a range may end. */
export interface Cut {
  readonly toSeq: number;
  /** Whether a turn ends here. */
  readonly endsTurn: boolean;
  /** Tokens of the messages up to here, including the boundary, and of those after it. */
  readonly goneTokens: number;
  readonly keptTokens: number;
}

/** Every possible end of a range, the earliest first. `marks` are those since the last boundary. */
export function cutsOf(marks: readonly PlanMark[], weights: readonly Weight[]): Cut[] {
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
    // History of another tool: a range may end before an input or an answer, never before a call of one.
    if ((type === "input.imported" || type === "answer.imported") && hasAnswer && open.size === 0)
      places.push({ toSeq: seq - 1, endsTurn: type === "input.imported" });
    if (type === "answer.imported") {
      hasAnswer = true;
      lastStepSeq = seq;
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

/** A cut with the tokens before and after it. */
export function weighed(place: Pick<Cut, "toSeq" | "endsTurn">, weights: readonly Weight[]): Cut {
  const last = weights.findLastIndex(({ toSeq }) => toSeq > 0 && toSeq <= place.toSeq);
  const sum = (some: readonly Weight[]): number => some.reduce((all, { tokens }) => all + tokens, 0);
  return { ...place, goneTokens: sum(weights.slice(0, last + 1)), keptTokens: sum(weights.slice(last + 1)) };
}

export interface RangeOptions {
  /** How much of the latest part stays verbatim. */
  readonly keepTokens: number;
  /** How much of the range may be the previous boundary, which gains nothing. */
  readonly boundaryTokens: number;
  /** A smaller gain is not worth a compaction. */
  readonly gainTokensMin: number;
  /** The most of the range that the summarizer can read. */
  readonly fitTokens: number;
}

export interface RangePlan {
  readonly cut: Cut;
  /** Whether the summarizer can read it in one piece. */
  readonly fits: boolean;
  /** False: only a first piece of the range, because it is too large to read at once. */
  readonly isWhole: boolean;
}

/** The next range to replace; null if none is worth it. */
export function planRange(cuts: readonly Cut[], options: RangeOptions): RangePlan | null {
  const { keepTokens, boundaryTokens, gainTokensMin, fitTokens } = options;
  const worth = cuts.filter(({ goneTokens }) => goneTokens - boundaryTokens >= Math.max(1, gainTokensMin));
  const [earliest] = worth;
  if (earliest === undefined) return null;
  const small = worth.filter((cut) => cut.keptTokens <= keepTokens);
  const step = small[0] ?? worth.at(-1) ?? earliest;
  // A whole turn is easier to continue from than half a turn, if it does not cost too much of the rest.
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

/** The text in place of a pruned output. */
const prunedTokens = 30;

export interface PrunePlan {
  readonly seqs: readonly number[];
  readonly gainTokens: number;
}

/** The next outputs to prune; null if that is not worth it. */
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
