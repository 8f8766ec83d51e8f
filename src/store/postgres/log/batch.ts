/** Batches concurrent calls into one transaction. A failing call fails alone. */
import { SkeinError } from "../../../core/error.ts";
import type { StoreWorld } from "../../port.ts";

export interface BatchOptions<Asked, Answer> {
  /** Does all of them; returns an answer or a failure for each, or rejects for all. */
  readonly work: (asked: readonly Asked[]) => Promise<readonly (Answer | SkeinError)[]>;
  /** Two calls with the same name do not share a batch. */
  readonly name: (asked: Asked) => string;
  /** The weight of each, and the limit of a batch. */
  readonly weight: (asked: Asked) => number;
  readonly weightMax: number;
}

interface QueuedCall<Asked, Answer> {
  readonly asked: Asked;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export function gather<Asked, Answer>(
  world: StoreWorld,
  { work, name, weight, weightMax }: BatchOptions<Asked, Answer>,
): (asked: Asked) => Promise<Answer> {
  const waiting: QueuedCall<Asked, Answer>[] = [];

  async function perform(list: readonly QueuedCall<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await work(list.map(({ asked }) => asked));
      for (const [place, { resolve, reject }] of list.entries()) {
        const answer = answers[place] as Answer | SkeinError;
        if (answer instanceof SkeinError) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      // The error of one call must not fail the others; a lost server does.
      const isOfOne = error instanceof SkeinError && error.code !== "unavailable" && error.code !== "unknown";
      if (list.length > 1 && isOfOne) for (const one of list) await perform([one]);
      else for (const { reject } of list) reject(error);
    }
  }

  async function flush(): Promise<void> {
    const lists: QueuedCall<Asked, Answer>[][] = [];
    let names = new Set<string>();
    let sum = 0;
    for (const one of waiting.splice(0)) {
      const own = weight(one.asked);
      if (lists.length === 0 || names.has(name(one.asked)) || sum + own > weightMax) {
        lists.push([]);
        [names, sum] = [new Set(), 0];
      }
      lists.at(-1)?.push(one);
      names.add(name(one.asked));
      sum += own;
    }
    for (const list of lists) await perform(list);
  }

  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject });
      if (waiting.length === 1) world.defer(() => void flush());
    });
}
