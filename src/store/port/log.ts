/**
 * The log port: the minimum a driver implements. An engine on a bare `LogStore` opens, appends, forks,
 * rewinds, runs turns and verifies; complete-store.ts supplies the other capabilities in memory, for one
 * process.
 *
 * A bare driver gets parts with `session`, `expect`, `drafts` and `parent` only. `index` requires
 * `IndexStore`, `lease` and `epoch` require `ScheduleStore`, `drop` and `erase` require `Maintenance`, blobs
 * of drafts require `BlobStore`.
 */
import type { Digest, StoredRecord } from "../../core/chain.ts";
import type { LogId, SessionId, WorkspaceId } from "../../core/ids.ts";
import type { IndexEntry } from "./session-index.ts";

/** The part of the world that a store needs; it has no other clock or timers. */
export interface StoreWorld {
  now(): number;
  /** Resolves after `ms`, or at once if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `work` after everything that is ready to run now. */
  defer(work: () => void): void;
  readonly digest: Digest;
  /**
   * Runs a file in a separate process, sends it the message, and resolves to its answer. Aborting the signal
   * kills the process at any point; a killed process rejects with the name of its signal as the cause.
   * Optional.
   */
  apart?(file: URL, message: object, signal: AbortSignal): Promise<unknown>;
}

/**
 * `disk`: an acknowledged append survives a power loss. `process`: it survives only the end of the process.
 */
export type Durability = "disk" | "process";

/**
 * The head of a log as the writer knows it: its position, and optionally the hash of the record there, so
 * that no writer continues another history. Required.
 */
export type Expect = { readonly seq: number; readonly hash?: string } | "absent" | "exists" | "unchecked";

/** A record to append. The store adds session, seq, at and hash; everything else is final. */
export interface Draft {
  readonly type: string;
  readonly v: number;
  readonly actor: string;
  readonly turn: number | null;
  readonly cause: number | null;
  /** 16 bytes, hexadecimal; unique in its log. */
  readonly key: string | null;
  readonly body: string;
  readonly bodyHash: string;
  readonly content: DraftContent | null;
  /** Hashes of the blobs that the content refers to. They stay as long as a record refers to them. */
  readonly blobs: readonly string[];
}

/** The content of a record draft. */
export interface DraftContent {
  readonly text: string;
  readonly bytes: number;
  readonly salt: string;
  readonly hash: string;
}

/** One log's share of an append. */
export interface Part {
  readonly session: LogId;
  readonly expect: Expect;
  /** From a runner: the epoch it writes under. The append is fenced unless this epoch is in force. */
  readonly epoch?: number;
  readonly drafts: readonly Draft[];
  /**
   * For a fork's first append: the log continues from this position of the parent, and shares everything
   * before it.
   */
  readonly parent?: { readonly session: SessionId; readonly seq: number };
  /**
   * For a new log whose id may be that of a deleted one: the append is a conflict if this log names the id in
   * a record `session.deleted` after the position. What is before it the caller has looked at.
   */
  readonly unlessDeleted?: { readonly by: LogId; readonly afterSeq: number };
  /** The new index entry of the session. Absent: unchanged. Required with a session's first append. */
  readonly index?: IndexEntry;
  /** Takes the lease, with the seq of the first draft as its epoch; or releases it. */
  readonly lease?: { readonly holder: string; readonly leaseMs: number } | "release";
  /**
   * Deletes the session, with no drafts: it disappears from every list and cannot be opened or written any
   * more. Records that forks share stay readable through the forks, as long as there are any.
   */
  readonly drop?: true;
  /**
   * Erases, in the same transaction, contents and salts at these positions of the log as it reads them, also
   * if other logs share them: from records and segments, from search and items, with the blobs that nothing
   * else refers to. Hashes and lengths stay. Positions without a content are skipped. At most
   * `eraseRecordsMax` contents in one append. `scrub` removes the remaining traces from the files.
   */
  readonly erase?: readonly (readonly [fromSeq: number, toSeq: number])[];
}

