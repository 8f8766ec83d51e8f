/**
 * A pool of connections. A transaction has one exclusively; single statements use a free one, or queue behind
 * others on a busy one. Without any, a caller waits in a queue.
 */
import type { PostgresConnection } from "../../../platform/postgres-connection.ts";

/** `alone`: a transaction. `append`: a statement that may follow another of its kind. */
export type ConnectionUse = "alone" | "append" | "single";

export interface Pool {
  /** A promise only if the caller has to wait. */
  take(use: ConnectionUse): PostgresConnection | Promise<PostgresConnection>;
  release(single: PostgresConnection, use: ConnectionUse): void;
  close(): Promise<void>;
}

/** The most statements in flight on one connection; more would only queue. */
const sharedMax = 16;
/**
 * The appends that follow one another on a connection before another is used for them: the server goes from
 * one to the next without a wake-up, and on few cores two of its processes compete.
 */
const followingMax = 2;
/** How long closing the pool waits for answers. */
const endSeconds = 5;

interface Waiter {
  readonly use: ConnectionUse;
  readonly resolve: (single: PostgresConnection) => void;
  readonly reject: (error: Error) => void;
}

export interface PoolOptions {
  readonly most: number;
  /** Whether appends follow one another. Behind a pooler they would wait for each other's answers. */
  readonly follows: boolean;
}

export function makePool({ most, follows }: PoolOptions, open: () => PostgresConnection): Pool {
  let singles: PostgresConnection[] = [];
  const waiting: Waiter[] = [];

  function find(use: ConnectionUse): PostgresConnection | null {
    if (singles.some(({ isGone }) => isGone)) singles = singles.filter(({ isGone }) => !isGone);
    const followed = use === "append" && follows ? singles.find(isFollowed) : undefined;
    const free = followed ?? singles.find(({ asked }) => asked === 0);
    if (free !== undefined) return free;
    if (singles.length < most) {
      const single = open();
      singles.push(single);
      return single;
    }
    if (use === "alone") return null;
    const shared = singles.filter(({ asked, taken }) => !taken && asked < sharedMax);
    return shared.toSorted((one, other) => one.asked - other.asked)[0] ?? null;
  }

  function hand(single: PostgresConnection, use: ConnectionUse): PostgresConnection {
    single.asked += 1;
    if (use === "append") single.appends += 1;
    single.taken = use === "alone";
    return single;
  }

  return {
    /** First come, first served: otherwise a transaction could starve behind single statements. */
    take(use) {
      const single = waiting.length === 0 ? find(use) : null;
      if (single !== null) return hand(single, use);
      return new Promise((resolve, reject) => void waiting.push({ use, resolve, reject }));
    },
    release(single, use) {
      single.asked -= 1;
      if (use === "append") single.appends -= 1;
      single.taken = false;
      for (let [next] = waiting; next !== undefined; [next] = waiting) {
        const found = find(next.use);
        if (found === null) return;
        waiting.shift();
        next.resolve(hand(found, next.use));
      }
    },
    async close() {
      for (const { reject } of waiting.splice(0)) reject(new Error("the store is closed"));
      await Promise.all(singles.map((single) => single.end(endSeconds)));
    },
  };
}

/** Only appends, and few of them. */
const isFollowed = ({ asked, appends, isLetIn }: PostgresConnection): boolean =>
  isLetIn && asked > 0 && asked === appends && asked < followingMax;
