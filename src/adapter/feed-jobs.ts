/**
 * Work that follows from events: a job for each session that has some, run again when its log or another one
 * it looks at has news, and when its time has come. The log says what is to be done, so a job that dies with
 * its process begins again at the next start; several servers may run the same job, and the log decides.
 */
import type { StoredRecord } from "../core/chain.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import { internalsOf } from "../runtime/engine/internals.ts";
import { followFeed, type FeedFollower } from "../server/outbound/feed-follow.ts";

export interface FeedJobs {
  /** The keys of all jobs: run at the start, and after a rollback of the store. */
  readonly all: () => Promise<Iterable<string>>;
  /** The jobs that records concern. */
  readonly concerned: (records: readonly StoredRecord[]) => Promise<Iterable<string>>;
  /** Does what is due. Resolves to when it is to run again; null: with the next record. */
  readonly run: (key: string, signal: AbortSignal) => Promise<number | null>;
  readonly trouble: (error: unknown) => void;
}

/** At once; a call that waits for its receiver takes a place. */
const placesMax = 16;
const againMsMin = 1_000;
const againMsMax = 60_000;

interface Job {
  isRunning: boolean;
  /** There was news since the run began. */
  isBehind: boolean;
  failures: number;
  /** Ends the wait for its time. */
  wait: AbortController;
}

/** Begins at once. */
export async function followJobs(engine: Engine, jobs: FeedJobs): Promise<FeedFollower> {
  const { store, world } = internalsOf(engine);
  const over = new AbortController();
  const known = new Map<string, Job>();
  const running = new Set<Promise<void>>();
  const waiting: string[] = [];

  function wake(key: string): void {
    if (over.signal.aborted) return;
    const job = known.get(key) ?? {
      isRunning: false,
      isBehind: false,
      failures: 0,
      wait: new AbortController(),
    };
    known.set(key, job);
    job.wait.abort();
    if (job.isRunning) job.isBehind = true;
    else if (running.size >= placesMax) {
      if (!waiting.includes(key)) waiting.push(key);
    } else {
      job.isRunning = true;
      const one: Promise<void> = run(key, job).finally(() => {
        running.delete(one);
        const next = waiting.shift();
        if (next !== undefined) wake(next);
      });
      running.add(one);
    }
  }

  async function run(key: string, job: Job): Promise<void> {
    let nextMs: number | null = null;
    do {
      job.isBehind = false;
      try {
        nextMs = await jobs.run(key, over.signal);
        job.failures = 0;
      } catch (error) {
        if (over.signal.aborted) return;
        jobs.trouble(error);
        nextMs = store.now() + Math.min(againMsMin * 2 ** job.failures, againMsMax);
        job.failures += 1;
      }
    } while (job.isBehind && !over.signal.aborted);
    job.isRunning = false;
    if (nextMs === null) known.delete(key);
    else void wakeAt(key, job, nextMs);
  }

  async function wakeAt(key: string, job: Job, atMs: number): Promise<void> {
    const wait = new AbortController();
    job.wait = wait;
    await world.sleep(Math.max(0, atMs - store.now()), AbortSignal.any([wait.signal, over.signal]));
    if (!wait.signal.aborted) wake(key);
  }

  const wakeAll = async (): Promise<void> => {
    for (const key of await jobs.all()) wake(key);
  };

  const following = await followFeed(engine, {
    trouble: jobs.trouble,
    async heard({ records }) {
      for (const key of await jobs.concerned(records)) wake(key);
    },
    async rolledBack(common) {
      await wakeAll();
      return common ?? (await store.feedEnd());
    },
  });
  await wakeAll();
  return {
    async stop() {
      over.abort();
      await following.stop();
      await Promise.all(running);
    },
  };
}
