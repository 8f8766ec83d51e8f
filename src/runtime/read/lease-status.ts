/** Whether a lease still holds, by the clock and by the process that took it. */
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";

/**
 * A moment of this process by two clocks. One that is set back may hide that it stood still; a steady one may
 * stand still with the machine.
 */
export interface Moment {
  readonly wallMs: number;
  readonly steadyMs: number;
}

export function momentOf(world: Pick<World, "now" | "steady">): Moment {
  const wallMs = world.now();
  return { wallMs, steadyMs: world.steady?.() ?? wallMs };
}

/** Whether a span has certainly not passed since a moment: neither clock says that it has. */
export function isWithin(world: Pick<World, "now" | "steady">, since: Moment, ms: number): boolean {
  const { wallMs, steadyMs } = momentOf(world);
  return wallMs - since.wallMs < ms && steadyMs - since.steadyMs < ms;
}

/**
 * Whether anybody may take it: nobody holds it, it has run out by the store's clock, or its holder was a
 * process of this machine that is no more.
 */
export function isFree(
  { store, world }: Pick<Deps, "store" | "world">,
  lease: { readonly holder: string; readonly untilMs: number } | null,
): boolean {
  return lease === null || lease.untilMs <= store.now() || world.isGone?.(lease.holder) === true;
}
