/**
 * The port of a log: the least that a driver does. An engine on a bare `LogStore` opens, appends, forks,
 * rewinds, runs turns and verifies; complete-store.ts supplies the other capabilities in memory, for one
 * process.
 *
 * A bare driver gets parts of `session`, `expect`, `drafts` and `parent` only. `index` comes with
 * `IndexStore`, `lease` and `epoch` with `ScheduleStore`, `drop` and `erase` with `Maintenance`, blobs of
 * drafts with `BlobStore`.
 */
import type { Digest, StoredRecord } from "../../core/chain.ts";
import type { LogId, SessionId, WorkspaceId } from "../../core/ids.ts";
import type { IndexEntry } from "./session-index.ts";

/** The part of the world that a store needs; it takes clock and timers from nowhere else. */
export interface StoreWorld {
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `work` once everything that is ready to run now has run. */
  defer(work: () => void): void;
  readonly digest: Digest;
  /**
   * Runs a file in a process of its own, gives it the message, and resolves to the one it answers with. The
   * process is ended when the signal is aborted, whatever it is doing; one that was killed rejects with the
   * name of what killed it as the cause. A world may lack it.
   */
  apart?(file: URL, message: object, signal: AbortSignal): Promise<unknown>;
}

/**
 * `disk`: an acknowledged append survives the loss of power. `process`: it survives the end of the process
 * only.
 */
export type Durability = "disk" | "process";

/**
 * What the writer believes about the head of a log: its position, and if the writer knows it, the hash of the
 * record there, so that nobody goes on from another history. There is no default.
 */
export type Expect = { readonly seq: number; readonly hash?: string } | "absent" | "exists" | "unchecked";

/** A record on its way in. The store adds session, seq, at and hash; all else is final. */
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
  /** Hashes of the blobs that the content refers to. They stay for as long as a record refers to them. */
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
  /** From a runner: the epoch under which it writes. The append is fenced unless it is the one in force. */
  readonly epoch?: number;
  readonly drafts: readonly Draft[];
  /**
   * For a fork's first append: the log goes on from this position of the parent, and shares all before it.
   */
  readonly parent?: { readonly session: SessionId; readonly seq: number };
  /**
   * What the index shows of the session from now on. Absent: as before. Required with a session's first
   * append.
   */
  readonly index?: IndexEntry;
  /** Takes the lease, with the seq of the first draft as its epoch; or gives it back. */
  readonly lease?: { readonly holder: string; readonly leaseMs: number } | "release";
  /**
   * Deletes the session, with no drafts: it is gone from every list and cannot be opened or written any more.
   * Records that forks share stay readable through the forks, and only for as long as there are any.
   */
  readonly drop?: true;
  /**
   * Takes away, in the same transaction, contents and salts at these positions of the log as it reads them,
   * whoever else shares them: from records and segments, from search and items, with the blobs that nothing
   * else refers to. Hashes and lengths stay. Positions without a content are passed over. At most
   * `eraseRecordsMax` contents in one append. What the files may still hold of it is gone after `scrub`.
   */
  readonly erase?: readonly (readonly [fromSeq: number, toSeq: number])[];
}

/** The outcome of an append. */
export type Outcome =
  /** All parts are written, and as durable as the store was opened for. */
  | { readonly kind: "ok"; readonly parts: readonly Appended[] }
  /** Nothing is written. The head of this log is not as expected; it is 0 when there is no such log. */
  | { readonly kind: "conflict"; readonly session: LogId; readonly headSeq: number }
  /** Nothing is written. The epoch in force is this one; 0 when no lease is held. */
  | { readonly kind: "fenced"; readonly session: LogId; readonly epoch: number }
  /** Nothing is written. A record with this key is in the log already, at this position. */
  | { readonly kind: "duplicate"; readonly session: LogId; readonly key: string; readonly seq: number }
  /**
   * The answer was lost. All parts are written or none, perhaps only later; the caller finds out by
   * reading.
   */
  | { readonly kind: "unknown"; readonly cause: unknown };

/** The result of one log's share of an append. */
export interface Appended {
  readonly session: LogId;
  readonly firstSeq: number;
  readonly headSeq: number;
  /** Of all drafts of the part: they share one moment. */
  readonly at: number;
  /** One a draft, in order. */
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

/** The last record of a log, its lease and its place. */
export interface Head extends LogHead {
  /** The epoch in force, 0 when no lease is held. */
  readonly epoch: number;
  /** Who holds the lease and until when by the store's clock. Past that moment anybody may take it. */
  readonly lease: { readonly holder: string; readonly untilMs: number } | null;
  /** The session lives elsewhere: it can be read and forked here, and not written. */
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
  /** Without contents, `content` and `salt` are null in what comes back, and reading is cheaper. */
  readonly contents: boolean;
  /** Reads a log that is being received, too, and all that was put of it. */
  readonly received?: true;
}

/** A page of the feed of all logs. */
export interface FeedPage {
  readonly records: readonly StoredRecord[];
  /** To be given as `after` for the next page. Opaque. */
  readonly position: string;
  /** Present after a rollback of the store (feed-position.ts): the page starts there; null: the beginning. */
  readonly rolledBackTo?: string | null;
}

/** The part of the port that every driver implements: append, read and follow logs. */
export interface LogStore {
  /** The log that agents, memory and policies are events of. Made once, with the store. */
  readonly workspace: WorkspaceId;
  /**
   * Appends to one or several logs, all or none. Resolves to `ok` only after the bytes are as durable as
   * promised. For each part in order: `duplicate` is found before `fenced`, `fenced` before `conflict`. `at`
   * is the store's clock, or that of the record before if the clock is behind it. Two appends at once never
   * disturb one another: one that is refused does not fail the other. Rejects with `unavailable` when
   * certainly nothing was written, and with `refused` when a log is a copy or is being received, or when the
   * tenant has used up its quota.
   */
  append(parts: readonly Part[]): Promise<Outcome>;
  /** The newest state of a log's head; undefined when there is none, or it was deleted. */
  head(session: LogId): Promise<LogHead | undefined>;
  /**
   * A page of records in order of seq, dense but for what `types` leaves out. Positions before a fork point
   * are the parent's. At least one record if there is one; an empty page means that there are no more in the
   * range.
   */
  read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]>;
  /** The position of the log's own record with this key. */
  keyed(session: LogId, key: string): Promise<number | undefined>;
  /** The first position whose `at` is not before `at`; one past the head when there is none. */
  seqAt(session: LogId, at: number): Promise<number>;
  /**
   * All logs' records in an order that keeps the order within each. At least once, never a gap: a record that
   * is committed after `position` was given out comes after it. `null` starts at the beginning.
   */
  feed(after: string | null, limit: number): Promise<FeedPage>;
  /** A position behind all that is committed now. */
  feedEnd(): Promise<string>;
  /** Calls `changed` soon after an append, here or in another process; also now and then without reason. */
  watch(changed: () => void): () => void;
  /** After this everything rejects with `unavailable`. May be called twice. */
  close(): Promise<void>;
}
