/**
 * Notifications of commits, here or in another process. A committer notifies the others a moment later,
 * separately from the write. Notifications may be lost, and behind a pooler there are none, so the end of the
 * feed is also polled; and polled more often while something is committed that the feed does not return yet.
 */
import type { SqlRow } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { horizon } from "./feed.ts";
import { unsynced } from "../connection/settings.ts";

export interface Watch {
  add(changed: () => void): () => void;
  /** Something was committed here. */
  notify(): void;
  close(): Promise<void>;
}

/** Between two notifications to others. */
const noticeMs = 20;
/** Between two polls: without notifications, and with them. */
const looksMs = { alone: 250, notified: 2_000 } as const;
/** Between two polls while something waits for the horizon; it doubles. */
const hiddenMs = [5, 250] as const;
/** Between two attempts to subscribe. */
const listenMs = 1_000;

interface End {
  /** The last place of the feed in use. */
  readonly last: bigint;
  /** The feed returns what is before this. */
  readonly horizon: bigint;
}

const lookSql = `
SELECT greatest(
  (SELECT e.xid FROM skein.events e WHERE e.tenant = $1 AND e.xid IS NOT NULL
    ORDER BY e.xid DESC, e.log DESC, e.seq DESC LIMIT 1),
  (SELECT p.xid FROM skein.places p WHERE p.tenant = $1 ORDER BY p.xid DESC LIMIT 1)
)::text AS last, ${horizon}::text AS horizon`;

export function makeWatch({ database, tenant, world }: Driver): Watch {
  const listeners = new Set<() => void>();
  const channel = `skein_${tenant}`;
  const ended = new AbortController();
  let looking: ChangePoller | null = null;
  let unsent = false;
  let sending = false;

  const tell = (): void => {
    for (const listener of listeners) listener();
  };

  /** One at a time; commits meanwhile go with the next. */
  async function send(): Promise<void> {
    sending = true;
    while (unsent && !ended.signal.aborted) {
      unsent = false;
      await database.run(`SELECT pg_notify($1, '') WHERE ${unsynced}`, [channel]).catch(() => undefined);
      await world.sleep(noticeMs, ended.signal);
    }
    sending = false;
  }

  async function look(): Promise<End | null> {
    const [row] = await database.run<SqlRow & Record<"last" | "horizon", string | null>>(lookSql, [tenant]);
    return row === undefined ? null : { last: BigInt(row.last ?? 0), horizon: BigInt(row.horizon ?? 0) };
  }

  return {
    notify() {
      tell();
      looking?.news();
      unsent = true;
      if (!sending) void send();
    },
    add(changed) {
      listeners.add(changed);
      looking ??= new ChangePoller({
        look: () => look().catch(() => null),
        tell,
        listen: (hearing) => database.listen(channel, hearing),
        sleep: (ms, signal) => world.sleep(ms, signal),
      });
      return () => {
        if (!listeners.delete(changed) || listeners.size > 0) return;
        void looking?.stop();
        looking = null;
      };
    },
    async close() {
      if (ended.signal.aborted) return;
      ended.abort();
      const last = looking;
      looking = null;
      // Waiting readers read once more, and find that the store is closed.
      tell();
      listeners.clear();
      await last?.stop();
    },
  };
}

interface Ways {
  readonly look: () => Promise<End | null>;
  readonly tell: () => void;
  readonly listen: Driver["database"]["listen"] extends (channel: string, ...rest: infer Rest) => infer Ended
    ? (...rest: Rest) => Ended
    : never;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Polls and listens as long as there are watchers. */
class ChangePoller {
  readonly #ways: Ways;
  readonly #stopped = new AbortController();
  #woken = new AbortController();
  /** Ends the subscription; null without one. */
  #ear: (() => Promise<void>) | null = null;
  #heard = false;

  constructor(ways: Ways) {
    this.#ways = ways;
    void this.#keepListening();
    void this.#run();
  }

  /** A commit happened: the horizon may hide it. */
  news(): void {
    this.#woken.abort();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#woken.abort();
    await this.#deafen();
  }

  async #deafen(): Promise<void> {
    const end = this.#ear;
    this.#ear = null;
    await end?.().catch(() => undefined);
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      if (this.#ear === null) {
        try {
          this.#ear = await this.#ways.listen({
            heard: () => this.#hear(),
            lost: () => void (this.#ear = null),
          });
          // There are no notifications at all.
          if (this.#ear === null) return;
          if (signal.aborted) await this.#deafen();
          else this.#hear();
        } catch {
          // It is retried, and polling continues.
        }
      }
      await this.#ways.sleep(listenMs, signal);
    }
  }

  #hear(): void {
    this.#heard = true;
    this.#ways.tell();
    this.news();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let before = await this.#ways.look();
    let hidden = hiddenOf(before);
    let pauseMs: number = hiddenMs[0];
    let owed = false;
    while (!signal.aborted) {
      const idleMs = this.#ear === null ? looksMs.alone : looksMs.notified;
      await this.#ways.sleep(hidden === null ? idleMs : pauseMs, this.#woken.signal);
      const isNews = this.#woken.signal.aborted;
      // Combines many commits.
      if (isNews) await this.#ways.sleep(noticeMs, signal);
      if (signal.aborted) return;
      this.#woken = new AbortController();
      const now = await this.#ways.look();
      if (now === null) continue;
      const moved = now.last !== before?.last;
      // Another server took over, whose numbers are behind: what the first one hid no longer matters.
      if (before !== null && now.horizon < before.horizon) hidden = null;
      const passed = hidden !== null && now.horizon > hidden;
      // Each notification already notified all watchers. A lost one is made up for by the next poll.
      if (moved && isNews && !passed && this.#ear !== null) owed = true;
      else if (moved || passed || owed) {
        owed = false;
        this.#ways.tell();
      }
      // A change without a notification: the connection may be dead.
      if (moved && !isNews && !this.#heard) void this.#deafen();
      this.#heard = false;
      pauseMs = moved || passed ? hiddenMs[0] : Math.min(pauseMs * 2, hiddenMs[1]);
      hidden = passed || hidden === null ? hiddenOf(now) : hidden;
      before = now;
    }
  }
}

/** What is committed and not returned yet; null if there is nothing. */
const hiddenOf = (end: End | null): bigint | null =>
  end === null || end.last < end.horizon ? null : end.last;
