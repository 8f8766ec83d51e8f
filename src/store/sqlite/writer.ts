/**
 * The one write path into SQLite. Jobs that arrive in one turn of the event loop share a transaction, and so
 * one wait for the disk. A failed job is removed and the others run again without it, so a job must change
 * nothing but the database.
 */
import type { StoreWorld } from "../port.ts";
import { isBusy, waitForLock, type SqliteConnection } from "./connection.ts";

/** Jobs in one transaction; about 20 ms of work. */
const batchJobsMax = 512;

/** Pages in the -wal file at which a checkpoint runs; about 20 ms of work. */
const checkpointPages = 1_000;
/** Jobs between two checks of the number of pages. */
const checkpointLookJobs = 64;

/** Deferrable work runs for so long, then pauses: others check for the lock only at intervals. */
const workMs = 5;
const breathMs = 5;

export interface SqliteWriter {
  /**
   * Runs the job in a transaction; resolves once that is committed. `alone` may do the same in one statement
   * if no other job waits, or return null. `lost` answers if the commit is uncertain.
   */
  run<T>(
    job: () => T,
    more?: {
      readonly alone?: () => T | null;
      readonly lost?: (cause: unknown) => T;
      /** Its weight in plain jobs, by what it writes. */
      readonly weight?: number;
    },
  ): Promise<T>;
  /**
   * Runs a job in successive transactions until it returns false. In between, other programs can take the
   * lock, which they check only at intervals.
   */
  steps(job: () => boolean, more?: { readonly weight?: number }): Promise<void>;
  /** Runs other work in place of the jobs, which wait in their queue until it has ended. */
  hold<T>(work: () => Promise<T>): Promise<T>;
  /** Called after each commit. */
  onCommit(listener: () => void): void;
  idle(): Promise<void>;
}

/** The result of a checkpoint: pages in the -wal file, and those already in the main file. */
type Progress = readonly [busy: number, pages: number, moved: number];

