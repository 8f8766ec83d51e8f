/**
 * What streams of one engine share: one watcher of the store, one reading of what is new, one beat. An event
 * is read and written out once, however many listen.
 */
import { limit } from "../../core/limit.ts";
import type { LogId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { stepFeed, type FeedStep } from "./feed-cursor.ts";
import { eventFrame, eventId, SharedFrame } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

/** Whoever is told of what is new in one log. */
export interface Listener {
  /** An event that has just come in, and how it stands in a stream. */
  heard(event: SessionEvent, frame: SharedFrame): void;
  /** Something may have come in that it was not told of: it is to look for itself. */
  behind(): void;
}

export interface Hub {
  /** Until the function that comes back is called. */
  listen(log: LogId, listener: Listener): () => void;
  /** Told soon after anything was appended anywhere; says nothing of what. */
  watch(changed: () => void): () => void;
  /** One page on in the feed. A reading under way is everybody's who wants the same. */
  step(after: string | null): Promise<FeedStep>;
  /** Whoever wants a page from now on is given no reading that began before. */
  anew(): void;
  /** Told every so often. */
  beat(beaten: () => void): () => void;
  stop(): void;
}

const pageRecords = 200;

export function makeHub(engine: Engine, trouble: (error: unknown) => void): Hub {
  const { store, world } = internalsOf(engine);
  const listeners = new Map<LogId, Set<Listener>>();
  const watchers = new Set<() => void>();
  const beaters = new Set<() => void>();
  /** Readings of the feed, by the position they go on from. */
  const underWay = new Map<string | null, Promise<FeedStep>>();
  const over = new AbortController();
  let unwatch: (() => void) | null = null;
  let position: string | null = null;
  let reading = false;
  let again = false;
  void beating();

  async function beating(): Promise<void> {
    while (!over.signal.aborted) {
      await world.sleep(limit.streamBeatMs, over.signal);
      if (!over.signal.aborted) for (const beaten of beaters) beaten();
    }
  }

  function step(after: string | null): Promise<FeedStep> {
    const known = underWay.get(after);
    if (known !== undefined) return known;
    const page = stepFeed(engine, { after, last: null }, pageRecords).finally(() => {
      if (underWay.get(after) === page) underWay.delete(after);
    });
    underWay.set(after, page);
    return page;
  }

  function changed(): void {
    // What began before may not have it.
    underWay.clear();
    for (const watcher of watchers) watcher();
    again = true;
    if (!reading && listeners.size > 0) void readOn();
  }

  /** Reads what is new, again and again until nothing is. */
  async function readOn(): Promise<void> {
    reading = true;
    try {
      while (again && listeners.size > 0 && !over.signal.aborted) {
        again = false;
        await readPages();
      }
    } catch (error) {
      if (!over.signal.aborted) trouble(error);
      // Whoever listens is told to look for themselves once it goes on.
      position = null;
    } finally {
      reading = false;
    }
  }

  async function readPages(): Promise<void> {
    for (;;) {
      if (position === null) {
        position = await store.feedEnd();
        for (const set of listeners.values()) for (const listener of set) listener.behind();
      }
      const { entries, next, rolledBackTo }: FeedStep = await step(position);
      if (rolledBackTo !== undefined) {
        // Each looks whether its own log still holds what it has given out.
        position = null;
        continue;
      }
      position = next.after;
      for (const { event } of entries) tell(event);
      if (entries.length === 0 || listeners.size === 0) return;
    }
  }

  function tell(event: SessionEvent): void {
    // What is deleted says nothing more itself: whoever reads it finds that it is gone.
    if (event.type === "session.deleted") {
      const { session } = event.body as { readonly session: LogId };
      for (const listener of listeners.get(session) ?? []) listener.behind();
    }
    const set = listeners.get(event.session);
    if (set === undefined) return;
    const frame = new SharedFrame(eventFrame(event, eventId(event)));
    for (const listener of set) listener.heard(event, frame);
  }

  /** Watches while anybody listens, and not longer. */
  function attend(): void {
    const wanted = listeners.size > 0 || watchers.size > 0;
    if (wanted && unwatch === null && !over.signal.aborted) unwatch = store.watch(changed);
    if (!wanted || over.signal.aborted) {
      unwatch?.();
      unwatch = null;
    }
    if (listeners.size === 0) position = null;
  }

  return {
    listen(log, listener) {
      const set = listeners.get(log) ?? new Set();
      listeners.set(log, set.add(listener));
      attend();
      // Without a position nobody is told of anything; with one, of all that comes after it.
      again ||= position === null;
      if (again && !reading) void readOn();
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(log) === set) listeners.delete(log);
        attend();
      };
    },
    watch(watcher) {
      watchers.add(watcher);
      attend();
      return () => {
        watchers.delete(watcher);
        attend();
      };
    },
    step,
    anew: () => underWay.clear(),
    beat(beaten) {
      beaters.add(beaten);
      return () => void beaters.delete(beaten);
    },
    stop() {
      over.abort();
      listeners.clear();
      watchers.clear();
      beaters.clear();
      attend();
    },
  };
}
