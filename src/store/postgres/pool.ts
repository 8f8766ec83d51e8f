/**
 * A pool of connections. A transaction has one for itself; single statements go to one that is free, or
 * follow others on one that is not. Whoever finds none waits in line.
 */
import type { Single } from "./single.ts";

export interface Pool {
  /** For one statement; given back with `release`. */
  share(): Promise<Single>;
  /** For a transaction; given back with `release`. */
  take(): Promise<Single>;
  release(single: Single): void;
  close(): Promise<void>;
}

/** Statements under way on one connection at most; more would only wait behind them. */
const sharedMax = 16;
/** So long an answer is waited for when the pool is closed. */
const endSeconds = 5;

interface Waiting {
  readonly alone: boolean;
  readonly resolve: (single: Single) => void;
  readonly reject: (error: Error) => void;
}

export function makePool(connectionsMax: number, open: () => Single): Pool {
  let singles: Single[] = [];
  const waiting: Waiting[] = [];

  function find(alone: boolean): Single | null {
    singles = singles.filter(({ isGone }) => !isGone);
    const free = singles.find(({ asked, taken }) => asked === 0 && !taken);
    if (free !== undefined) return free;
    if (singles.length < connectionsMax) {
      const single = open();
      singles.push(single);
      return single;
    }
    if (alone) return null;
    const shared = singles.filter(({ asked, taken }) => !taken && asked < sharedMax);
    return shared.toSorted((one, other) => one.asked - other.asked)[0] ?? null;
  }

  function hand(single: Single, alone: boolean): Single {
    single.asked += 1;
    single.taken = alone;
    return single;
  }

  /** Nobody overtakes: else a transaction might wait for ever behind single statements. */
  function get(alone: boolean): Promise<Single> {
    const single = waiting.length === 0 ? find(alone) : null;
    if (single !== null) return Promise.resolve(hand(single, alone));
    return new Promise((resolve, reject) => void waiting.push({ alone, resolve, reject }));
  }

  return {
    share: () => get(false),
    take: () => get(true),
    release(single) {
      single.asked -= 1;
      single.taken = false;
      for (let [next] = waiting; next !== undefined; [next] = waiting) {
        const found = find(next.alone);
        if (found === null) return;
        waiting.shift();
        next.resolve(hand(found, next.alone));
      }
    },
    async close() {
      for (const { reject } of waiting.splice(0)) reject(new Error("the store is closed"));
      await Promise.all(singles.map((single) => single.end(endSeconds)));
    },
  };
}
