/** Snapshots of states, so that a long log is not folded from its start. They may be deleted at any time. */
import type { LogId } from "../../core/ids.ts";

/** A stored state, from which a fold continues. */
export interface Snapshot {
  readonly seq: number;
  /** Its form; a reader skips unknown forms. */
  readonly form: number;
  readonly text: string;
}

/** The capability of a store to keep folded states. */
export interface SnapshotStore {
  putSnapshot(session: LogId, snapshot: Snapshot): Promise<void>;
  /** The latest at or before `seq`, of the log itself or of the prefix it shares. */
  snapshot(session: LogId, seq: number): Promise<Snapshot | undefined>;
}
