/** Scores of a replay: a function scores both runs; the fork records its scores. */
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { ReplayTurn } from "../../core/turn/run-comparison.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import { readItems, type SessionItem } from "../read/projection.ts";
import type { Deps } from "../deps.ts";

/** One of the two runs, for a scoring function. */
export interface ReplayRun {
  readonly side: "original" | "replay";
  readonly session: SessionId;
  /** Only the repeated ones. */
  readonly turns: readonly ReplayTurn[];
  /** The items at its end. */
  readonly items: readonly SessionItem[];
}

/** By name: a number, or a number with its reason and position. */
export type ReplayJudgment = Readonly<
  Record<string, number | { readonly value: number; readonly because?: string; readonly seq?: number }>
>;

/** Scores a run: returns scores by name. */
export type ReplayScorer = (run: ReplayRun) => ReplayJudgment | Promise<ReplayJudgment>;

/** A scored run: its log, up to where. */
interface ScoredRun {
  readonly side: ReplayRun["side"];
  readonly session: SessionId;
  readonly state: State;
  readonly turns: readonly ReplayTurn[];
}

/** Scores the fork and records it there; then the original, where nothing is recorded. */
export async function scoreRuns(
  deps: Deps,
  score: ReplayScorer,
  original: ScoredRun,
  replay: ScoredRun,
): Promise<{ readonly original: ReadonlyMap<string, number> }> {
  const fork = replay.session;
  for (const [name, given] of await ask(deps, score, replay, fork)) {
    await deps.writer.change(fork, { do: "score", name, ...given }, { actor: deps.actor });
  }
  const scores = await ask(deps, score, original, fork);
  return { original: new Map(scores.map(([name, { value }]) => [name, value])) };
}

type ScoreInput = { readonly value: number; readonly because?: string; readonly seq?: number };

async function ask(
  { store }: Deps,
  score: ReplayScorer,
  { side, session, state, turns }: ScoredRun,
  fork: SessionId,
): Promise<readonly (readonly [string, ScoreInput])[]> {
  const items = await readItems(store, session, state);
  const wrong = (why: string, cause?: unknown): SkeinError =>
    new SkeinError("invalid", `replay: score: the function ${why} (${side})`, {
      hint: `the replayed turns are in ${fork}`,
      cause,
    });
  const judgment = await Promise.resolve()
    .then(() => score({ side, session, turns, items }))
    .catch((cause: unknown) => {
      throw wrong(`failed: ${errorText(cause)}`, cause);
    });
  if (typeof judgment !== "object" || judgment === null)
    throw wrong(`returned ${quote(judgment)} instead of scores`);
  return Object.entries(judgment).map(([name, one]) => {
    const given: ScoreInput = typeof one === "number" ? { value: one } : one;
    if (typeof given !== "object" || given === null || !Number.isFinite(given.value))
      throw wrong(`returned no number for ${quote(name)}`);
    const { value, because, seq } = given;
    const more = { ...(because === undefined ? {} : { because }), ...(seq === undefined ? {} : { seq }) };
    return [name, { value, ...more }] as const;
  });
}
