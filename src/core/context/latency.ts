/** Growing latency: the latest answers of a context take much longer than its first ones did. Pure. */

/** How long an answer took, and how long it was. */
export type Timed = readonly [ms: number, outputTokens: number];

/** The first and the latest answers since the context began. */
export interface Pace {
  readonly first: readonly Timed[];
  readonly last: readonly Timed[];
}

export const noPace: Pace = { first: [], last: [] };

/** Answers on each side; single ones vary. */
const count = 8;
const growth = 3;
/** Faster answers never count as slow. */
const msMin = 2_000;
/** A call takes its time before the first token: about as long as this many tokens. */
const startTokens = 100;

export function withAnswer({ first, last }: Pace, timed: Timed): Pace {
  if (first.length < count) return { first: [...first, timed], last };
  return { first, last: [...last, timed].slice(-count) };
}

/** Medians, by the length of the answers: long ones take longer, however small the context is. */
export function isSlowing({ first, last }: Pace): boolean {
  if (last.length < count) return false;
  const each = (timed: readonly Timed[]): number =>
    median(timed.map(([ms, tokens]) => ms / (tokens + startTokens)));
  return median(last.map(([ms]) => ms)) >= msMin && each(last) >= growth * each(first);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return ((sorted[half] ?? 0) + (sorted[sorted.length - 1 - half] ?? 0)) / 2;
}