interface PendingJob {
  readonly job: () => unknown;
  readonly alone: (() => unknown) | undefined;
  readonly lost: ((cause: unknown) => unknown) | undefined;
  readonly weight: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export function makeWriter(
  connection: SqliteConnection,
  options: {
    readonly world: StoreWorld;
    readonly lockWaitMs: number;
    readonly path: string;
    /** Right after a transaction began, and before a rollback. */
    readonly onBegin: () => void;
    readonly onRollback: () => void;
  },
): SqliteWriter {
  const { database } = connection;
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const progress = database.prepare("PRAGMA wal_checkpoint(NOOP)");
  const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  progress.setReturnArrays(true);
  const listeners: (() => void)[] = [];
  const waitingForIdle: (() => void)[] = [];
  /** Work that runs in place of jobs, before the next of them. */
  const holds: (() => Promise<void>)[] = [];
  let queue: PendingJob[] = [];
  let busy = false;
  let jobsSinceLook = 0;
  let breathedAt = 0;

  /** Synchronous unless another program holds the lock: an append pays only for what it needs. */
  function flush(): void {
    const batch = queue.length <= batchJobsMax ? queue : queue.slice(0, batchJobsMax);
    queue = queue.slice(batch.length);
    const poison = connection.poison();
    if (poison !== null) {
      // Poisoned since they were queued: certainly none of them is written.
      rejectAll(batch, poison);
      return next();
    }
    if (batch.length === 1 && batch[0] !== undefined && doneAlone(batch[0])) return next();
    try {
      connection.guard(() => begin.run());
    } catch (error) {
      if (isBusy(error)) return void flushLater(batch);
      rejectAll(batch, error);
      return next();
    }
    work(batch);
    next();
  }

  /** True if the job succeeded, or failed for good, without a separate transaction. */
  function doneAlone(pending: PendingJob): boolean {
    if (pending.alone === undefined) return false;
    try {
      const result = connection.guard(pending.alone);
      if (result === null) return false;
      pending.resolve(result as never);
      for (const listener of listeners) listener();
      checkpointIfDue(1);
    } catch (error) {
      if (isBusy(error)) return false;
      options.onRollback();
      answerLost([pending], error);
    }
    return true;
  }

  async function flushLater(batch: readonly PendingJob[]): Promise<void> {
    try {
      await waitForLock(options, () => connection.guard(() => begin.run()));
      work(batch);
    } catch (error) {
      rejectAll(batch, error);
    }
    next();
  }

  async function runHold(hold: () => Promise<void>): Promise<void> {
    await hold();
    next();
  }

  function next(): void {
    const hold = holds.shift();
    if (hold !== undefined) {
      busy = true;
      return void runHold(hold);
    }
    busy = queue.length > 0;
    if (busy) options.world.defer(flush);
    else for (const resolve of waitingForIdle.splice(0)) resolve();
  }

  /** With the lock held: runs the jobs, again without each one that fails, and commits. */
  function work(batch: readonly PendingJob[]): void {
    let left = batch;
    try {
      for (;;) {
        connection.guard(options.onBegin);
        const failed = attempt(left);
        if (failed === null) break;
        left = left.filter((pending) => pending !== failed);
        if (left.length === 0) return;
        // This lock is free soon: this connection has just released it.
        connection.guard(() => begin.run());
      }
      checkpointIfDue(batch.reduce((sum, { weight }) => sum + weight, 0));
    } catch (error) {
      rejectAll(left, error);
    }
  }

  function rejectAll(batch: readonly PendingJob[], error: unknown): void {
    for (const pending of batch) pending.reject(error);
  }

  /** After all answers. An I/O error here poisons the store like any other. */
  function checkpointIfDue(jobs: number): void {
    jobsSinceLook += jobs;
    if (jobsSinceLook < checkpointLookJobs) return;
    jobsSinceLook = 0;
    connection.lookForFile();
    const [, pages, moved] = connection.guard(() => progress.get()) as unknown as Progress;
    if (pages >= checkpointPages && moved < pages) connection.guard(() => checkpoint.run());
  }

  /** Runs and commits; answers all jobs, or returns the one that failed, with nothing written. */
  function attempt(batch: readonly PendingJob[]): PendingJob | null {
    const results: unknown[] = [];
    for (const pending of batch) {
      try {
        results.push(connection.guard(pending.job));
      } catch (error) {
        rollback();
        pending.reject(error);
        const poison = connection.poison();
        if (poison !== null) throw poison;
        return pending;
      }
    }
    try {
      connection.guard(() => commit.run());
    } catch (error) {
      rollback();
      answerLost(batch, error);
      return null;
    }
    for (const [place, pending] of batch.entries()) pending.resolve(results[place] as never);
    for (const listener of listeners) listener();
    return null;
  }

  /** After an I/O error at COMMIT the outcome is unknown; any other error means that nothing was written. */
  function answerLost(batch: readonly PendingJob[], error: unknown): void {
    const certain = connection.poison() === null;
    for (const pending of batch) {
      if (certain || pending.lost === undefined) pending.reject(error);
      else pending.resolve(pending.lost(error) as never);
    }
  }

  function rollback(): void {
    options.onRollback();
    try {
      if (database.isTransaction) database.exec("ROLLBACK");
    } catch {
      // The transaction is over either way: SQLite ends it on the errors that prevent a rollback.
    }
  }

  const run: SqliteWriter["run"] = (job, { alone, lost, weight = 1 } = {}) => {
    const poison = connection.poison();
    if (poison !== null) return Promise.reject(poison);
    return new Promise((resolve, reject) => {
      queue.push({ job, alone, lost, weight, resolve, reject });
      if (busy) return;
      busy = true;
      options.world.defer(flush);
    });
  };

  return {
    run,
    async steps(job, more) {
      const { now, sleep } = options.world;
      while (await run(job, more)) {
        if (now() - breathedAt < workMs) continue;
        await sleep(breathMs);
        breathedAt = now();
      }
    },
    hold: (work) =>
      new Promise((resolve, reject) => {
        holds.push(() => work().then(resolve, reject));
        if (!busy) next();
      }),
    onCommit: (listener) => void listeners.push(listener),
    idle: () => (busy ? new Promise((resolve) => void waitingForIdle.push(resolve)) : Promise.resolve()),
  };
}
