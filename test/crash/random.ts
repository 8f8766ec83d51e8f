/** Random choices that a seed repeats. */

export interface Random {
  /** From 0 to just below 1. */
  next(): number;
  /** A whole number from 0 to just below `end`. */
  below(end: number): number;
  pick<T>(from: readonly T[]): T;
  chance(share: number): boolean;
}

/** Mulberry32: 32 bits of state, good enough to choose with. */
export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    next,
    below,
    chance: (share) => next() < share,
    pick(from) {
      if (from.length === 0) throw new Error("nothing to pick from");
      return from[below(from.length)] as (typeof from)[number];
    },
  };
}

export const randomSeed = (): number => Math.floor(Math.random() * 2 ** 32);

/** The seed of the run, which the runner has printed; or a new one, printed before it is used. */
export function freshSeed(): number {
  const given = process.env["SKEIN_TEST_SEED"];
  if (given !== undefined) return Number(given) >>> 0;
  const seed = randomSeed();
  process.stderr.write(`seed ${seed}\n`);
  return seed;
}
