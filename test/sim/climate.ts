/**
 * How bad it gets: the chance of each fault in one simulated life. Each seed has a climate of its own, and in
 * most of them many faults never happen, so that those that do are seen alone too.
 */
import type { Random } from "../crash/random.ts";

/** Shares are from 0 to 1, of all occasions. */
export interface Climate {
  /** Store calls that take time, and how much at most, each way. */
  readonly slow: number;
  readonly slowMs: number;
  /** Appends: the request is lost, the answer is lost, the request comes late, the store is not there. */
  readonly loseRequest: number;
  readonly loseAnswer: number;
  readonly late: number;
  readonly unavailable: number;
  /** Store calls other than appends that fail. */
  readonly unread: number;
  /** A process ends right before or right after an append; or stands still there. */
  readonly crashAtAppend: number;
  readonly pauseAtAppend: number;
  /** How long until the next process ends, or stands still, at most; Infinity: none does. */
  readonly crashMs: number;
  readonly pauseMs: number;
  /** How wrong clocks are at most: less than a lease, or whoever is ahead takes it from everybody. */
  readonly skewMs: number;
  /** How long until the next clock jumps, at most, and how far. */
  readonly jumpMs: number;
  readonly jumpByMs: number;
  /** Model calls and runs of tools that fail, and tools that never come back. */
  readonly modelFails: number;
  readonly toolFails: number;
  readonly toolHangs: number;
}

export const calm: Climate = {
  slow: 0.1,
  slowMs: 20,
  loseRequest: 0,
  loseAnswer: 0,
  late: 0,
  unavailable: 0,
  unread: 0,
  crashAtAppend: 0,
  pauseAtAppend: 0,
  crashMs: Infinity,
  pauseMs: Infinity,
  skewMs: 0,
  jumpMs: Infinity,
  jumpByMs: 0,
  modelFails: 0,
  toolFails: 0,
  toolHangs: 0,
};

export function drawClimate(random: Random): Climate {
  const sometimes = (most: number): number => (random.chance(0.5) ? 0 : most * random.next());
  const every = (least: number, most: number): number =>
    random.chance(0.35) ? Infinity : least + (most - least) * random.next();
  return {
    slow: 0.1 + sometimes(0.5),
    slowMs: random.pick([20, 200, 1_000, 4_000]),
    loseRequest: sometimes(0.06),
    loseAnswer: sometimes(0.12),
    late: sometimes(0.06),
    unavailable: sometimes(0.06),
    unread: sometimes(0.01),
    crashAtAppend: sometimes(0.15),
    pauseAtAppend: sometimes(0.15),
    crashMs: every(3_000, 20_000),
    pauseMs: every(3_000, 20_000),
    skewMs: random.pick([0, 0, 300, 800]),
    jumpMs: random.chance(0.7) ? Infinity : 2_000 + random.below(10_000),
    jumpByMs: random.pick([1_500, 10_000, 100_000]),
    modelFails: sometimes(0.3),
    toolFails: sometimes(0.3),
    toolHangs: sometimes(0.1),
  };
}
