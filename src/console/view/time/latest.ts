/**
 * Reads for somebody who goes on before an answer is there: one request is under way at most, and the next is
 * for the newest place that was asked for. Those in between are never asked.
 */

export interface LatestReader<T> {
  /** What is there is told at once. */
  ask(place: number): void;
  /** What was read of a place, if it still is here. */
  known(place: number): T | undefined;
  /** Nothing more is told, and nothing is kept. */
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
        // Told although something newer is wanted by now: a stretch that is drawn over is seen on the way.
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
      // What is under way is of a place that was left.
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
