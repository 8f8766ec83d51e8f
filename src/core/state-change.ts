/** What a fold is, and the changes of state that folds share. */
import type { SessionEventType } from "./catalog.ts";
import type { EventOf } from "./event.ts";
import type { Mind, Ref, Standing, State } from "./state.ts";

/** Gives the mind at an earlier position of the same log. Asked only for the target of a rewind. */
export type Recall = (seq: number) => Mind;

/** A fold of one event type: what of the state it changes. `seq` and `at` are moved on for it. */
export type Fold<T extends SessionEventType> = (state: State, event: EventOf<T>, recall: Recall) => State;

export type Folds<T extends SessionEventType> = { readonly [K in T]: Fold<K> };

/** The state with some of its standing changed. */
export const stand = (state: State, change: Partial<Standing>): State => ({
  ...state,
  standing: { ...state.standing, ...change },
});

/** The state with some of its mind changed. */
export const think = (state: State, change: Partial<Mind>): State => ({
  ...state,
  mind: { ...state.mind, ...change },
});

/** Where the content of an event stands. */
export const refOf = (event: { readonly seq: number; readonly contentHash: string | null }): Ref => ({
  seq: event.seq,
  hash: event.contentHash,
});

/** Time at work is counted up to here, if anybody is at work. */
export function worked(state: State, at: number): State {
  const { used, workedTo } = state.standing;
  if (workedTo === null) return state;
  return stand(state, { used: { ...used, wallMs: used.wallMs + at - workedTo }, workedTo: at });
}

/** The transcript reaches to this event. */
export const heard = (state: State, seq: number): State => think(state, { toSeq: seq });

/** A context begins anew: the tools that count are shown in front, and any renderer may show it. */
export const beginAnew = (state: State): State =>
  stand(state, { tools: state.standing.tools.slice(-1), renderer: null });
