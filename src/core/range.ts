/**
 * Sets of positions as sorted, disjoint, inclusive ranges `[from, to]`. All functions return new sets. The
 * size depends on the number of gaps, never on the number of positions.
 */

export type Range = readonly [fromSeq: number, toSeq: number];
/** Ranges of positions, ascending and without overlap. */
export type Ranges = readonly Range[];

export const includes = (ranges: Ranges, seq: number): boolean =>
  ranges.some(([from, to]) => from <= seq && seq <= to);

/** The set with `range` added. Adjacent ranges merge. */
export function add(ranges: Ranges, [from, to]: Range): Ranges {
  if (to < from) return ranges;
  const before = ranges.filter((range) => range[1] < from - 1);
  const after = ranges.filter((range) => range[0] > to + 1);
  const touched = ranges.slice(before.length, ranges.length - after.length);
  const first = touched[0];
  const last = touched.at(-1);
  const joined: Range = [Math.min(from, first?.[0] ?? from), Math.max(to, last?.[1] ?? to)];
  return [...before, joined, ...after];
}

/** The set without `range`. */
export function remove(ranges: Ranges, [from, to]: Range): Ranges {
  if (to < from) return ranges;
  return ranges.flatMap(([start, end]): Range[] => {
    if (end < from || to < start) return [[start, end]];
    const left: Range[] = start < from ? [[start, from - 1]] : [];
    return end > to ? [...left, [to + 1, end]] : left;
  });
}

export const union = (a: Ranges, b: Ranges): Ranges => b.reduce(add, a);
export const subtract = (a: Ranges, b: Ranges): Ranges => b.reduce(remove, a);

/** The number of positions. */
export const count = (ranges: Ranges): number => ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);

/** The part of the set up to `seq`. */
export const clip = (ranges: Ranges, toSeq: number): Ranges =>
  remove(ranges, [toSeq + 1, Number.MAX_SAFE_INTEGER]);
