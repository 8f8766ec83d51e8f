/** Waiting lines within a process: work on the same things is done in the order in which it was asked for. */

/** Does the work once all is done that was asked for before about any of these things. */
export type InLine = <T>(things: readonly string[], work: () => Promise<T>) => Promise<T>;

/** Lines that nobody stands in are kept up to so many: most things are soon asked for again. */
const emptyMax = 1_000;

interface Line {
  last: Promise<unknown> | null;
}

/**
 * Whoever asks gets in line for all things at once, and so waits for earlier ones alone: there are no cycles,
 * unless work asks for what it has itself.
 */
export function makeLine(): InLine {
  const lines = new Map<string, Line>();
  let sweepAt = emptyMax;

  function sweep(): void {
    for (const [thing, { last }] of lines) if (last === null) lines.delete(thing);
    sweepAt = lines.size + emptyMax;
  }

  function lineFor(thing: string): Line {
    const line = lines.get(thing) ?? { last: null };
    lines.set(thing, line);
    return line;
  }

  return (things, work) => {
    const own = things.map(lineFor);
    const before = own.flatMap(({ last }) => (last === null ? [] : [last]));
    const mine = before.length === 0 ? work() : Promise.allSettled(before).then(work);
    for (const line of own) line.last = mine;
    const leave = (): void => {
      for (const line of own) if (line.last === mine) line.last = null;
      // Not while somebody gets in line: whose work has begun may not stand in it yet.
      if (lines.size >= sweepAt) sweep();
    };
    mine.then(leave, leave);
    return mine;
  };
}
