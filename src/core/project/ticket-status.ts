/** How far the tickets of a project are, as its log tells: who waits for whom, what is done. */
import type { PlannedTicket, PlanState } from "./plan.ts";

export const plannedStatuses = ["waiting", "ready", "running", "done", "failed", "skipped"] as const;
/**
 * `waiting` for others, `ready` to start, `running` in a session, `done`, `failed`, or `skipped` because one
 * before it failed.
 */
export type PlannedStatus = (typeof plannedStatuses)[number];

/** The status of every ticket. */
export function plannedStatusOf({ tickets }: PlanState): ReadonlyMap<string, PlannedStatus> {
  const found = new Map<string, PlannedStatus>();
  // Without recursion: a plan may be one long chain. It has no cycle, so each round settles at least one.
  let left = [...tickets.values()];
  while (left.length > 0) {
    const later: PlannedTicket[] = [];
    for (const ticket of left) {
      const own = ownStatus(ticket);
      const before = ticket.after.map((id) => (tickets.has(id) ? found.get(id) : "done"));
      if (own !== null) found.set(ticket.id, own);
      else if (before.includes(undefined)) later.push(ticket);
      else found.set(ticket.id, statusBehind(before));
    }
    if (later.length === left.length) for (const { id } of later.splice(0)) found.set(id, "waiting");
    left = later;
  }
  return found;
}

function ownStatus({ runs, settled }: PlannedTicket): PlannedStatus | null {
  if (settled !== null) return settled.outcome;
  return runs.length === 0 ? null : "running";
}

function statusBehind(before: readonly (PlannedStatus | undefined)[]): PlannedStatus {
  if (before.includes("failed") || before.includes("skipped")) return "skipped";
  return before.every((status) => status === "done") ? "ready" : "waiting";
}
