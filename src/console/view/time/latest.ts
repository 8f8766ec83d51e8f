/**
 * A reader for a moving target: at most one request is in progress, and the next is for the newest position.
 * Those in between are skipped.
 */

export interface LatestReader<T> {
  /** A loaded value is reported at once. */
  ask(place: number): void;
  /** The value of a position, if still cached. */
  known(place: number): T | undefined;
  /** Nothing more is reported, and the cache is dropped. */
  stop(): void;
}

interface LatestOptions<T> {
  readonly load: (place: number) => Promise<T>;
  readonly tell: (place: number, value: T) => void;
  readonly fail: (error: unknown) => void;
}

const keptMax = 64;

export function latestReader<T>({ load, tell, fail }: LatestOptions<T>): LatestReader<T> {
  const kept = new Map<number, T>();
  let wanted: number | null = null;
  let isReading = false;
  let isOver = false;

  function keep(place: number, value: T): void {
    kept.set(place, value);
    const [oldest] = kept.keys();
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
  }

  async function run(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (wanted !== null) {
      const place: number = wanted;
      try {
        const value = await load(place);
        // Reported even if a newer one is wanted by now: intermediate positions are seen on the way.
        if (!isOver) keep(place, value);
        if (wanted !== null) tell(place, value);
      } catch (error) {
        if (wanted === place) fail(error);
      }
      if (wanted === place) wanted = null;
    }
    isReading = false;
  }

  return {
    ask(place) {
      const here = kept.get(place);
      if (here === undefined) {
        wanted = place;
        void run();
        return;
      }
      // The request in progress is for a position that was left.
      wanted = null;
      tell(place, here);
    },
    known: (place) => kept.get(place),
    stop() {
      isOver = true;
      wanted = null;
      kept.clear();
    },
  };
}
