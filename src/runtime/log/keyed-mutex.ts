/** A mutex by key within a process: work on the same keys runs in the order of the calls. */

/** Runs the work after all earlier work on any of these keys. */
export type KeyedMutex = <T>(things: readonly string[], work: () => Promise<T>) => Promise<T>;

/**
 * A caller queues for all its keys at once, and so waits for earlier callers only. It cannot deadlock, unless
 * work asks for a key that it holds itself.
 */
export function makeKeyedMutex(): KeyedMutex {
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
