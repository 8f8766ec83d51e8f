/**
 * The fold: from a state and the next event to the next state. Total over every event of the catalogue, one
 * small function each; a forgotten one is a compile error. It never refuses: whether something may happen was
 * decided before it was written. It never reads a content.
 */
import type { SessionEventType } from "./catalog.ts";
import type { EventOf, SessionLogEvent, Understood } from "./event.ts";
import { assert } from "./error.ts";
import { durableFolds } from "./fold/durable.ts";
import { governanceFolds } from "./fold/governance.ts";
import { sessionFolds, worked } from "./fold/session.ts";
import { turnFolds } from "./fold/turn.ts";
import type { Mind, State } from "./state.ts";

/** Gives the mind at an earlier position of the same log. Asked only for the target of a rewind. */
export type Recall = (seq: number) => Mind;

/** A fold of one event type: what of the state it changes. `seq` and `at` are moved on for it. */
export type Fold<T extends SessionEventType> = (state: State, event: EventOf<T>, recall: Recall) => State;
export type Folds<T extends SessionEventType> = { readonly [K in T]: Fold<K> };

const folds: Folds<SessionEventType> = { ...sessionFolds, ...turnFolds, ...durableFolds, ...governanceFolds };

export function fold(state: State, next: Understood, recall: Recall): State {
  const { seq, at } = next.event;
  assert(seq === state.seq + 1, `event ${seq} cannot follow position ${state.seq}`);
  const moved: State = { ...state, seq, at };
  if (next.kind === "foreign") return moved;
  if (next.kind === "newer" || !isSessionEvent(next.event)) {
    const { type, v } = next.event;
    const newer = state.standing.newer ?? { type, v, seq };
    return { ...moved, standing: { ...state.standing, newer } };
  }
  // The table is keyed by the event's own type, which TypeScript cannot follow through the index.
  const one = folds[next.event.type] as Fold<SessionEventType>;
  return one(isWork(next.event) ? worked(moved, at) : moved, next.event, recall);
}

/**
 * What only the holder of a lease writes, so that it was at work until then. After its last one nobody may
 * have been: it crashed, or the session waits for somebody.
 */
const workTypes: ReadonlySet<SessionEventType> = new Set([
  "turn.started",
  "model.requested",
  "model.responded",
  "tool.started",
  "budget.reached",
  "lease.released",
] as const);

const isWork = ({ type, actor }: SessionLogEvent): boolean =>
  // A call may be settled over the head of whoever ran it.
  workTypes.has(type) || (type === "tool.settled" && actor.startsWith("tool:"));

const isSessionEvent = (event: { readonly type: string }): event is SessionLogEvent =>
  Object.hasOwn(folds, event.type);
