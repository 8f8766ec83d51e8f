/** Waiting lines within a process: work on the same things is done in the order in which it was asked for. */

/** Does the work once all is done that was asked for before about any of these things. */
export type InLine = <T>(things: readonly string[], work: () => Promise<T>) => Promise<T>;

/**
 * Whoever asks gets in line for all things at once, and so waits for earlier ones alone: there are no cycles,
 * unless work asks for what it has itself.
 */
export function makeLine(): InLine {
  const last = new Map<string, Promise<unknown>>();
  return (things, work) => {
    const before: Promise<unknown>[] = [];
    for (const thing of things) {
      const one = last.get(thing);
      if (one !== undefined) before.push(one);
    }
    const mine = before.length === 0 ? work() : Promise.allSettled(before).then(work);
    for (const thing of things) last.set(thing, mine);
    const leave = (): void => {
      for (const thing of things) if (last.get(thing) === mine) last.delete(thing);
    };
    mine.then(leave, leave);
    return mine;
  };
}
