/** Receiving whole logs that were written elsewhere: bundles, moves, copies. */
import type { StoredRecord } from "../../core/chain.ts";
import type { SessionId } from "../../core/ids.ts";
import type { IndexEntry } from "./session-index.ts";

/** A log on its way in, whole, with its records exactly as they were written elsewhere. */
export interface Reception {
  readonly session: SessionId;
  /** As its first record names it; null for a log that is no fork. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** The log in which the record at `parent.seq` lies: the parent, or an ancestor of it. */
  readonly base: SessionId | null;
}

/** What a store has of a log that is being received. */
export interface Received {
  /**
   * The last record that is here, whether finished or only received; the fork point when there is none, or 0
   * and the hash that stands before the first.
   */
  readonly seq: number;
  readonly hash: string;
  /**
   * What is here and finished: a session that lives here, a copy, a prefix that forks share, or nothing. What
   * is left of a deleted session counts as a prefix.
   */
  readonly there: "own" | "copy" | "prefix" | "nothing";
}

/** A record as it was written elsewhere, with the hashes of the blobs that its content refers to. */
export interface ReceivedRecord extends StoredRecord {
  readonly blobs: readonly string[];
}

/** What a received log becomes. */
export interface Finished {
  readonly session: SessionId;
  /** Its last record. If that is not what was received, nothing is finished. */
  readonly seq: number;
  readonly hash: string;
  /**
   * `own`: it lives here from now on. `copy`: it is listed and read, forked, and not written. `prefix`: it is
   * only there for its forks. What is here already is never made less by it: a session that lives here stays
   * one, unless a copy of more than it had was received.
   */
  readonly as: "own" | "copy" | "prefix";
  /** What the index shows; required but for a prefix. */
  readonly index?: IndexEntry;
}

/** The capability of a store to take in a log that another store wrote. */
export interface ReceiveStore {
  /**
   * Begins to receive a log, or goes on with one: what was put stays, also when the store is closed, until it
   * is finished or discarded. Nothing of it is seen but through `received` reads. The base must be here, or
   * have been put up to `parent.seq`. While more of a log is received that is here already, nothing can be
   * appended to it. A log that nobody put anything to for a day may be swept away.
   */
  receive(reception: Reception): Promise<Received>;
  /**
   * The next records of a log that is being received, all or none; durable when it resolves. Dense, and
   * chained: the store checks that each hash follows from the one before, and that the blobs are there. That
   * contents are right is for the caller to see to. Records that are here already are passed over if they are
   * the same, so that two may put one log at once; rejects with `conflict` if they are not, or if there would
   * be a gap.
   */
  put(session: SessionId, records: readonly ReceivedRecord[]): Promise<void>;
  /**
   * Makes received logs what they are to be, all or none. To be called again without harm. The feed gives
   * their records from now on. Rejects with `conflict` when one does not end where it says, and with
   * `refused` when it was deleted here and is to be more than a prefix. No lease is held on what arrives.
   */
  finish(logs: readonly Finished[]): Promise<void>;
  /**
   * Gives back what was received of a log and not finished, with the blobs that nothing else refers to, in
   * small steps. Harmless when there is nothing.
   */
  discard(session: SessionId): Promise<void>;
}
