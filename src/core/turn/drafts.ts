/** Drafts and refusals of a turn that several slices share. */
import { budgetReason, budgetShort, workMs } from "../budget/budget.ts";
import type { Digest } from "../chain.ts";
import { type Decision, type DraftEvent, because, draft, forbidden, refuse } from "../decision.ts";
import { present } from "../present.ts";
import { drawMore, isOverDrawn } from "../project/budget.ts";
import { SortedMap } from "../sorted-map.ts";
import { type State, mindForm, mindHash, type Amounts } from "../state.ts";
import type { AppendRecord, ProjectDraw } from "./commands.ts";

export type InputRecord = Extract<AppendRecord, { readonly type: "input.received" }>;

export function inputDraft(record: InputRecord, input: number): DraftEvent {
  const blocks = "blocks" in record ? [...record.blocks] : [{ type: "text" as const, text: record.text }];
  const mode = "mode" in record ? record.mode : undefined;
  const from = record.from === undefined || record.from === "user" ? undefined : { from: record.from };
  const topic = present({ topic: topicOf(record) });
  return draft("input.received", { input, ...from, ...(mode && { mode }), ...topic }, { blocks });
}

export const topicOf = (record: InputRecord): string | undefined =>
  "topic" in record ? record.topic : undefined;

/** The first input of a session that another one makes. */
export const firstInputDrafts = (text: string | undefined): readonly DraftEvent[] =>
  text === undefined ? [] : [inputDraft({ type: "input.received", from: "trigger", text }, 1)];

export const inTurn = ({ standing }: State): { turn?: number } =>
  standing.turn === null ? {} : { turn: standing.turn.number };

export const causedBy = (seq: number | undefined): { cause?: number } => present({ cause: seq });

/** Working time that is not yet counted; continuing takes at least a moment. */
export const wall = (state: State, nowMs: number): Amounts =>
  state.standing.turn === null ? {} : { wallMs: Math.max(1, workMs(state, nowMs)) };

export function mayGo(state: State, verb: string): Decision | null {
  const refusal = forbidden(state, "go", verb);
  if (refusal !== null) return refusal;
  const { turn } = state.standing;
  if (turn === null) return refuse("refused", "no turn is in progress", "begin a turn first");
  return turn.interrupted ? refuse("refused", "the turn is interrupted", "end the turn") : null;
}

/** The records that suspend a session because of a limit; null if there is room. */
export function overBudget(state: State, wanted: Amounts): readonly DraftEvent[] | null {
  const short = budgetShort(state, wanted);
  if (short === null) return null;
  const { resource, limit: most, used } = short;
  return [
    draft("budget.reached", { resource, limit: most, used }, undefined, inTurn(state)),
    draft(
      "session.suspended",
      { by: "budget", on: [state.seq + 1] },
      because(budgetReason(resource, most, used)),
      inTurn(state),
    ),
  ];
}

/** The record that suspends a session because its project has not enough for a call; null if it has. */
export function overProject(
  state: State,
  draw: ProjectDraw | undefined,
  wanted: Amounts,
): readonly DraftEvent[] | null {
  const { standing } = state;
  const drawn = draw === undefined ? standing.drawn : drawMore(standing, draw.amounts);
  const isShort = draw?.short !== undefined || isOverDrawn({ ...standing, drawn }, wanted);
  if (!isShort) return null;
  const reason = draw?.short ?? "the budget of the project does not cover the call";
  const project = draw?.project ?? standing.project ?? undefined;
  const body = { by: "budget" as const, ...present({ project }) };
  return [draft("session.suspended", body, because(reason), inTurn(state))];
}

export const drawnDrafts = (state: State, draw: ProjectDraw | undefined): readonly DraftEvent[] =>
  draw === undefined || draw.short !== undefined
    ? []
    : [draft("budget.drawn", { project: draw.project, amounts: draw.amounts }, undefined, inTurn(state))];

/**
 * A model call in flight when its turn is ended from outside. The whole reservation stays unconfirmed until
 * its runner, if it is still alive, reports the cost.
 */
function writeOff({ standing: { reserved, turn } }: State): readonly DraftEvent[] {
  if (reserved === null || turn === null) return [];
  const { model, seq: cause, amounts: unconfirmed } = reserved;
  const body = { model, error: "interrupted", retryable: false, costNanoUsd: null, unconfirmed };
  return [draft("model.failed", body, undefined, { turn: turn.number, cause })];
}

/**
 * Ends a turn. Its open calls are settled: `unknown` if they had started, because their effect may have
 * happened, unless they only read; otherwise `skipped`. A rewind skips external calls.
 */
export function endTurn(
  state: State,
  digest: Digest,
  outcome: "completed" | "interrupted" | "cancelled" | "failed" | "refused" | "length",
  isRewound = false,
): readonly DraftEvent[] {
  const { turn } = state.standing;
  if (turn === null) return [];
  const settled = [...state.mind.calls.entries()].map(([call, open]) => {
    const { phase, effect, seq, deadlineMs } = open;
    const mayHaveRun = phase === "started" && effect !== "read" && !(isRewound && deadlineMs !== undefined);
    const status = mayHaveRun ? "unknown" : "skipped";
    return draft("tool.settled", { call, status }, undefined, { turn: turn.number, cause: seq });
  });
  const toSeq = settled.length === 0 ? state.mind.toSeq : state.seq + settled.length;
  const hash = mindHash(digest, { ...state.mind, calls: SortedMap.empty(), toSeq });
  const body = { outcome, steps: turn.steps, mindForm, mindHash: hash };
  return [...settled, ...writeOff(state), draft("turn.ended", body, undefined, { turn: turn.number })];
}
