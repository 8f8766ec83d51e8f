/** Deleting, erasing, packing and checking a store, and its statistics. */
import type { LogId } from "../../core/ids.ts";
import type { Durability } from "./log.ts";

/** The result of packing: records, and their size before and after, as the driver counts it. */
export interface PackResult {
  readonly records: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** The size of a store. */
export interface StoreStats {
  readonly driver: string;
  readonly version: string;
  /** `none`: lost with the process. */
  readonly durability: Durability | "none";
  /** On disk, or in memory; null if the driver does not know. */
  readonly bytes: number | null;
  readonly sessions: number;
  readonly records: number;
  readonly contentBytes: number;
  readonly snapshots: number;
  readonly snapshotBytes: number;
  readonly segments: number;
  readonly segmentBytes: number;
  /** The files may still hold traces of erased or deleted data: `scrub` is due. */
  readonly unscrubbed: boolean;
  readonly blobs: number;
  readonly blobBytes: number;
}

/** The capability of a store to pack, erase, delete and check. */
export interface Maintenance {
  /** The newest version of Skein that opened this store: the one needed to understand all of it. */
  readonly program: string;
  /**
   * Deletes snapshots, search and items. Logs stay, and so does the index: `index` corrects it entry by
   * entry.
   */
  clearDerived(): Promise<void>;
  /**
   * Frees the space of deleted sessions, in small steps; resolves when done. Ends with a scrub, unless
   * another program blocks it: then it is still due.
   */
  sweep(): Promise<void>;
  /**
   * Packs the log's own records up to a position, but never its last one, into segments: in small atomic
   * steps alongside other work. Reads return the same as before. Packed records stay packed. Resolves to what
   * this call packed; stops early, with its result so far, if the signal is aborted.
   */
  pack(session: LogId, toSeq: number, signal?: AbortSignal): Promise<PackResult>;
  /**
   * The last packed position of the log's own records; one before its first own position, if none is packed.
   */
  packedTo(session: LogId): Promise<number>;
  /**
   * Removes every trace of erased or deleted data from the files: from free space, search and the write-ahead
   * log. Writers may wait for it. It stays due across a crash. Rejects with `unavailable` if another program
   * blocks it; then it is still due.
   */
  scrub(): Promise<void>;
  /** Faults below the level of records; empty if there are none. */
  check(): Promise<readonly string[]>;
  stats(): Promise<StoreStats>;
  /** The size of its files, without the write-ahead log; null if it has none. */
  bytes(): Promise<number | null>;
}
