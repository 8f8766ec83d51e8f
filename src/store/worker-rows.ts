/** The logic for workers that drivers share. */
import type { IndexEntry, ScheduledRow, Store } from "./port.ts";

/** A worker without a heartbeat for so long disappears from the list. */
export const goneMs = 3_600_000;

export type WorkerStore = Pick<
  Store,
  "due" | "nextDue" | "leased" | "scheduled" | "beat" | "workers" | "announce" | "servers"
>;

/** Whether the index has more of a session than lists show. */
export function hasSchedule(entry: IndexEntry): boolean {
  const { due, deadline, watches, waits, triggers, zone, nanoUsd, unconfirmedNanoUsd, unpriced } = entry;
  const spend = nanoUsd ?? unconfirmedNanoUsd ?? unpriced;
  return (due ?? deadline ?? watches ?? waits ?? triggers ?? zone ?? spend) !== undefined;
}

/** A copy never runs: nothing is due for it. */
export const asCopy = (row: ScheduledRow): ScheduledRow => ({
  ...row,
  due: null,
  sinceMs: 0,
  deadlineMs: null,
  lease: null,
  waits: null,
  triggers: null,
  copy: true,
});
