/**
 * The offset of the database's clock to this process's, learned from answers. An answer dates the clock to
 * within half of its round trip; so every answer helps, however slow, and the best one so far is kept with
 * its error.
 */
import type { StoreWorld } from "../../port.ts";

/** How long an estimate is trusted. */
const freshMs = 10_000;
/** The assumed drift of two clocks: one millisecond per second is ten times what clocks do. */
const driftMax = 0.001;

export interface ClockOffset {
  /** To add to this process's clock. */
  offsetMs(): number;
  /** The possible error of the offset; Infinity before the first answer. */
  errorMs(): number;
  heard(databaseMs: number, askedAt: number): void;
  /** There was no answer for a long time. */
  isOld(): boolean;
}

export function makeClockOffset(world: Pick<StoreWorld, "now">): ClockOffset {
  let best: { readonly offsetMs: number; readonly errorMs: number; readonly atMs: number } | null = null;
  let heardAt = -Infinity;

  const errorAt = (nowMs: number): number =>
    best === null ? Infinity : best.errorMs + Math.abs(nowMs - best.atMs) * driftMax;

  return {
    offsetMs: () => best?.offsetMs ?? 0,
    errorMs: () => errorAt(world.now()),
    heard(databaseMs, askedAt) {
      const nowMs = world.now();
      // This process's clock was set back during the request: the answer is useless.
      if (nowMs < askedAt) return;
      const errorMs = (nowMs - askedAt) / 2;
      const offsetMs = Math.round(databaseMs - (askedAt + nowMs) / 2);
      const known = errorAt(nowMs);
      // Both cannot be right: one of the clocks was set since.
      const isSet = best !== null && Math.abs(offsetMs - best.offsetMs) > errorMs + known + 1;
      if (isSet || errorMs <= known) best = { offsetMs, errorMs, atMs: nowMs };
      heardAt = nowMs;
    },
    isOld: () => Math.abs(world.now() - heardAt) >= freshMs,
  };
}
