/**
 * Virtual time: a queue of what is due, in order of time and, at one time, in an order that the seed chooses.
 * Between two things that are due everything that can run has run: only promises, never a real timer.
 */
import { setImmediate } from "node:timers";
import type { Random } from "../crash/random.ts";

export interface Timeline {
  /** Milliseconds since 1970, whole. */
  now(): number;
  /** How many things have happened. */
  count(): number;
  /** Gives back how to call it off. */
  after(ms: number, work: () => void): () => void;
  /** Until the time has come, or what is waited for has. */
  run(forMs: number, isOver?: () => boolean): Promise<void>;
}

interface Due {
  readonly at: number;
  readonly tie: number;
  work: (() => void) | null;
}

export const startOfTime = 1_700_000_000_000;

export function makeTimeline(random: Random): Timeline {
  const heap: Due[] = [];
  let now = startOfTime;
  let count = 0;
  return {
    now: () => now,
    count: () => count,
    after(ms, work) {
      const due: Due = { at: now + Math.max(0, Math.ceil(ms)), tie: random.next(), work };
      push(heap, due);
      return () => void (due.work = null);
    },
    async run(forMs, isOver = () => false) {
      const until = now + forMs;
      await settle();
      while (!isOver()) {
        const due = heap[0];
        if (due === undefined || due.at > until) {
          now = until;
          return;
        }
        pop(heap);
        const { work } = due;
        if (work === null) continue;
        now = due.at;
        count += 1;
        work();
        await settle();
      }
    },
  };
}

/** Everything that is ready to run runs before this resolves, and it takes no time. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const isBefore = (one: Due, other: Due): boolean =>
  one.at === other.at ? one.tie < other.tie : one.at < other.at;

function push(heap: Due[], due: Due): void {
  let place = heap.push(due) - 1;
  while (place > 0) {
    const above = (place - 1) >> 1;
    if (!isBefore(due, heap[above]!)) break;
    heap[place] = heap[above]!;
    place = above;
  }
  heap[place] = due;
}

function pop(heap: Due[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let place = 0;
  for (;;) {
    let below = 2 * place + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
    if (!isBefore(heap[below]!, last)) break;
    heap[place] = heap[below]!;
    place = below;
  }
  heap[place] = last;
}
