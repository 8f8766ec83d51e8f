/**
 * The one write path into SQLite. Jobs that arrive in one turn of the event loop share a transaction, and so
 * one wait for the disk. A job that fails is taken out and the others run again without it, so a job must not
 * change anything but the database.
 */
import type { StoreWorld } from "../port.ts";
import { isBusy, waitForLock, type Connection } from "./connection.ts";

/** Jobs in one transaction; about 20 ms of work. */
const batchJobsMax = 512;

/** Pages in the -wal file from which on they are moved to the main file; about 20 ms of work. */
const checkpointPages = 1_000;

export interface Writer {
  /**
   * Runs the job in a transaction; resolves once that is committed. `lost` answers when nobody can tell
   * whether it is.
   */
  run<T>(job: () => T, lost?: (cause: unknown) => T): Promise<T>;
  /** Called after each commit. */
  onCommit(listener: () => void): void;
  idle(): Promise<void>;
}

/** What SQLite says of a checkpoint: pages in the -wal file, and those of them that the main file has too. */
type Progress = readonly [busy: number, pages: number, moved: number];

interface Pending {
  readonly job: () => unknown;
  readonly lost: ((cause: unknown) => unknown) | undefined;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export function makeWriter(
  connection: Connection,
  options: {
    readonly world: StoreWorld;
    readonly lockWaitMs: number;
    readonly path: string;
    /** Right after a transaction began, and before it is undone. */
    readonly onBegin: () => void;
    readonly onRollback: () => void;
  },
): Writer {
  const { database } = connection;
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const progress = database.prepare("PRAGMA wal_checkpoint(NOOP)");
  const checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  progress.setReturnArrays(true);
  const listeners: (() => void)[] = [];
  let queue: Pending[] = [];
  let flushing: Promise<void> | null = null;

  const start = () => {
    flushing ??= new Promise((done) => {
      options.world.defer(() => {
        void flush().finally(() => {
          flushing = null;
          if (queue.length > 0) start();
          done();
        });
      });
    });
  };

  async function flush(): Promise<void> {
    const batch = queue.slice(0, batchJobsMax);
    queue = queue.slice(batchJobsMax);
    let left = batch;
    try {
      while (left.length > 0) {
        await beginSoon();
        connection.guard(options.onBegin);
        const failed = attempt(left);
        if (failed === null) return checkpointIfDue();
        left = left.filter((pending) => pending !== failed);
      }
    } catch (error) {
      for (const pending of left) pending.reject(error);
    }
  }

  /** After everybody was answered. An I/O error here poisons the store like any other. */
  function checkpointIfDue(): void {
    const [, pages, moved] = connection.guard(() => progress.get()) as unknown as Progress;
    if (pages >= checkpointPages && moved < pages) connection.guard(() => checkpoint.run());
  }

  /** Most often at once; a promise is made only when another program holds the lock. */
  function beginSoon(): Promise<void> | void {
    try {
      connection.guard(() => begin.run());
    } catch (error) {
      if (!isBusy(error)) throw error;
      return waitForLock(options, () => connection.guard(() => begin.run())).then(() => undefined);
    }
  }

  /** Runs and commits; answers everybody, or returns the one job that failed, with nothing written. */
  function attempt(batch: readonly Pending[]): Pending | null {
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

  /** After an I/O error at COMMIT nobody knows; any other error means that nothing was written. */
  function answerLost(batch: readonly Pending[], error: unknown): void {
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
      // The transaction is gone either way: SQLite ends it by itself on the errors that prevent a rollback.
    }
  }

  return {
    run(job, lost) {
      const poison = connection.poison();
      if (poison !== null) return Promise.reject(poison);
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      queue.push({ job, lost, resolve, reject });
      start();
      return promise;
    },
    onCommit: (listener) => void listeners.push(listener),
    async idle() {
      for (let last = flushing; last !== null; last = flushing) await last;
    },
  };
}
