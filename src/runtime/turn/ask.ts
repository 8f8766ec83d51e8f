/**
 * A run that a caller started: its updates, and its result. Both the library and the server's streams consume
 * it. Leaving the loop cancels nothing: the turn continues, here or in the process that runs the session.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { readEvents } from "../read/event-reader.ts";
import type { LiveDelta, LivePart } from "./live.ts";
import { ranOf, type RunResult, type RunRequest } from "./runner.ts";
import type { Deps } from "../deps.ts";
import { liveSession, wentOn } from "../read/successor.ts";
import { isFree } from "../read/lease-status.ts";
import { prepareRun, type PreparedRun } from "./prepare-run.ts";
import type { SessionEvent } from "../../core/event.ts";

/** Events of the log, and deltas of a streaming answer. */
export type SessionUpdate = SessionEvent | LiveDelta;

/**
 * A run, started by `ask` or `watch`. Iterate it for events and live deltas; or await `result` alone.
 *
 * @example
 * const run = session.ask("Summarize the log");
 * for await (const update of run) console.log(update.type);
 * console.log((await run.result).status);
 */
export interface SessionRun extends AsyncGenerator<SessionUpdate, RunResult> {
  /** The first position of the updates; for `ask`, that of the input, which is durable then. */
  readonly started: Promise<{ readonly seq: number; readonly session?: SessionId }>;
  /** Why the run ended. Rejects as the loop does. */
  readonly result: Promise<RunResult>;
}

interface Started {
  readonly seq: number;
  /** Where the run begins, if not in the session itself: it went on as this one. */
  readonly session?: SessionId;
}

interface RunSteps<T extends Started> {
  /** Writes or reads what the run starts from. */
  readonly start: () => Promise<T>;
  readonly run: (started: T) => Promise<RunResult>;
}

/** Starts a run at once. Updates are gathered only while the run is iterated. */
export function startRun<T extends Started>(deps: Deps, session: SessionId, steps: RunSteps<T>): SessionRun {
  let queue: UpdateQueue | null = null;
  const started = steps.start();
  const result = started.then((from) => {
    // Before the run begins: no delta of it is missed.
    queue?.startAt(from.seq);
    return steps.run(from);
  });
  // An unread failure of a run is not one of the process.
  started.catch(() => null);
  result.catch(() => null);

  /** Through the sessions that it goes on as: the reader sees one run. */
  async function* follow(): AsyncGenerator<SessionUpdate, RunResult> {
    queue = makeQueue();
    let unlisten = deps.live.subscribe(session, queue.delta);
    try {
      const from = await started;
      let at = from.session ?? session;
      if (at !== session) {
        unlisten();
        unlisten = deps.live.subscribe(at, queue.delta);
      }
      for (let fromSeq = from.seq; ; fromSeq = 1) {
        queue.startAt(fromSeq);
        const next: SessionId | null = yield* followOne(deps, at, fromSeq, queue, result);
        if (next === null) return await result;
        at = next;
        unlisten();
        queue = makeQueue();
        queue.startAt(1);
        // It may answer already.
        deps.live.subscribeWithBacklog(at, queue.part)();
        unlisten = deps.live.subscribe(at, queue.delta);
      }
    } finally {
      unlisten();
    }
  }
  return Object.assign(follow(), { started, result });
}

/** The updates of one session, up to the end of the run; or until it goes on as the returned one. */
async function* followOne(
  deps: Deps,
  session: SessionId,
  fromSeq: number,
  queue: UpdateQueue,
  result: Promise<RunResult>,
): AsyncGenerator<SessionUpdate, SessionId | null> {
  const over = new AbortController();
  const range = { fromSeq, follow: true, signal: over.signal };
  const reading = (async () => {
    const { store, writer } = deps;
    for await (const event of readEvents(store, session, range, writer.suspendRolledBack)) queue.event(event);
  })();
  reading.catch(queue.fail);
  // Delivers everything up to the end of the run before the run is over.
  const end = async (): Promise<void> => queue.endAt(await headSeq(deps, session));
  result.then(end, end).catch(queue.fail);
  try {
    for await (const update of queue.drain()) {
      yield update;
      if (update.type === "session.continued") {
        const { to } = update.body as { readonly to: SessionId };
        if (await isRunOn(deps, to)) return to;
      }
    }
    return null;
  } finally {
    over.abort();
    await reading.catch(() => null);
  }
}

