/** Decides whether a lease still holds, by the clock and by the process that took it. */
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";

/**
 * A moment of this process by two clocks. A wall clock that is set back may hide a pause; a steady one may
 * stop with the machine.
 */
export interface Moment {
  readonly wallMs: number;
  readonly steadyMs: number;
}

export function momentOf(world: Pick<World, "now" | "steady">): Moment {
  const wallMs = world.now();
  return { wallMs, steadyMs: world.steady?.() ?? wallMs };
}

/** True when a span has certainly not passed since a moment: neither clock says that it has. */
export function isWithin(world: Pick<World, "now" | "steady">, since: Moment, ms: number): boolean {
  const { wallMs, steadyMs } = momentOf(world);
  return wallMs - since.wallMs < ms && steadyMs - since.steadyMs < ms;
}

/**
 * True when the lease may be taken: it is not held, it has expired by the store's clock, or its holder was a
 * dead process of this machine.
 */
export function isFree(
  { store, world }: Pick<Deps, "store" | "world">,
  lease: { readonly holder: string; readonly untilMs: number } | null,
): boolean {
  return lease === null || lease.untilMs <= store.now() || world.isGone?.(lease.holder) === true;
}
