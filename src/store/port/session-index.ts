/** The session index: what lists show of sessions, and how they come from one another. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import type { ScheduleField } from "./schedule.ts";

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

/** A page of a list. */
export interface ResultPage<T> {
  readonly rows: readonly T[];
  /** Where to go on; null at the end. Opaque. */
  readonly cursor: string | null;
}

/** The capability of a store to list sessions. */
export interface IndexStore {
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
}
