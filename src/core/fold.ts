/**
 * The fold: from a state and the next event to the next state. Total over every event of the catalog, one
 * small function each; a missing one is a compile error. It never refuses, because the decision came before
 * the write. It never reads a content.
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
import { historyFolds } from "./history/fold.ts";
import { proxyFolds } from "./proxy/fold.ts";
import { checkFolds } from "./check/fold.ts";
import { amendFolds } from "./amend/fold.ts";
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
  ...historyFolds,
  ...proxyFolds,
  ...checkFolds,
  ...amendFolds,
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

/** The earlier position whose mind the fold of an event needs; null for almost all. */
export function recalledBy({ kind, event }: Understood): number | null {
  if (kind !== "known") return null;
  const { type, body, seq } = event as SessionLogEvent;
  if (type === "session.rewound") return body.toSeq;
  return type === "overlay.lifted" && body.overlay < seq ? body.overlay - 1 : null;
}

/** The types of the events whose fold needs an earlier mind. */
export const recallingTypes: readonly string[] = ["session.rewound", "overlay.lifted"];

/**
 * Events that only a lease holder writes, which prove that it worked until then. After its last one the time
 * does not count as work: the holder may have crashed, or the session waits for a person.
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
  // A call can be settled by someone other than its runner.
  workTypes.has(type) || (type === "tool.settled" && actor.startsWith("tool:"));

const isSessionEvent = (event: { readonly type: string }): event is SessionLogEvent =>
  Object.hasOwn(folds, event.type);
