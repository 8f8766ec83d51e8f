/**
 * A queue for queries, which are slow and large: only a few run at once for each store of this process. The
 * others wait, in order, but behind those of callers without a running one, so that no caller blocks the
 * others.
 */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";

interface QueuedQuery {
  readonly actor: string;
  readonly go: () => void;
}

export interface QueryCaller {
  /** The caller. */
  readonly actor: string;
  /** Aborted when the caller no longer waits. */
  readonly signal?: AbortSignal | undefined;
}

export type QueryLine = <T>(queried: QueryCaller, work: () => Promise<T>) => Promise<T>;

const endedQuery = (): SkeinError => new SkeinError("unavailable", "query: aborted by the caller");

export function makeQueryLine(): QueryLine {
  const running: string[] = [];
  const waiting: QueuedQuery[] = [];
  const forget = (one: QueuedQuery): void => {
    const place = waiting.indexOf(one);
    if (place !== -1) waiting.splice(place, 1);
  };

  function letNext(): void {
    while (running.length < limit.queriesMax) {
      const next = waiting.find(({ actor }) => !running.includes(actor)) ?? waiting[0];
      if (next === undefined) return;
      forget(next);
      running.push(next.actor);
      next.go();
    }
  }

  function turn({ actor, signal }: QueryCaller): Promise<void> {
    const own = waiting.filter((one) => one.actor === actor).length;
    if (waiting.length >= limit.queriesWaitingMax || own >= limit.queriesWaitingMax / 4) {
      throw new SkeinError(
        "unavailable",
        `query: too many queries: ${own} of yours wait, ${waiting.length} in total`,
        {
          hint: "wait for their results, then retry",
        },
      );
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        forget(one);
        reject(endedQuery());
      };
      const go = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const one = { actor, go };
      waiting.push(one);
      signal?.addEventListener("abort", leave, { once: true });
      letNext();
    });
  }

  return async (queried, work) => {
    if (queried.signal?.aborted === true) throw endedQuery();
    await turn(queried);
    try {
      return await work();
    } finally {
      running.splice(running.indexOf(queried.actor), 1);
      letNext();
    }
  };
}
