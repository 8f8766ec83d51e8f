/** Receiving whole logs from other stores: bundles, moves, copies. */
import type { StoredRecord } from "../../core/chain.ts";
import type { ProjectId, SessionId } from "../../core/ids.ts";
import type { IndexEntry } from "./session-index.ts";

/** A log to receive whole, with its records exactly as written in the other store. */
export interface Reception {
  readonly session: SessionId | ProjectId;
  /** As its first record names it; null for a log that is not a fork. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** The log that holds the record at `parent.seq`: the parent, or an ancestor of it. */
  readonly base: SessionId | null;
}

/** What a store has of a log that is being received. */
export interface ReceivedLog {
  /**
   * The last record here, finished or only received; without records the fork point, or 0 and the genesis
   * hash.
   */
  readonly seq: number;
  readonly hash: string;
  /**
   * The finished part here: a session that lives here, a copy, a prefix that forks share, or nothing. The
   * remains of a deleted session count as a prefix.
   */
  readonly there: "own" | "copy" | "prefix" | "nothing";
}

/** A record as written in another store, with the hashes of the blobs that its content refers to. */
export interface ReceivedRecord extends StoredRecord {
  readonly blobs: readonly string[];
}

/** What a received log becomes. */
export interface FinishRequest {
  readonly session: SessionId | ProjectId;
  /** Its last record. Nothing is finished if the received log ends elsewhere. */
  readonly seq: number;
  readonly hash: string;
  /**
   * `own`: it lives here from now on. `copy`: it is listed, readable and forkable, but not writable.
   * `prefix`: it exists only for its forks. An existing log is never downgraded: a session that lives here
   * stays one, unless a copy with more records was received.
   */
  readonly as: "own" | "copy" | "prefix";
  /** The index entry; required except for a prefix, and for a project, which is never listed. */
  readonly index?: IndexEntry;
}

/** The capability of a store to take in a log that another store wrote. */
export interface ReceiveStore {
  /**
   * Begins to receive a log, or resumes: received records persist, also across a restart, until the log is
   * finished or discarded. Only `received` reads see them. The base must exist here, or be received up to
   * `parent.seq`. While more of an existing log is received, it is not writable. A log that receives nothing
   * for a day may be deleted.
   */
  receive(reception: Reception): Promise<ReceivedLog>;
  /**
   * The next records of a log that is being received, all or none; durable when it resolves. Dense, and
   * chained: the store verifies each hash against the previous one, and that the blobs exist. The caller
   * verifies the contents. Existing records are skipped if they are identical, so that two callers may send
   * one log at once; rejects with `conflict` if they differ, or leave a gap.
   */
  put(session: SessionId | ProjectId, records: readonly ReceivedRecord[]): Promise<void>;
  /**
   * Finishes received logs, all or none. Idempotent. From now on the feed has their records. Rejects with
   * `conflict` if one ends elsewhere, and with `refused` if it was deleted here and is to become more than a
   * prefix. A received log has no lease.
   */
  finish(logs: readonly FinishRequest[]): Promise<void>;
  /**
   * Deletes the unfinished part of a received log, with the blobs that nothing else refers to, in small
   * steps. Harmless if there is nothing.
   */
  discard(session: SessionId | ProjectId): Promise<void>;
}
