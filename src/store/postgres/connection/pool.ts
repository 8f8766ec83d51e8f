/**
 * A pool of connections. A transaction has one for itself; single statements go to one that is free, or
 * follow others on one that is not. Whoever finds none waits in line.
 */
import type { PostgresConnection } from "../../../platform/postgres-connection.ts";

/** `alone`: a transaction. `append`: a statement that may follow another of its kind. */
export type Use = "alone" | "append" | "single";

export interface Pool {
  /** A promise only when it has to be waited for. */
  take(use: Use): PostgresConnection | Promise<PostgresConnection>;
  release(single: PostgresConnection, use: Use): void;
  close(): Promise<void>;
}

/** Statements under way on one connection at most; more would only wait behind them. */
const sharedMax = 16;
/**
 * So many appends follow one another on a connection before another is taken for them: the server goes from
 * one to the next without being woken, and with few cores two of its processes are in each other's way.
 */
const followingMax = 2;
/** So long an answer is waited for when the pool is closed. */
const endSeconds = 5;

interface Waiting {
  readonly use: Use;
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
  const waiting: Waiting[] = [];

  function find(use: Use): PostgresConnection | null {
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

  function hand(single: PostgresConnection, use: Use): PostgresConnection {
    single.asked += 1;
    if (use === "append") single.appends += 1;
    single.taken = use === "alone";
    return single;
  }

  return {
    /** Nobody overtakes: else a transaction might wait for ever behind single statements. */
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

/** Nothing but appends, and few of them. */
const isFollowed = ({ asked, appends, isLetIn }: PostgresConnection): boolean =>
  isLetIn && asked > 0 && asked === appends && asked < followingMax;
