/** Stretches of positions within a log's own records. */
export interface Stretch {
  readonly log: number;
  readonly first: number;
  readonly last: number;
}

/** The same positions by log, in order, and none of them twice. */
export function joinStretches(stretches: readonly Stretch[]): readonly Stretch[] {
  const found: Stretch[] = [];
  for (const one of stretches.toSorted((a, b) => a.log - b.log || a.first - b.first)) {
    if (one.first > one.last) continue;
    const before = found.at(-1);
    if (before === undefined || before.log !== one.log || one.first > before.last + 1) found.push(one);
    else found[found.length - 1] = { ...before, last: Math.max(before.last, one.last) };
  }
  return found;
}
