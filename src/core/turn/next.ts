/**
 * The next action of a running session, from its state alone. The turn loop asks before each action, so
 * resuming after a crash is the same as continuing.
 */
import type { State } from "../state.ts";

export type TurnOutcome = "completed" | "interrupted" | "failed" | "refused" | "length";

export type Next =
  /** Nothing to do: idle, suspended, or closed. */
  | { readonly next: "rest" }
  | { readonly next: "begin" }
  /** Writes off an abandoned model call. */
  | { readonly next: "write-off" }
  /** Some calls have no outcome yet. */
  | { readonly next: "calls" }
  | { readonly next: "request" }
  | { readonly next: "end"; readonly outcome: TurnOutcome };

export interface NextStepOptions {
  /** Whether an input for the turn in progress is queued. */
  readonly steered: boolean;
  /** The step limit of one turn. */
  readonly stepsMax: number;
}

export function nextOf(state: State, { steered, stepsMax }: NextStepOptions): Next {
  const { status, turn, inbox, reserved } = state.standing;
  if (status !== "open" && status !== "running") return { next: "rest" };
  if (reserved !== null && reserved.isForwarded !== true) return { next: "write-off" };
  if (turn === null) return inbox.waiting.length === 0 ? { next: "rest" } : { next: "begin" };
  if (turn.interrupted) return { next: "end", outcome: "interrupted" };
  if (state.mind.calls.size > 0) return { next: "calls" };
  if (turn.answered === null) return { next: "request" };
  const { calls, finish } = turn.answered;
  if (calls === 0 && !steered) return { next: "end", outcome: outcomeOf(finish) };
  return turn.steps >= stepsMax ? { next: "end", outcome: "length" } : { next: "request" };
}

/** A refusal, a content filter and a length stop each end the turn; so does an empty answer. */
function outcomeOf(finish: string): TurnOutcome {
  if (finish === "refusal" || finish === "content-filter") return "refused";
  return finish === "length" ? "length" : "completed";
}
