/** Leases, and the schedule for workers and servers. Without them, a store is for one process. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";

/** A session that is due, or running. */
export interface DueRow {
  readonly session: SessionId;
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly model: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /** As in the index; null if nothing is due. */
  readonly due: number | null;
  /** The deadline; null without one. */
  readonly deadlineMs: number | null;
  /**
   * When it became due by the store's clock: when work appeared, or when a runner last released it, whichever
   * was later. A future time, or 0, if nothing is due now.
   */
  readonly sinceMs: number;
  /**
   * Its runner and the end of the lease by the store's clock, expired or not; of two leases the one with the
   * smaller `order` was taken first, and the holder of the other one sees it.
   */
  readonly lease: { readonly holder: string; readonly untilMs: number; readonly order: number } | null;
}

/** The index fields for workers, and for monitoring them. */
export type ScheduleField =
  | "due"
  | "deadline"
  | "model"
  | "watches"
  | "waits"
  | "triggers"
  | "zone"
  | SpendField;

/** The index fields for money. */
export type SpendField = "nanoUsd" | "unconfirmedNanoUsd" | "unpriced";

/** Everything the index knows of a session besides the fields of lists. */
export interface ScheduledRow extends DueRow {
  readonly waits: string | null;
  readonly triggers: string | null;
  readonly zone: "smart" | "strained" | "full";
  readonly nanoUsd: number;
  readonly unconfirmedNanoUsd: number;
  readonly unpriced: number;
  /** As in `Head`: nothing is due, and only its identity and cost are known. */
  readonly copy?: true;
}

/** The sessions that match every field. */
export interface RunMatch {
  readonly agent?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A worker, as it announces itself. */
export interface WorkerRow {
  readonly name: string;
  readonly sinceMs: number;
  /** By the store's clock: without a heartbeat until then, it counts as dead. */
  readonly untilMs: number;
  /** The most sessions it runs at once. */
  readonly concurrency: number;
  /** The most it runs of each match, and all workers together. */
  readonly limits: readonly (RunMatch & { readonly running: number })[];
}

/** A server process, as it announces itself to the others on the store. */
export interface ServerRow {
  /** Its name as a lease holder. */
  readonly holder: string;
  /** Its URL for the others: `http://10.0.0.5:7717`. */
  readonly address: string;
  /** The credential that the others present to it. Made by the process, and lost with it. */
  readonly secret: string;
  /** By the store's clock: it gets no requests after that. */
  readonly untilMs: number;
}

/** The capability of a store to list due sessions, workers and servers. */
export interface ScheduleStore {
  /** The store's clock, which decides on leases, as estimated since the last call. */
  now(): number;
  /** Reads the store's clock now: of the database server, the file system, or this process. */
  readClock(): Promise<number>;
  /** Extends the lease, by the store's clock. False if the epoch is not in force. */
  renew(session: LogId, epoch: number, leaseMs: number): Promise<boolean>;
  /**
   * Sessions that are due by `nowMs`, the most urgent first: by priority; among equals the nearest deadline
   * of those that have one and are due now; then agents take turns, so that none hides another, and within an
   * agent the longest due is first. Leaves out sessions under a valid lease, by the store's clock, and those
   * that `except` matches. At most `limit`, and at most `perAgent` of one agent and priority.
   */
  due(options: {
    readonly nowMs: number;
    readonly limit: number;
    readonly perAgent: number;
    readonly except?: readonly RunMatch[];
  }): Promise<readonly DueRow[]>;
  /** The earliest time after `afterMs` at which a session becomes due; null if none does. */
  nextDue(afterMs: number): Promise<number | null>;
  /** Sessions with a lease, also an expired one; in the order they were taken. */
  leased(): Promise<readonly DueRow[]>;
  /** The same for these sessions, in this order; missing sessions are left out. */
  scheduled(sessions: readonly SessionId[]): Promise<readonly ScheduledRow[]>;
  /** Registers a worker until a time; a time in the past removes it. */
  beat(worker: WorkerRow): Promise<void>;
  /** Workers with a heartbeat, including those dead for less than an hour. */
  workers(): Promise<readonly WorkerRow[]>;
  /** Registers the URL of a process until a time; a time in the past removes it. */
  announce(server: ServerRow): Promise<void>;
  /** The currently registered servers. No library call exposes their secrets. */
  servers(): Promise<readonly ServerRow[]>;
}
