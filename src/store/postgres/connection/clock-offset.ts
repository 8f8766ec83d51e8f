/**
 * How far the database's clock is from this process's, learned from answers. An answer says when the clock
 * was read to within half of its round trip; so every answer teaches something, however slow, and the best
 * one so far is kept with its error.
 */
import type { StoreWorld } from "../../port.ts";

/** For so long it is relied on what was heard. */
const freshMs = 10_000;
/** Two clocks drift apart by at most so much: one millisecond a second is ten times what clocks do. */
const driftMax = 0.001;

export interface ClockOffset {
  /** To add to this process's clock. */
  offsetMs(): number;
  /** By how much the offset may be wrong; Infinity while nothing was heard. */
  errorMs(): number;
  heard(databaseMs: number, askedAt: number): void;
  /** Nothing was heard for long. */
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
      // This process's clock was set back while the answer came: it says nothing.
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
