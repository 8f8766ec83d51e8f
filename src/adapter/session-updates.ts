/**
 * The updates of a session from a position on: events of the log, and live deltas of answers, each after its
 * request. An answer that was already being generated comes from its beginning, or not before it is complete.
 */
import type { SessionEvent } from "../core/event.ts";
import { internalsOf } from "../runtime/engine/internals.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { Session } from "../runtime/engine/session.ts";
import type { SessionUpdate } from "../runtime/turn/ask.ts";
import type { ModelDelta } from "../runtime/turn/live.ts";

/** An update, or a mark between updates. */
export type StreamUpdate = SessionUpdate | StreamMark;

/**
 * `caught-up`: the events so far were those of the log at the start. `ran`: they are all of the run.
 * `failed`: the run ended with an error. `idle`: nothing came for a while.
 */
export type StreamMark =
  | { readonly mark: "caught-up" | "ran" | "idle" }
  | { readonly mark: "failed"; readonly error: unknown };

interface SessionFollowOptions {
  readonly fromSeq: number;
  /** The types of the events to read. */
  readonly types: readonly string[];
  readonly signal: AbortSignal;
  /** The run to wait for. Null: another process runs the session, and its records are followed. */
  readonly run?: Promise<object | null> | undefined;
}

const idleMs = 15_000;
const waitingEvents = 64;

/** Ends when the signal is aborted. */
export async function* followSession(
  engine: Engine,
  session: Session,
  { fromSeq, types, signal, run }: SessionFollowOptions,
): AsyncGenerator<StreamUpdate> {
  const { world } = internalsOf(engine);
  const queue = makeUpdateQueue();
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  either.addEventListener("abort", queue.wake, { once: true });
  const headSeq = (await session.head()).seq;
  const unsubscribe = subscribe(engine, session, headSeq, queue.delta);
  const reading = readInto(session, { fromSeq, types, headSeq, run, signal: either }, queue);
  try {
    while (!either.aborted) {
      for (let one = queue.next(); one !== undefined; one = queue.next()) yield one;
      const quiet = new AbortController();
      const idle = world.sleep(idleMs, AbortSignal.any([either, quiet.signal])).then(() => true);
      const isIdle = await Promise.race([idle, queue.changed().then(() => false)]);
      quiet.abort();
      if (isIdle && !either.aborted) yield { mark: "idle" };
    }
  } finally {
    stop.abort();
    unsubscribe();
    await reading;
  }
}

async function readInto(
  session: Session,
  { fromSeq, types, headSeq, run, signal }: SessionFollowOptions & { readonly headSeq: number },
  queue: UpdateQueue,
): Promise<void> {
  let nextSeq = fromSeq;
  const read = async (range: { readonly toSeq?: number; readonly until?: AbortSignal }): Promise<void> => {
    const { toSeq, until } = range;
    const follow = until === undefined ? {} : { follow: true, signal: until };
    const end = toSeq === undefined ? {} : { toSeq };
    if (toSeq !== undefined && toSeq < nextSeq) return;
    for await (const event of session.events({ fromSeq: nextSeq, types, ...end, ...follow })) {
      nextSeq = event.seq + 1;
      queue.event(event);
      await queue.room(signal);
      if (signal.aborted) return;
    }
  };
  try {
    await read({ toSeq: headSeq });
    queue.add({ mark: "caught-up" });
    if (run !== undefined) {
      const ran = new AbortController();
      const ended = run.then(
        (result) => (result === null ? null : ({ mark: "ran" } as const)),
        (error: unknown) => ({ mark: "failed", error }) as const,
      );
      void ended.then(() => ran.abort());
      await read({ until: AbortSignal.any([signal, ran.signal]) });
      if (signal.aborted) return;
      await read({ toSeq: (await session.head()).seq });
      const mark = await ended;
      if (mark !== null) queue.add(mark);
    }
    await read({ until: signal });
  } catch (error) {
    queue.add({ mark: "failed", error });
  }
}

/** Deltas of this process, those of the answer in progress included; of others, those of later answers. */
function subscribe(
  engine: Engine,
  session: Session,
  headSeq: number,
  add: (requestSeq: number, delta: ModelDelta) => void,
): () => void {
  const { live } = internalsOf(engine);
  const own = new Set<number>();
  const stops = [
    live.subscribeWithBacklog(session.id, ({ requestSeq, deltas }) => {
      own.add(requestSeq);
      for (const delta of deltas) add(requestSeq, delta);
    }),
    live.subscribe(session.id, ({ requestSeq, delta }) => {
      if (!own.has(requestSeq) && requestSeq > headSeq) add(requestSeq, delta);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

type UpdateQueue = ReturnType<typeof makeUpdateQueue>;

/** Events in order, and each delta after its request. Deltas that a slow reader has not taken are joined. */
function makeUpdateQueue() {
  const ready: StreamUpdate[] = [];
  const early = new Map<number, ModelDelta[]>();
  let seenSeq = 0;
  let changed = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();

  const addDelta = (requestSeq: number, delta: ModelDelta): void => {
    const last = ready.at(-1);
    const isSame = last !== undefined && "delta" in last && last.requestSeq === requestSeq;
    const before = isSame ? last.delta : undefined;
    if (before !== undefined && before.type !== "tool-call" && before.type === delta.type)
      ready[ready.length - 1] = {
        type: "delta",
        requestSeq,
        delta: { ...before, text: before.text + delta.text },
      };
    else ready.push({ type: "delta", requestSeq, delta });
  };

  return {
    add(update: StreamUpdate): void {
      ready.push(update);
      changed.resolve();
    },
    event(event: SessionEvent): void {
      ready.push(event);
      seenSeq = event.seq;
      for (const [requestSeq, deltas] of early) {
        if (requestSeq > seenSeq) continue;
        early.delete(requestSeq);
        for (const delta of deltas) addDelta(requestSeq, delta);
      }
      changed.resolve();
    },
    delta(requestSeq: number, delta: ModelDelta): void {
      if (requestSeq <= seenSeq) addDelta(requestSeq, delta);
      else early.set(requestSeq, [...(early.get(requestSeq) ?? []), delta]);
      changed.resolve();
    },
    next(): StreamUpdate | undefined {
      const one = ready.shift();
      if (ready.length < waitingEvents) taken.resolve();
      return one;
    },
    wake: (): void => {
      changed.resolve();
      taken.resolve();
    },
    async changed(): Promise<void> {
      await changed.promise;
      changed = Promise.withResolvers();
    },
    /** Waits until the reader has taken most of what there is. */
    async room(signal: AbortSignal): Promise<void> {
      while (ready.length >= waitingEvents && !signal.aborted) {
        taken = Promise.withResolvers();
        await taken.promise;
      }
    },
  };
}