/** The outcome of an append. */
export type Outcome =
  /** All parts are written, with the promised durability. */
  | { readonly kind: "ok"; readonly parts: readonly AppendedPart[] }
  /** Nothing is written. The head of this log is not as expected; 0 if the log does not exist. */
  | { readonly kind: "conflict"; readonly session: LogId; readonly headSeq: number }
  /** Nothing is written. The epoch in force is this one; 0 without a lease. */
  | { readonly kind: "fenced"; readonly session: LogId; readonly epoch: number }
  /** Nothing is written. A record with this key already exists in the log, at this position. */
  | { readonly kind: "duplicate"; readonly session: LogId; readonly key: string; readonly seq: number }
  /** The result was lost. All parts are written or none, possibly later; the caller finds out by reading. */
  | { readonly kind: "unknown"; readonly cause: unknown };

/** The result of one log's share of an append. */
export interface AppendedPart {
  readonly session: LogId;
  readonly firstSeq: number;
  readonly headSeq: number;
  /** Of all drafts of the part: they share one time. */
  readonly at: number;
  /** One per draft, in order. */
  readonly hashes: readonly string[];
}

/** The last record of a log. */
export interface LogHead {
  readonly session: LogId;
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
}

/** The last record of a log, its lease and its parent. */
export interface Head extends LogHead {
  /** The epoch in force, 0 without a lease. */
  readonly epoch: number;
  /** The holder of the lease and its end by the store's clock. After that, any process may take it. */
  readonly lease: { readonly holder: string; readonly untilMs: number } | null;
  /** The session lives in another store: it can be read and forked here, but not written. */
  readonly copy?: true;
}

/** The records that a read returns. */
export interface ReadRange {
  readonly fromSeq: number;
  readonly toSeq: number;
  /** From the end towards the beginning. */
  readonly reverse?: boolean;
  readonly limit: number;
  /** Only these types. */
  readonly types?: readonly string[];
  /** Without contents, `content` and `salt` of the result are null, and reading is cheaper. */
  readonly contents: boolean;
  /** Also reads a log that is being received, with everything received so far. */
  readonly received?: true;
}

/** A page of the feed of all logs. */
export interface FeedPage {
  readonly records: readonly StoredRecord[];
  /** Pass it as `after` for the next page. Opaque. */
  readonly position: string;
  /** Present after a rollback of the store (feed-position.ts): the page starts there; null: the beginning. */
  readonly rolledBackTo?: string | null;
}

/** The part of the port that every driver implements: append, read and follow logs. */
export interface LogStore {
  /** The log of agents, memory and policies. Created once, with the store. */
  readonly workspace: WorkspaceId;
  /**
   * Appends to one or several logs, all or none. Resolves to `ok` only after the bytes are as durable as
   * promised. For each part in order: `duplicate` is checked before `fenced`, `fenced` before `conflict`.
   * `at` is the store's clock, or that of the previous record if the clock is behind it. Concurrent appends
   * are independent: a refused one does not fail the other. Rejects with `unavailable` if certainly nothing
   * was written, and with `refused` if a log is a copy or is being received, or if the tenant's quota is
   * exhausted.
   */
  append(parts: readonly Part[]): Promise<Outcome>;
  /** The current head of a log; undefined if it does not exist, or was deleted. */
  head(session: LogId): Promise<LogHead | undefined>;
  /**
   * A page of records in order of seq, dense except for what `types` leaves out. Positions before a fork
   * point are the parent's. At least one record if there is one; an empty page means that the range has no
   * more.
   */
  read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]>;
  /** The position of the log's own record with this key. */
  keyed(session: LogId, key: string): Promise<number | undefined>;
  /** The first position whose `at` is not before `at`; one past the head if there is none. */
  seqAt(session: LogId, at: number): Promise<number>;
  /**
   * The records of all logs in an order that preserves the order within each. At least once, never a gap: a
   * record committed after `position` was returned comes after it. `null` starts at the beginning.
   */
  feed(after: string | null, limit: number): Promise<FeedPage>;
  /** A position behind everything committed now. */
  feedEnd(): Promise<string>;
  /** Calls `changed` soon after an append, here or in another process; occasionally also without reason. */
  watch(changed: () => void): () => void;
  /** After this everything rejects with `unavailable`. May be called twice. */
  close(): Promise<void>;
}
