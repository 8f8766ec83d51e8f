/**
 * The fold: from a state and the next event to the next state. Total over every event of the catalogue, one
 * small function each; a forgotten one is a compile error. It never refuses: whether something may happen was
 * decided before it was written. It never reads a content.
 */
import { sessionFolds } from "./session/fold.ts";
import { branchFolds } from "./branch/fold.ts";
import { turnFolds } from "./turn/fold.ts";
import { toolFolds } from "./tool/fold.ts";
import { itemFolds } from "./item/fold.ts";
import { messageFolds } from "./message/fold.ts";
import { triggerFolds } from "./trigger/fold.ts";
import { budgetFolds } from "./budget/fold.ts";
import { governFolds } from "./govern/fold.ts";
import { worked, type Fold, type Folds, type Recall } from "./state-change.ts";
import type { SessionEventType } from "./catalog.ts";
import type { SessionLogEvent, Understood } from "./event.ts";
import { assert } from "./error.ts";
import type { State } from "./state.ts";

const folds: Folds<SessionEventType> = {
  ...sessionFolds,
  ...branchFolds,
  ...turnFolds,
  ...toolFolds,
  ...itemFolds,
  ...messageFolds,
  ...triggerFolds,
  ...budgetFolds,
  ...governFolds,
};

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
