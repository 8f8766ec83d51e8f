/**
 * The store port: what Skein needs of a place that keeps logs. The comments are the contract; the conformance
 * suite (conformance.ts) holds every driver to it.
 *
 * A store is opened for one tenant, and every key in it starts with that tenant. It keeps logs (of sessions
 * and of the workspace), and things derived from them: the session index, snapshots, search, items. Derived
 * things may be deleted at any time and are made again from the logs; `clearDerived` does the first, the
 * runtime the second.
 *
 * Not promised: any order between logs other than that of the feed; that a page is as long as was asked for;
 * that two reads see one moment, unless a single call made both.
 */
import type { Digest, StoredRecord } from "../core/chain.ts";
import type { LogId, SessionId, WorkspaceId } from "../core/ids.ts";
import type { SessionStatus } from "../core/session/lifecycle.ts";
import type { Answer, QueryOptions } from "./sql/query-result.ts";
import type { ScheduleField, ScheduleStore } from "./port-schedule.ts";

export type { DueRow, RunMatch, ScheduledRow, ServerRow, SpendField, WorkerRow } from "./port-schedule.ts";

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

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

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

export interface Appended {
  readonly session: LogId;
  readonly firstSeq: number;
  readonly headSeq: number;
  /** Of all drafts of the part: they share one moment. */
  readonly at: number;
  /** One a draft, in order. */
  readonly hashes: readonly string[];
}

export interface Head {
  readonly session: LogId;
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  /** The epoch in force, 0 when no lease is held. */
  readonly epoch: number;
  /** Who holds the lease and until when by the store's clock. Past that moment anybody may take it. */
  readonly lease: { readonly holder: string; readonly untilMs: number } | null;
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** The session lives elsewhere: it can be read and forked here, and not written. */
  readonly copy?: true;
}

/** A log on its way in, whole, with its records exactly as they were written elsewhere. */
export interface Reception {
  readonly session: SessionId;
  /** As its first record names it; null for a log that is no fork. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** The log in which the record at `parent.seq` lies: the parent, or an ancestor of it. */
  readonly base: SessionId | null;
}

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

/**
 * What the session index knows of a session besides its log. Text comes from contents, so it is erased with
 * them.
 */
export interface IndexEntry {
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly name: string | null;
  readonly objective: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Messages not done with: to other stores and not known to be there, or requests; absent: none. */
  readonly outbox?: number;
  /** Its inbox takes no more messages from sessions. */
  readonly full?: true;
  /** When there is next something to do for it: 0 at once; absent: nothing until something is appended. */
  readonly due?: number;
  /** The model it goes on with; absent when it has none yet. */
  readonly model?: string;
  /** Something must be watched for it: files, other sessions, checks. */
  readonly watches?: true;
  /** Until when it is to be done; absent: whenever. */
  readonly deadline?: number;
  /** What it waits for while nothing is due, in a word or two; absent when it waits for nothing. */
  readonly waits?: string;
  /** The names of its triggers, as a text; absent: it has none. */
  readonly triggers?: string;
  /** Absent: it has room. */
  readonly zone?: "strained" | "full";
  /** What it has cost, as `spendOf` of src/core/budget/money.ts has it; absent: nothing. */
  readonly nanoUsd?: number;
  /** The most that it may have cost besides; absent: nothing. */
  readonly unconfirmedNanoUsd?: number;
  /** Model calls of an unknown price; absent: none. */
  readonly unpriced?: number;
}

export interface SessionRow extends Omit<IndexEntry, ScheduleField> {
  readonly session: SessionId;
  readonly headSeq: number;
  readonly openedAt: number;
  /** `at` of the last record. */
  readonly activeAt: number;
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** As in `Head`. */
  readonly copy?: true;
}

