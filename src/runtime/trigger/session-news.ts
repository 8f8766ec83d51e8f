/**
 * News of other sessions: one reader of the feed for all triggers of an engine that wait for sessions. It
 * begins at the feed's end, reads each record once, and notifies the subscribers of that session.
 */
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Deps } from "../deps.ts";

/** A subscriber to some sessions. */
export interface News {
  /** Sessions with relevant news since the last call. */
  take(): readonly SessionId[];
  /** Returns sessions that could not be read, for another attempt. */
  again(sessions: readonly SessionId[]): void;
  /** Subscribes to another session as well. */
  add(session: SessionId): void;
  /** Resolves when there is something to take, or the signal is aborted. */
  next(): Promise<void>;
}

/** Event types that a trigger may wait for. */
const heard = /^(session\.(closed|continued|archived|deleted)|item\.recorded)$/;
/** How often the feed is polled without a notification, and the minimum pause between reads. */
const anywayMs = 1_000;
const restMs = 10;

export interface NewsSubscriber {
  readonly touched: Set<SessionId>;
  /** The sessions that it is subscribed to. */
  readonly sessions: Set<SessionId>;
  wake: () => void;
}

export interface Follower {
  readonly listeners: Map<LogId, Set<NewsSubscriber>>;
  readonly over: AbortController;
  /** Resolves once it has reached the feed's end: everything later is delivered. */
  readonly begun: Promise<void>;
}

/** Subscribes until the signal is aborted. Once it resolves, nothing later is missed. */
export async function listen(deps: Deps, sessions: readonly SessionId[], signal: AbortSignal): Promise<News> {
  const { shared } = deps;
  const follower = (shared.follower ??= follow(deps));
  const listener: NewsSubscriber = { touched: new Set(), sessions: new Set(), wake: () => undefined };
  const add = (session: SessionId): void => {
    if (!signal.aborted) subscribe(follower.listeners, listener, session);
  };
  for (const session of sessions) add(session);
  const leave = (): void => {
    for (const session of listener.sessions) {
      const there = follower.listeners.get(session);
      there?.delete(listener);
      if (there?.size === 0) follower.listeners.delete(session);
    }
    listener.wake();
    if (follower.listeners.size > 0) return;
    if (shared.follower === follower) shared.follower = null;
    follower.over.abort();
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  await follower.begun;
  return {
    take() {
      const touched = [...listener.touched];
      listener.touched.clear();
      return touched;
    },
    add,
    again(left) {
      for (const session of left) listener.touched.add(session);
    },
    next: () =>
      new Promise((resolve) => {
        listener.wake = resolve;
        if (listener.touched.size > 0 || signal.aborted) resolve();
      }),
  };
}

function subscribe(listeners: Follower["listeners"], listener: NewsSubscriber, session: SessionId): void {
  listener.sessions.add(session);
  listeners.set(session, (listeners.get(session) ?? new Set()).add(listener));
}

function follow(deps: Deps): Follower {
  const { store, world } = deps;
  const listeners: Follower["listeners"] = new Map();
  const over = new AbortController();
  const { signal } = over;
  let news = new AbortController();
  let position: string | null = null;

  async function begin(): Promise<void> {
    while (position === null && !signal.aborted) {
      position = await store.feedEnd().catch(() => null);
      if (position === null) await world.sleep(anywayMs, signal);
    }
  }

  /** After a rollback of the store no earlier knowledge of a session is reliable. */
  function touchAll(): void {
    for (const [session, set] of listeners) {
      for (const listener of set) {
        listener.touched.add(session as SessionId);
        listener.wake();
      }
    }
  }

  async function read(): Promise<void> {
    while (!signal.aborted) {
      const page = await store.feed(position, limit.pageRecordsMax);
      if (page.rolledBackTo !== undefined) touchAll();
      for (const { session, type, body } of page.records) {
        if (!heard.test(type)) continue;
        const whose =
          type === "session.deleted" ? (JSON.parse(body) as { session: SessionId }).session : session;
        for (const listener of listeners.get(whose) ?? []) {
          listener.touched.add(whose as SessionId);
          // The session that it went on as is awaited in its place.
          if (type === "session.continued")
            subscribe(listeners, listener, (JSON.parse(body) as { to: SessionId }).to);
          listener.wake();
        }
      }
      if (page.position === position) return;
      position = page.position;
    }
  }

  async function run(): Promise<void> {
    await begun;
    const unwatch = store.watch(() => news.abort());
    while (!signal.aborted) {
      news = new AbortController();
      // What cannot be read now is read later; nothing is skipped.
      await read().catch(() => undefined);
      await world.sleep(restMs, signal);
      if (!signal.aborted) await world.sleep(anywayMs, AbortSignal.any([news.signal, signal]));
    }
    unwatch();
  }

  const begun = begin();
  void run();
  return { listeners, over, begun };
}
