/** The session index: what lists show of sessions, and their lineage. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import type { ScheduleField } from "./schedule.ts";

/**
 * What the session index knows of a session besides its log. Its texts come from contents, so they are erased
 * with them.
 */
export interface IndexEntry {
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly name: string | null;
  readonly objective: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Pending messages: to other stores without confirmation, or requests; absent: none. */
  readonly outbox?: number;
  /** Its inbox rejects more messages from sessions. */
  readonly full?: true;
  /** When it next has work: 0 now; absent: none until the next append. */
  readonly due?: number;
  /** Its current model; absent if it has none yet. */
  readonly model?: string;
  /** A worker must watch something for it: files, other sessions, checks. */
  readonly watches?: true;
  /** The deadline; absent without one. */
  readonly deadline?: number;
  /** What it waits for while nothing is due, in a word or two; absent if nothing. */
  readonly waits?: string;
  /** The names of its triggers, as a text; absent if it has none. */
  readonly triggers?: string;
  /** Absent: the context is OK. */
  readonly zone?: "strained" | "full";
  /** Its cost, as `spendOf` of src/core/budget/money.ts computes it; absent: zero. */
  readonly nanoUsd?: number;
  /** The upper bound of its unconfirmed cost; absent: zero. */
  readonly unconfirmedNanoUsd?: number;
  /** Model calls of an unknown price; absent: none. */
  readonly unpriced?: number;
}

/** A session in the index. */
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

/** Filters of a list of sessions. */
export interface SessionFilter {
  readonly agent?: string;
  readonly status?: readonly SessionStatus[];
  readonly labels?: Readonly<Record<string, string>>;
  /** A substring of name or objective, ignoring the case of ASCII letters. */
  readonly text?: string;
  /** Last activity at or after, and before. */
  readonly activeSince?: number;
  readonly activeBefore?: number;
  /** Only sessions with pending messages. */
  readonly outbox?: true;
  /** Only sessions that need watching. */
  readonly watches?: true;
  /** Only these; absent ones are left out. There may be thousands. */
  readonly sessions?: readonly SessionId[];
}

/** A page of a list. */
export interface ResultPage<T> {
  readonly rows: readonly T[];
  /** Where to continue; null at the end. Opaque. */
  readonly cursor: string | null;
}

/** The capability of a store to list sessions. */
export interface IndexStore {
  /**
   * Every log, including the workspace's, a fork after its parent. In a corrupt store an id may be any text;
   * pages must still advance, so a driver pages by its own key.
   */
  logs(after: string | null, limit: number): Promise<ResultPage<LogId>>;
  /** Sessions, the most recently active first. */
  list(
    filter: SessionFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): Promise<ResultPage<SessionRow>>;
  /** Ids of sessions with this suffix; at most `limit`. */
  endingWith(ending: string, limit: number): Promise<readonly SessionId[]>;
  /** Existing forks of a session, and their fork points. */
  forks(session: SessionId): Promise<readonly { readonly session: SessionId; readonly seq: number }[]>;
  /**
   * Existing sessions whose first record names this one as their origin (core/branch/origin.ts); it may be
   * deleted.
   */
  openedFrom(session: SessionId): Promise<readonly SessionId[]>;
  /** Corrects the index without a record. False, and nothing changes, if the log is not at `atSeq`. */
  index(session: SessionId, entry: IndexEntry, atSeq: number): Promise<boolean>;
}
