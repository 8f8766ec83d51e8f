/** Records for the log of the workspace or of a project, in the append of a change of a session. */
import type { DraftEvent } from "../../core/decision.ts";
import type { ProjectId, SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";

/** A change about to be written, and the state that it was decided on. */
export interface AlsoChange {
  readonly session: SessionId;
  readonly state: State;
  readonly drafts: readonly DraftEvent[];
}

/** Records for another log in the same append, decided on that log at `headSeq`. */
export interface WorkspaceEffects {
  /** By default the workspace's. */
  readonly log?: ProjectId;
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
