/** Records for the workspace's log that go with a change of a session, in the same append. */
import type { DraftEvent } from "../../core/decision.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";

/** A change about to be written, and the state that it was decided on. */
export interface AlsoChange {
  readonly session: SessionId;
  readonly state: State;
  readonly drafts: readonly DraftEvent[];
}

/** Records for the workspace's log in the same append, decided on that log at `headSeq`. */
export interface WorkspaceEffects {
  readonly headSeq: number;
  /** The hash of that record, if known. */
  readonly headHash?: string;
  /** Empty: the append is of the session alone. */
  readonly events: readonly DraftEvent[];
  /** Called once it is written. */
  readonly after?: () => Promise<void>;
}

/** Returns null at once where nothing can follow: most changes do not concern the workspace. */
export type Also = (change: AlsoChange) => Promise<WorkspaceEffects | null> | null;