/** A session that was deleted is not followed. */
const isRunOn = async ({ store }: Deps, session: SessionId): Promise<boolean> =>
  (await store.head(session)) !== undefined;

type UpdateQueue = ReturnType<typeof makeQueue>;

/** Events in their order, and each delta after the request it belongs to. */
function makeQueue() {
  const ready: SessionUpdate[] = [];
  const early: LiveDelta[] = [];
  /** Null before the run: earlier deltas belong to another run. */
  let seenSeq: number | null = null;
  let endSeq = Infinity;
  let failed: { readonly error: unknown } | null = null;
  let changed = Promise.withResolvers<void>();
  function delta(one: LiveDelta): void {
    if (seenSeq === null) return;
    if (one.requestSeq <= seenSeq && early.length === 0) ready.push(one);
    else early.push(one);
    changed.resolve();
  }
  return {
    startAt(fromSeq: number): void {
      seenSeq ??= fromSeq - 1;
    },
    event(event: SessionEvent): void {
      ready.push(event);
      seenSeq = event.seq;
      while (early[0] !== undefined && early[0].requestSeq <= seenSeq) ready.push(early.shift() as LiveDelta);
      changed.resolve();
    },
    delta,
    part({ requestSeq, deltas }: LivePart): void {
      for (const one of deltas) delta({ type: "delta", requestSeq, delta: one });
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
        if (seenSeq !== null && seenSeq >= endSeq) return;
        await changed.promise;
        changed = Promise.withResolvers();
      }
    },
  };
}

const headSeq = async ({ store }: Deps, session: SessionId): Promise<number> =>
  (await store.head(session))?.seq ?? 0;

/**
 * After an input. If another process runs the session, waits for its run, or for its lease if it died, and
 * then does what is left. If the input was already answered nothing is left, and the lease is not taken. A
 * session that goes on as another one is run there.
 */
export async function runOrWait(
  deps: Deps,
  session: SessionId,
  { prepared, ...request }: RunRequest & { readonly prepared: PreparedRun },
): Promise<RunResult> {
  let at = session;
  for (let run = prepared; ; run = await prepareRun(deps, at)) {
    const { turn, inbox, next } = run.state.standing;
    if (next !== null) {
      at = await liveSession(deps, at);
      if (at !== run.state.standing.session) continue;
    }
    if (turn === null && inbox.waiting.length === 0) return endedIn(session, at, ranOf(run.state));
    try {
      const ran = await deps.runs.run(at, { ...request, prepared: run });
      if (ran.status !== "closed") return endedIn(session, at, ran);
      if ((await liveSession(deps, at)) === at) return endedIn(session, at, ran);
      continue;
    } catch (error) {
      if (await wentOn(deps, at, error)) continue;
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
    await released(deps, at, request.signal);
    if (request.signal?.aborted === true) throw new SkeinError("unavailable", "aborted by the caller");
  }
}

/** Runs a session, and the one that it goes on as. */
export async function runOn(deps: Deps, session: SessionId, request: RunRequest): Promise<RunResult> {
  const ran = await deps.runs.run(session, request).catch(async (error: unknown) => {
    if (await wentOn(deps, session, error)) return null;
    throw error;
  });
  if (ran !== null && ran.status !== "closed") return ran;
  const live = await liveSession(deps, session);
  if (live === session) return ran ?? ranOf(await deps.writer.current(session));
  const { expectSeq: _, ...again } = request;
  return endedIn(
    session,
    live,
    await runOrWait(deps, live, { ...again, prepared: await prepareRun(deps, live) }),
  );
}

const endedIn = (session: SessionId, at: SessionId, ran: RunResult): RunResult =>
  ran.session !== undefined || at === session ? ran : { ...ran, session: at };

/** Resolves when the lease was released or has expired. */
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