export interface SessionFilter {
  readonly agent?: string;
  readonly status?: readonly SessionStatus[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Occurs in name or objective, whatever the case of ASCII letters. */
  readonly text?: string;
  /** Last activity at or after, and before. */
  readonly activeSince?: number;
  readonly activeBefore?: number;
  /** Only sessions with messages that are not done with. */
  readonly outbox?: true;
  /** Only sessions for which something must be watched. */
  readonly watches?: true;
}

/** What was packed: records, and what they took before and take now, as the driver counts it. */
export interface Packed {
  readonly records: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

export interface ResultPage<T> {
  readonly rows: readonly T[];
  /** Where to go on; null at the end. Opaque. */
  readonly cursor: string | null;
}

export interface FeedPage {
  readonly records: readonly StoredRecord[];
  /** To be given as `after` for the next page. Opaque. */
  readonly position: string;
  /** Present after a rollback of the store (feed-position.ts): the page starts there; null: the beginning. */
  readonly rolledBackTo?: string | null;
}

export interface Snapshot {
  readonly seq: number;
  /** The form it was written in; a reader passes over forms it does not know. */
  readonly form: number;
  readonly text: string;
}

export interface ItemRow {
  readonly kind: string;
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly status: string | null;
  /** A text as it is, anything else as JSON; null when erased. */
  readonly value: string | null;
  readonly because: string | null;
}

/** A step of the projections, from one position of the feed to a later one. */
export interface Projection {
  readonly from: string | null;
  readonly to: string;
  readonly texts: readonly { readonly session: LogId; readonly seq: number; readonly text: string }[];
  /** The whole durable tier of each session that changed. */
  readonly items: readonly { readonly session: SessionId; readonly rows: readonly ItemRow[] }[];
}

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

export interface Store extends ScheduleStore {
  /** The log that agents, memory and policies are events of. Made once, with the store. */
  readonly workspace: WorkspaceId;
  /** The newest version of Skein that opened this store; it says what is needed to understand all of it. */
  readonly program: string;
  /** The store's clock, by which leases run out; as well as this process knows it since its last call. */
  now(): number;
  /** Reads the store's clock now: the database server's, the file system's, or this process's. */
  readClock(): Promise<number>;

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
  head(session: LogId): Promise<Head | undefined>;
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

  /** Moves the end of the lease, by the store's clock. False when the epoch is not the one in force. */
  renew(session: LogId, epoch: number, leaseMs: number): Promise<boolean>;

  /**
   * Every log there is, the workspace's too, a fork after its parent. Where the store is damaged an id may be
   * any text; a page still moves on, so a driver pages by a key of its own.
   */
  logs(after: string | null, limit: number): Promise<ResultPage<LogId>>;
  /** Sessions, the most recently active first. */
  list(
    filter: SessionFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<ResultPage<SessionRow>>;
  /** Ids of sessions that end so; at most `limit`. */
  endingWith(ending: string, limit: number): Promise<readonly SessionId[]>;
  /** Forks of a session that still exist, and where they left it. */
  forks(session: SessionId): Promise<readonly { readonly session: SessionId; readonly seq: number }[]>;
  /**
   * Existing sessions whose first record names this one as their origin (core/branch/origin.ts); it may be
   * gone.
   */
  openedFrom(session: SessionId): Promise<readonly SessionId[]>;
  /** Corrects the index without a record. False, and nothing changes, when the log is not at `atSeq`. */
  index(session: SessionId, entry: IndexEntry, atSeq: number): Promise<boolean>;

  putSnapshot(session: LogId, snapshot: Snapshot): Promise<void>;
  /** The latest at or before `seq`, the log's own or one of the prefix it shares. */
  snapshot(session: LogId, seq: number): Promise<Snapshot | undefined>;

  /**
   * Keeps bytes by the hash of the whole, durable when it resolves. Writing one that is there already is
   * free. One that no record comes to refer to within a day may be swept away. Rejects with `refused` when it
   * `begins` something, and the tenant has used up its quota.
   */
  putBlob(hash: string, chunks: Chunks, how?: { readonly begins: boolean }): Promise<void>;
  /** Gives back a blob, whole or not, that no record refers to. Any other stays. */
  dropBlob(hash: string): Promise<void>;
  /** In chunks; undefined when it is not there, or not whole. */
  blob(hash: string): Promise<AsyncIterable<Uint8Array> | undefined>;

  /** How far the projections (search, items) have come in the feed. Null: they know nothing. */
  projected(): Promise<string | null>;
  /**
   * One step forward, all or none. False when `from` is not where they stand any more, because somebody else
   * went first, or because something was erased since: then what the step brings may hold it.
   */
  project(step: Projection): Promise<boolean>;
  /**
   * Records whose content holds every word of the text, the latest first; a trailing `*` finds beginnings.
   */
  search(
    text: string,
    options: { readonly limit: number; readonly session?: LogId },
  ): Promise<readonly { readonly session: LogId; readonly seq: number }[]>;
  /**
   * Runs one read-only statement over the documented views. Rejects with `invalid` for anything else. Ended
   * early, where the driver can, when the signal is aborted.
   */
  query(sql: string, options: QueryOptions): Promise<Answer>;

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
  /** After this everything rejects with `unavailable`. May be called twice. */
  close(): Promise<void>;
}
