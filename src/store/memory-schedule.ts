/** The schedule of the store in memory: every log is looked at, and nothing is kept beside the index. */
import { isSessionId, type LogId } from "../core/ids.ts";
import type { DueRow, IndexEntry, Store, WorkerRow } from "./port.ts";

interface Scheduled {
  readonly id: LogId;
  readonly dropped: boolean;
  readonly copy: boolean;
  readonly index: IndexEntry | null;
  readonly lease: { readonly holder: string; readonly untilMs: number } | null;
  readonly epoch: number;
}

/** A worker that was not heard of for so long is no longer shown. */
const goneMs = 3_600_000;

export function schedules(
  logs: () => Iterable<Scheduled>,
  now: () => number,
): Pick<Store, "due" | "nextDue" | "leased" | "beat" | "workers"> {
  const workers = new Map<string, WorkerRow>();
  const rows = (): DueRow[] => [...logs()].flatMap(dueRow);
  return {
    async due({ nowMs, limit, perAgent }) {
      const byGroup = new Map<string, DueRow[]>();
      for (const row of rows().toSorted((a, b) => (a.due ?? 0) - (b.due ?? 0))) {
        if (row.due === null || row.due > nowMs) continue;
        const group = `${row.priority}/${row.agent ?? ""}`;
        byGroup.set(group, [...(byGroup.get(group) ?? []), row]);
      }
      const turns = [...byGroup.entries()]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([, group]) => group.slice(0, perAgent).map((row, turn) => ({ row, turn })));
      return turns
        .toSorted((a, b) => a.row.priority - b.row.priority || a.turn - b.turn)
        .map(({ row }) => row)
        .slice(0, limit);
    },
    async nextDue(afterMs) {
      const later = rows().flatMap(({ due }) => (due !== null && due > afterMs ? [due] : []));
      return later.length === 0 ? null : Math.min(...later);
    },
    leased: async () => rows().filter(({ lease }) => lease !== null),
    async beat(worker) {
      for (const { name, untilMs } of workers.values()) if (untilMs < now() - goneMs) workers.delete(name);
      if (worker.untilMs <= now()) workers.delete(worker.name);
      else workers.set(worker.name, { ...worker });
    },
    workers: async () =>
      [...workers.values()]
        .filter(({ untilMs }) => untilMs >= now() - goneMs)
        .toSorted((a, b) => a.sinceMs - b.sinceMs || (a.name < b.name ? -1 : 1)),
  };
}

function dueRow({ id, dropped, copy, index, lease, epoch }: Scheduled): DueRow[] {
  if (dropped || copy || index === null || !isSessionId(id)) return [];
  const { status, agent, model = null, priority, labels, due = null } = index;
  const held = epoch === 0 ? null : lease;
  return [{ session: id, status, agent, model, priority, labels: { ...labels }, due, lease: held }];
}
