/**
 * What comes next in a session that is run, from its state alone. The turn loop asks before each thing it
 * does, so that going on after a crash is the same as going on.
 */
import type { State } from "../state.ts";

export type TurnOutcome = "completed" | "interrupted" | "failed" | "refused" | "length";

export type Next =
  /** Nothing to do: idle, or it stands still, or it is over. */
  | { readonly next: "rest" }
  | { readonly next: "begin" }
  /** A model call that nobody waits for any more is written off. */
  | { readonly next: "write-off" }
  /** Calls have no outcome yet. */
  | { readonly next: "calls" }
  | { readonly next: "request" }
  | { readonly next: "end"; readonly outcome: TurnOutcome };

export interface NextOptions {
  /** Whether input waits that is meant for the turn in progress. */
  readonly steered: boolean;
  /** The most steps of one turn. */
  readonly stepsMax: number;
}

export function nextOf(state: State, { steered, stepsMax }: NextOptions): Next {
  const { status, turn, inbox, reserved } = state.standing;
  if (status !== "open" && status !== "running") return { next: "rest" };
  if (reserved !== null) return { next: "write-off" };
  if (turn === null) return inbox.waiting.length === 0 ? { next: "rest" } : { next: "begin" };
  if (turn.interrupted) return { next: "end", outcome: "interrupted" };
  if (state.mind.calls.size > 0) return { next: "calls" };
  if (turn.answered === null) return { next: "request" };
  const { calls, finish } = turn.answered;
  if (calls === 0 && !steered) return { next: "end", outcome: outcomeOf(finish) };
  return turn.steps >= stepsMax ? { next: "end", outcome: "length" } : { next: "request" };
}

/** A refusal, a content filter and a length stop end the turn, each in its way; an empty answer is one. */
function outcomeOf(finish: string): TurnOutcome {
  if (finish === "refusal" || finish === "content-filter") return "refused";
  return finish === "length" ? "length" : "completed";
}
