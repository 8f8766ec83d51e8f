/**
 * Checks at intervals, staggered: each has a fixed offset in its interval, so that many do not run at once.
 * All of an engine share one queue and one timer.
 */
import type { Deps } from "../deps.ts";

/** Checks that run at once. */
const atOnceMax = 8;
/** The clock may jump: it is read this often. */
const lookMs = 1_000;
/** Changes that happened without a watch are found within this, however long the interval is. */
const firstMs = 60_000;

export interface TimerEntry {
  atMs: number;
  readonly everyMs: number;
  /** The offset in the interval. */
  readonly phaseMs: number;
  readonly run: () => Promise<void>;
  over: boolean;
}

export interface Spread {
  add(entry: TimerEntry): void;
  drop(entry: TimerEntry): void;
}

/** Runs something once in each interval until the signal is aborted; resolves when it has stopped. */
export function everySpread(
  deps: Deps,
  { key, everyMs, signal }: { readonly key: string; readonly everyMs: number; readonly signal: AbortSignal },
  work: () => Promise<void>,
): Promise<void> {
  const spread = (deps.shared.spread ??= makeSpread(deps));
  const nowMs = deps.world.now();
  const chance = Number.parseInt(deps.world.digest("", key).slice(0, 12), 16);
  const phaseMs = chance % everyMs;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    let going: Promise<void> = Promise.resolve();
    const run = (): Promise<void> => (going = work());
    const atMs = nowMs + (chance % Math.min(everyMs, firstMs));
    const entry: TimerEntry = { atMs, everyMs, phaseMs, run, over: false };
    spread.add(entry);
    const leave = (): void => {
      spread.drop(entry);
      void going.then(resolve, () => resolve());
    };
    signal.addEventListener("abort", leave, { once: true });
  });
}

function makeSpread({ world }: Deps): Spread {
  let heap: TimerEntry[] = [];
  let [running, dropped, isGoing] = [0, 0, false];
  let news = new AbortController();

  function push(entry: TimerEntry): void {
    heap.push(entry);
    for (let at = heap.length - 1; at > 0;) {
      const up = (at - 1) >> 1;
      if (atOf(up) <= atOf(at)) break;
      swap(at, up);
      at = up;
    }
  }

  function pop(): TimerEntry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || first === last) return first;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = atOf(right) < atOf(left) ? right : left;
      if (atOf(least) >= atOf(at)) return first;
      swap(at, least);
      at = least;
    }
  }

  const atOf = (place: number): number => heap[place]?.atMs ?? Infinity;
  function swap(a: number, b: number): void {
    const [one, other] = [heap[a], heap[b]];
    if (one === undefined || other === undefined) return;
    [heap[a], heap[b]] = [other, one];
  }

  /** The next time at its offset in the interval; missed times are not made up for. */
  const nextOf = ({ everyMs, phaseMs }: TimerEntry): number =>
    Math.floor((world.now() - phaseMs) / everyMs) * everyMs + everyMs + phaseMs;

  async function runOne(entry: TimerEntry): Promise<void> {
    running += 1;
    try {
      await entry.run();
    } finally {
      running -= 1;
      if (!entry.over) {
        entry.atMs = nextOf(entry);
        push(entry);
      }
      news.abort();
    }
  }

  async function go(): Promise<void> {
    while (heap.length > 0 || running > 0) {
      news = new AbortController();
      while (running < atOnceMax && atOf(0) <= world.now()) {
        const entry = pop();
        if (entry?.over === false) runOne(entry).catch(() => undefined);
      }
      const waitMs = running < atOnceMax ? Math.min(lookMs, atOf(0) - world.now()) : lookMs;
      await world.sleep(Math.max(0, waitMs), news.signal);
    }
    isGoing = false;
  }

  return {
    add(entry) {
      push(entry);
      news.abort();
      if (isGoing) return;
      isGoing = true;
      void go();
    },
    drop(entry) {
      entry.over = true;
      dropped += 1;
      if (dropped * 2 >= heap.length) {
        const kept = heap.filter(({ over }) => !over);
        [heap, dropped] = [[], 0];
        for (const one of kept) push(one);
      }
      news.abort();
    },
  };
}
