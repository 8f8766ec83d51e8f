/** Checks that this process and the store agree on the time, before anything is deleted by age. */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { spanText } from "../../core/govern/policy.ts";
import type { Deps } from "../deps.ts";

/**
 * Refuses while the clocks differ by more than `limit.clockSkewMsMax`: one of them is wrong, and nothing
 * tells which. By a wrong clock a session that was just closed is years old.
 */
export async function checkClocks(
  { store, world }: Pick<Deps, "store" | "world">,
  call: string,
): Promise<void> {
  const askedMs = world.now();
  const storeMs = await store.readClock();
  const answeredMs = world.now();
  // The store read its clock at some moment in between.
  const aheadMs = askedMs > storeMs ? askedMs - storeMs : 0;
  const behindMs = storeMs > answeredMs ? storeMs - answeredMs : 0;
  const skewMs = Math.max(aheadMs, behindMs);
  if (skewMs <= limit.clockSkewMsMax) return;
  const way = aheadMs > 0 ? "ahead of" : "behind";
  throw new SkeinError(
    "refused",
    `${call}: this machine's clock is ${spanText(skewMs)} ${way} the store's; nothing was deleted`,
    { hint: 'synchronize both clocks with NTP and retry; "skein doctor" shows the difference' },
  );
}
