/**
 * Asking: an input, and everything that comes of it, as it comes. Breaking off the loop cancels nothing: the
 * turn goes on, here or in the process that runs the session.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { readEvents, type SessionEvent } from "../read/event-reader.ts";
import type { LiveDelta } from "./live.ts";
import { ranOf, type RunResult, type RunOptions } from "./runner.ts";
import type { Deps } from "../deps.ts";
import { isFree } from "../read/lease-status.ts";

/** Events of the log, and deltas that are heard while an answer is made. */
export type SessionUpdate = SessionEvent | LiveDelta;

/** Runs the session, and tells what happens from a position on until it is idle or stands still. */
export async function* followRun(
  deps: Deps,
  session: SessionId,
  fromSeq: number,
  options: RunOptions & { readonly wait?: boolean } = {},
): AsyncGenerator<SessionUpdate, RunResult> {
  const { wait = false, ...run } = options;
  const queue = makeQueue(fromSeq);
  const over = new AbortController();
  const unlisten = deps.live.listen(session, queue.delta);
  const reading = (async () => {
    const follow = { fromSeq, follow: true, signal: over.signal };
    const { store, writer } = deps;
    for await (const event of readEvents(store, session, follow, writer.setBack)) queue.event(event);
  })();
  reading.catch(queue.fail);
  const running = wait ? runOrWait(deps, session, run) : deps.runs.run(session, run);
  // What was written up to the end of the run is told before the run is over.
  const ending = running.then(
    async (ran) => {
      queue.endAt(await headSeq(deps, session));
      return ran;
    },
    async (error: unknown) => {
      queue.endAt(await headSeq(deps, session));
      throw error;
    },
  );
  ending.catch(() => null);
  try {
    yield* queue.drain();
    return await ending;
  } finally {
    over.abort();
    unlisten();
    await reading.catch(() => null);
  }
}

/** Events in their order, and each delta after the request it belongs to. */
function makeQueue(fromSeq: number) {
  const ready: SessionUpdate[] = [];
  const early: LiveDelta[] = [];
  let seenSeq = fromSeq - 1;
  let endSeq = Infinity;
  let failed: { readonly error: unknown } | null = null;
  let changed = Promise.withResolvers<void>();
  return {
    event(event: SessionEvent): void {
      ready.push(event);
      seenSeq = event.seq;
      while (early[0] !== undefined && early[0].requestSeq <= seenSeq) ready.push(early.shift() as LiveDelta);
      changed.resolve();
    },
    delta(delta: LiveDelta): void {
      if (delta.requestSeq <= seenSeq && early.length === 0) ready.push(delta);
      else early.push(delta);
      changed.resolve();
    },
    endAt(seq: number): void {
      endSeq = seq;
      changed.resolve();
    },
    fail(error: unknown): void {
      failed = { error };
      changed.resolve();
    },
    async *drain(): AsyncGenerator<SessionUpdate, void> {
      for (;;) {
        for (let one = ready.shift(); one !== undefined; one = ready.shift()) yield one;
        if (failed !== null) throw (failed as { error: unknown }).error;
        if (seenSeq >= endSeq) return;
        await changed.promise;
        changed = Promise.withResolvers();
      }
    },
  };
}

const headSeq = async ({ store }: Deps, session: SessionId): Promise<number> =>
  (await store.head(session))?.seq ?? 0;

/**
 * After an input. Somebody else may run the session: then their run is waited for, and if they are gone,
 * their lease. What is left to do after that is done here. Of an input that was answered before nothing is
 * left, and the lease is not taken.
 */
export async function runOrWait(deps: Deps, session: SessionId, options: RunOptions): Promise<RunResult> {
  for (;;) {
    const state = await deps.writer.current(session);
    const { turn, inbox } = state.standing;
    if (turn === null && inbox.waiting.length === 0) return ranOf(state);
    try {
      return await deps.runs.run(session, options);
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
    await released(deps, session, options.signal);
    if (options.signal?.aborted === true) throw new SkeinError("unavailable", "the wait was broken off");
  }
}

/** Resolves when the lease was given back or has run out. */
async function released(deps: Deps, session: SessionId, signal: AbortSignal | undefined): Promise<void> {
  const { store, world } = deps;
  for (;;) {
    const lease = (await store.head(session))?.lease ?? null;
    if (lease === null || isFree(deps, lease) || signal?.aborted === true) return;
    const leftMs = lease.untilMs - store.now();
    const changed = new AbortController();
    const unwatch = store.watch(() => changed.abort());
    const either = signal === undefined ? changed.signal : AbortSignal.any([changed.signal, signal]);
    await world.sleep(Math.min(leftMs, 1_000), either);
    unwatch();
  }
}
