/** The type of a fold, and the state changes that folds share. */
import type { SessionEventType } from "./catalog.ts";
import type { EventOf } from "./event.ts";
import { noPace } from "./context/latency.ts";
import type { Mind, Ref, Standing, State } from "./state.ts";

/**
 * Returns the mind at an earlier position of the same log. Called only for the target of a rewind, and for
 * the position before a compaction that is undone.
 */
export type Recall = (seq: number) => Mind;

/** The fold of one event type. It changes the state; `seq` and `at` advance outside of it. */
export type Fold<T extends SessionEventType> = (state: State, event: EventOf<T>, recall: Recall) => State;

export type Folds<T extends SessionEventType> = { readonly [K in T]: Fold<K> };

/** The state with a changed standing. */
export const stand = (state: State, change: Partial<Standing>): State => ({
  ...state,
  standing: { ...state.standing, ...change },
});

/** The state with a changed mind. */
export const think = (state: State, change: Partial<Mind>): State => ({
  ...state,
  mind: { ...state.mind, ...change },
});

/** The position and hash of an event's content. */
export const refOf = (event: { readonly seq: number; readonly contentHash: string | null }): Ref => ({
  seq: event.seq,
  hash: event.contentHash,
});

/** Counts working time up to now, if the session is being worked on. */
export function worked(state: State, at: number): State {
  const { used, workedTo } = state.standing;
  if (workedTo === null) return state;
  return stand(state, { used: { ...used, wallMs: used.wallMs + at - workedTo }, workedTo: at });
}

/** Extends the transcript to this event. */
export const heard = (state: State, seq: number): State => think(state, { toSeq: seq });

/**
 * A context starts fresh: the current tools move to the front, any renderer may render it, and it is planned
 * anew.
 */
export const beginAnew = (state: State): State =>
  stand(state, {
    tools: state.standing.tools.slice(-1),
    renderer: null,
    plan: null,
    front: null,
    pace: noPace,
  });
