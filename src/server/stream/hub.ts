/**
 * Shared by the streams of one engine: one watcher of the store, one read of new events, one heartbeat. An
 * event is read and encoded once, however many subscribe.
 */
import { limit } from "../../core/limit.ts";
import type { LogId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { stepFeed, type FeedStep } from "./feed-cursor.ts";
import { eventFrame, eventId, SharedFrame } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

/** A subscriber to one log. */
export interface LogSubscriber {
  /** A new event, and its encoded frame. */
  heard(event: SessionEvent, frame: SharedFrame): void;
  /** It may have missed something: it must read for itself. */
  behind(): void;
}

export interface Hub {
  /** Until the returned function is called. */
  listen(log: LogId, listener: LogSubscriber): () => void;
  /** Called soon after any append; does not say which. */
  watch(changed: () => void): () => void;
  /** The next page of the feed. Subscribers at the same position share a read in progress. */
  step(after: string | null): Promise<FeedStep>;
  /** Later requests for a page get no read that began before. */
  anew(): void;
  /** Called periodically. */
  onHeartbeat(listener: () => void): () => void;
  stop(): void;
}

const pageRecords = 200;

export function makeHub(engine: Engine, trouble: (error: unknown) => void): Hub {
  const { store, world } = internalsOf(engine);
  const listeners = new Map<LogId, Set<LogSubscriber>>();
  const watchers = new Set<() => void>();
  const heartbeatListeners = new Set<() => void>();
  /** Reads of the feed, by their start position. */
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
      if (!over.signal.aborted) for (const listener of heartbeatListeners) listener();
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
    // An earlier read may not contain it.
    underWay.clear();
    for (const watcher of watchers) watcher();
    again = true;
    if (!reading && listeners.size > 0) void readOn();
  }

  /** Reads new events until there are none. */
  async function readOn(): Promise<void> {
    reading = true;
    try {
      while (again && listeners.size > 0 && !over.signal.aborted) {
        again = false;
        await readPages();
      }
    } catch (error) {
      if (!over.signal.aborted) trouble(error);
      // Subscribers must read for themselves once it continues.
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
        // Each checks whether its own log still holds what it has delivered.
        position = null;
        continue;
      }
      position = next.after;
      for (const { event } of entries) tell(event);
      if (entries.length === 0 || listeners.size === 0) return;
    }
  }

  function tell(event: SessionEvent): void {
    // A deleted log has no more events: its reader finds that it is gone.
    if (event.type === "session.deleted") {
      const { session } = event.body as { readonly session: LogId };
      for (const listener of listeners.get(session) ?? []) listener.behind();
    }
    const set = listeners.get(event.session);
    if (set === undefined) return;
    const frame = new SharedFrame(eventFrame(event, eventId(event)));
    for (const listener of set) listener.heard(event, frame);
  }

  /** Watches while there are subscribers. */
  function updateWatch(): void {
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
      updateWatch();
      // Without a position nothing is delivered; with one, everything after it.
      again ||= position === null;
      if (again && !reading) void readOn();
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(log) === set) listeners.delete(log);
        updateWatch();
      };
    },
    watch(watcher) {
      watchers.add(watcher);
      updateWatch();
      return () => {
        watchers.delete(watcher);
        updateWatch();
      };
    },
    step,
    anew: () => underWay.clear(),
    onHeartbeat(listener) {
      heartbeatListeners.add(listener);
      return () => void heartbeatListeners.delete(listener);
    },
    stop() {
      over.abort();
      listeners.clear();
      watchers.clear();
      heartbeatListeners.clear();
      updateWatch();
    },
  };
}
