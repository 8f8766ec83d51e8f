/** What drivers do for workers, whatever they keep it in. */
import type { Store } from "./port.ts";

/** A worker that was not heard of for so long is no longer shown. */
export const goneMs = 3_600_000;

export type Scheduling = Pick<
  Store,
  "due" | "nextDue" | "leased" | "scheduled" | "beat" | "workers" | "announce" | "servers"
>;
