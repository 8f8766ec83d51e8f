/**
 * Groups changes that arrive together, so that the store makes them durable together. A change waits while
 * every turn of the event loop brings more of them; the first turn without one releases all. A single change
 * waits for one turn.
 */
export interface Gather {
  /** Resolves when the change may proceed. */
  join(): Promise<void>;
}

/** The maximum number of turns that a change waits. */
const turnsMax = 16;

export function makeGather(defer: (work: () => void) => void): Gather {
  let waiting: (() => void)[] = [];
  let turns = 0;
  let isNewcomer = false;

  function look(): void {
    turns += 1;
    if (isNewcomer && turns < turnsMax) {
      isNewcomer = false;
      defer(look);
      return;
    }
    const ready = waiting;
    waiting = [];
    turns = 0;
    for (const go of ready) go();
  }

  return {
    join: () =>
      new Promise((resolve) => {
        isNewcomer = waiting.length > 0;
        if (waiting.length === 0) defer(look);
        waiting.push(resolve);
      }),
  };
}
