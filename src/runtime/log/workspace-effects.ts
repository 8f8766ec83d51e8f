/** What goes into the workspace's log beside a change of a session, in the same append. */
import type { DraftEvent } from "../../core/decision.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";

/** A change that is about to be written, and the state that it was decided on. */
export interface AlsoChange {
  readonly session: SessionId;
  readonly state: State;
  readonly drafts: readonly DraftEvent[];
}

/** What goes into the workspace's log in the same append, decided on that log as it is at `headSeq`. */
export interface Beside {
  readonly headSeq: number;
  /** Of the record there, if it is known. */
  readonly headHash?: string;
  /** None: the append is of the session alone. */
  readonly events: readonly DraftEvent[];
  /** Once it is written. */
  readonly after?: () => Promise<void>;
}

/** Null at once where nothing can come of the change: most have nothing to do with the workspace. */
export type Also = (change: AlsoChange) => Promise<Beside | null> | null;
