/**
 * The timeout of answers. The library may wait forever for one that was lost, or whose connection is gone;
 * here one timer serves all waits, because a timer each would be noticeable.
 */
import type { StoreWorld } from "../../port.ts";
import { ConnectionLost } from "./errors.ts";

export interface AnswerTimeout {
  /** Rejects with `ConnectionLost` without an answer for about so long, or if the connection was lost. */
  wait<T>(answer: Promise<T>, asked: PendingStatement): Promise<T>;
  /** Fails everything that waits on this connection. */
  lose(connection: object, why: unknown): void;
}

export interface PendingStatement {
  readonly connection: object;
  readonly text: string;
  readonly waitMs: number;
}

const tickMs = 1_000;

interface PendingAnswer {
  /** Its index among all; -1: removed. */
  place: number;
  ticksLeft: number;
  readonly connection: object;
  readonly text: string;
  readonly giveUp: (error: unknown) => void;
}

export function makePatience(world: StoreWorld): AnswerTimeout {
  // Not a Set: finished waits would stay in its dead tables, with everything that was sent.
  const all: PendingAnswer[] = [];
  let isTicking = false;

  /** By ticks and not by the clock, which may jump or stand still. */
  async function tick(): Promise<void> {
    isTicking = true;
    while (all.length > 0) {
      await world.sleep(tickMs);
      for (const one of all.slice()) {
        one.ticksLeft -= 1;
        if (one.ticksLeft < 0) one.giveUp(new ConnectionLost(`no response to ${one.text.slice(0, 80)}`));
      }
    }
    isTicking = false;
  }

  /** The last entry takes its place. */
  function leave(one: PendingAnswer): void {
    const { place } = one;
    const last = place === -1 ? undefined : all.pop();
    if (last === undefined) return;
    if (last !== one) all[place] = last;
    last.place = place;
    one.place = -1;
  }

  function wait<T>(answer: Promise<T>, { connection, text, waitMs }: PendingStatement): Promise<T> {
    return new Promise((resolve, reject) => {
      const take = (value: T): void => {
        leave(one);
        resolve(value);
      };
      const giveUp = (error: unknown): void => {
        leave(one);
        reject(error);
      };
      const ticksLeft = Math.ceil(waitMs / tickMs);
      const one: PendingAnswer = { place: all.length, ticksLeft, connection, text, giveUp };
      all.push(one);
      if (!isTicking) void tick();
      answer.then(take, giveUp);
    });
  }

  return {
    wait,
    lose(connection, why) {
      for (const one of all.filter((other) => other.connection === connection)) one.giveUp(why);
    },
  };
}
