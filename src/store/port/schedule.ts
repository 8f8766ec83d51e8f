/** Leases, and what workers and servers go by. Without them, a store is for one process. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";

/** A session that is due, or is run. */
export interface DueRow {
  readonly session: SessionId;
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly model: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** As in the index; null when nothing is due. */
  readonly due: number | null;
  /** Until when it is to be done; null: whenever. */
  readonly deadlineMs: number | null;
  /**
   * Since when, by the store's clock: since it came to have something to do, or since a runner last gave it
   * back, whichever was later. A time to come, or 0, when nothing is due at once.
   */
  readonly sinceMs: number;
  /**
   * Who runs it and until when, by the store's clock, whether that is over or not; of two leases the one with
   * the smaller `order` was taken first, and whoever took the other one sees it.
   */
  readonly lease: { readonly holder: string; readonly untilMs: number; readonly order: number } | null;
}

/** What of the index is for workers, and for those who look at what they do. */
export type ScheduleField =
  | "due"
  | "deadline"
  | "model"
  | "watches"
  | "waits"
  | "triggers"
  | "zone"
  | SpendField;

/** What of the index is money. */
export type SpendField = "nanoUsd" | "unconfirmedNanoUsd" | "unpriced";

/** All that the index knows of a session besides what lists show. */
export interface ScheduledRow extends DueRow {
  readonly waits: string | null;
  readonly triggers: string | null;
  readonly zone: "smart" | "strained" | "full";
  readonly nanoUsd: number;
  readonly unconfirmedNanoUsd: number;
  readonly unpriced: number;
  /** As in `Head`: nothing is due, and no more is known of it than what it is and has cost. */
  readonly copy?: true;
}

/** Which sessions: each that has all of it. */
export interface RunMatch {
  readonly agent?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A worker, as it makes itself known. */
export interface WorkerRow {
  readonly name: string;
  readonly sinceMs: number;
  /** By the store's clock: who is not heard of until then is gone. */
  readonly untilMs: number;
  /** How many sessions it runs at most. */
  readonly concurrency: number;
  /** Of which it runs how many at most, and all workers together. */
  readonly limits: readonly (RunMatch & { readonly running: number })[];
}

/** A process that serves, as it makes itself known to the others that share the store. */
export interface ServerRow {
  /** As the leases name it that are held there. */
  readonly holder: string;
  /** Where the others reach it: `http://10.0.0.5:7717`. */
  readonly address: string;
  /** What they show that they know, so that it talks to them. Made by the process, and gone with it. */
  readonly secret: string;
  /** By the store's clock: it is not asked for anything after that. */
  readonly untilMs: number;
}

/** The capability of a store to list due sessions, workers and servers. */
export interface ScheduleStore {
  /** The store's clock, by which leases run out; as well as this process knows it since its last call. */
  now(): number;
  /** Reads the store's clock now: the database server's, the file system's, or this process's. */
  readClock(): Promise<number>;
  /** Moves the end of the lease, by the store's clock. False when the epoch is not the one in force. */
  renew(session: LogId, epoch: number, leaseMs: number): Promise<boolean>;
  /**
   * Sessions that are due by `nowMs`, the most urgent first: by priority; among equals the nearest deadline
   * of those that have one and are due at once; then agents take turns, so that none hides another however
   * many it has, and of one agent the longest due is first. Those under a lease that has not run out, by the
   * store's clock, are left out, and so are those that `except` names. At most `limit`, and at most
   * `perAgent` of one agent and priority.
   */
  due(options: {
    readonly nowMs: number;
    readonly limit: number;
    readonly perAgent: number;
    readonly except?: readonly RunMatch[];
  }): Promise<readonly DueRow[]>;
  /** The earliest moment after `afterMs` at which a session becomes due; null when none does. */
  nextDue(afterMs: number): Promise<number | null>;
  /** Sessions that somebody holds the lease of, also one that has run out; in the order they were taken. */
  leased(): Promise<readonly DueRow[]>;
  /** The same for these sessions, in this order; sessions that do not exist are left out. */
  scheduled(sessions: readonly SessionId[]): Promise<readonly ScheduledRow[]>;
  /** Makes a worker known until a moment, or with a moment that is past, forgets it. */
  beat(worker: WorkerRow): Promise<void>;
  /** Workers that were heard of, also those that are gone for less than an hour. */
  workers(): Promise<readonly WorkerRow[]>;
  /** Makes known until a moment where a process is reached, or with a moment that is past, forgets it. */
  announce(server: ServerRow): Promise<void>;
  /** Those that are known now, by their holders. No call of the library shows what is in them. */
  servers(): Promise<readonly ServerRow[]>;
}
