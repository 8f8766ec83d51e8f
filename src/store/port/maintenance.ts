/** Deleting, erasing, packing and checking a store, and its figures. */
import type { LogId } from "../../core/ids.ts";
import type { Durability } from "./log.ts";

/** What was packed: records, and what they took before and take now, as the driver counts it. */
export interface Packed {
  readonly records: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** The size of a store. */
export interface StoreStats {
  readonly driver: string;
  readonly version: string;
  /** `none`: gone with the process. */
  readonly durability: Durability | "none";
  /** On disk, or in memory; null when the driver cannot tell. */
  readonly bytes: number | null;
  readonly sessions: number;
  readonly records: number;
  readonly contentBytes: number;
  readonly snapshots: number;
  readonly snapshotBytes: number;
  readonly segments: number;
  readonly segmentBytes: number;
  /** Something was erased or deleted of which the files may still hold a trace: `scrub` is due. */
  readonly unscrubbed: boolean;
  readonly blobs: number;
  readonly blobBytes: number;
}

/** The capability of a store to pack, erase, delete and check. */
export interface Maintenance {
  /** The newest version of Skein that opened this store; it says what is needed to understand all of it. */
  readonly program: string;
  /**
   * Forgets snapshots, search and items. Logs stay, and so does the index: `index` corrects it entry by
   * entry.
   */
  clearDerived(): Promise<void>;
  /**
   * Gives back what deleted sessions held, in small steps; resolves when there is no more. Ends with a scrub,
   * unless another program keeps it from being done: then it is still due.
   */
  sweep(): Promise<void>;
  /**
   * Packs the log's own records up to a position, but never its last one, into segments: in small steps
   * beside other work, each whole. Reading gives the same as before. What is packed already stays. Resolves
   * to what this call packed; stops early, with what it did, when the signal is aborted.
   */
  pack(session: LogId, toSeq: number, signal?: AbortSignal): Promise<Packed>;
  /** The last position of the log's own records that is packed; where its own begin, less one, if none is. */
  packedTo(session: LogId): Promise<number>;
  /**
   * Makes sure that the files hold nothing any more of what was erased or deleted: not in free space, not in
   * search, not in what was written ahead. Writers may wait for it. That it is due survives a crash. Rejects
   * with `unavailable` when another program keeps it from being done; then it is still due.
   */
  scrub(): Promise<void>;
  /** Faults below the level of records; none when all is well. */
  check(): Promise<readonly string[]>;
  stats(): Promise<StoreStats>;
  /** What it takes in its files, apart from what is only written ahead; null when it has none. */
  bytes(): Promise<number | null>;
}
