/**
 * How long an answer is waited for. The library may wait for ever for one that was lost on the way; here one
 * timer ticks for all that are waited for, since a timer for each would be felt.
 */
import type { StoreWorld } from "../port.ts";
import { Lost } from "./trouble.ts";

export interface Patience {
  /** Rejects with `Lost` when there is no answer for about so long. */
  wait<T>(answer: Promise<T>, text: string, waitMs: number): Promise<T>;
  end(): void;
}

const tickMs = 1_000;

interface Waiting {
  ticksLeft: number;
  readonly text: string;
  readonly giveUp: (error: Lost) => void;
}

export function makePatience(world: StoreWorld): Patience {
  const all = new Set<Waiting>();
  const over = new AbortController();
  let isTicking = false;

  /** By ticks and not by the clock, which may jump or stand still. */
  async function tick(): Promise<void> {
    isTicking = true;
    while (all.size > 0 && !over.signal.aborted) {
      await world.sleep(tickMs, over.signal);
      for (const one of all) {
        one.ticksLeft -= 1;
        if (one.ticksLeft < 0) one.giveUp(new Lost(`no answer to ${one.text.slice(0, 80)}`));
      }
    }
    isTicking = false;
  }

  return {
    wait: (answer, text, waitMs) =>
      new Promise((resolve, reject) => {
        const one: Waiting = { ticksLeft: Math.ceil(waitMs / tickMs), text, giveUp: reject };
        all.add(one);
        if (!isTicking) void tick();
        const ended = (): void => void all.delete(one);
        answer.then(resolve, reject).then(ended, ended);
      }),
    end: () => over.abort(),
  };
}
