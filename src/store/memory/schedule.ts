/** The schedule of the memory store: scans every log; nothing is stored besides the index. */
import { isSessionId, type LogId } from "../../core/ids.ts";
import type { DueRow, IndexEntry, RunMatch, ScheduledRow, ServerRow, Store, WorkerRow } from "../port.ts";
import { asCopy, goneMs, type WorkerStore } from "../worker-rows.ts";

interface ScheduleRow {
  readonly id: LogId;
  readonly dropped: boolean;
  readonly copy: boolean;
  readonly index: IndexEntry | null;
  readonly sinceMs: number;
  readonly lease: { readonly holder: string; readonly untilMs: number } | null;
  readonly leaseOrder: number;
  readonly epoch: number;
}

export function schedules(logs: () => Iterable<ScheduleRow>, now: () => number): WorkerStore {
  const workers = new Map<string, WorkerRow>();
  const servers = new Map<string, ServerRow>();
  const rows = (): DueRow[] => [...logs()].flatMap(dueRow);
  return {
    due: async (options) => dueOf(rows(), options, now()),
    async nextDue(afterMs) {
      const later = rows().flatMap(({ due }) => (due !== null && due > afterMs ? [due] : []));
      return later.length === 0 ? null : Math.min(...later);
    },
    leased: async () =>
      rows()
        .filter(({ lease }) => lease !== null)
        .toSorted((a, b) => (a.lease?.order ?? 0) - (b.lease?.order ?? 0)),
    async scheduled(sessions) {
      const found = new Map([...logs()].map((log) => [log.id, log]));
      return sessions.flatMap((session) => scheduledRow(found.get(session)));
    },
    async beat(worker) {
      for (const { name, untilMs } of workers.values()) if (untilMs < now() - goneMs) workers.delete(name);
      if (worker.untilMs <= now()) workers.delete(worker.name);
      else workers.set(worker.name, { ...worker });
    },
    workers: async () =>
      [...workers.values()]
        .filter(({ untilMs }) => untilMs >= now() - goneMs)
        .toSorted((a, b) => a.sinceMs - b.sinceMs || (a.name < b.name ? -1 : 1)),
    async announce(server) {
      servers.delete(server.holder);
      for (const { holder, untilMs } of servers.values()) if (untilMs <= now()) servers.delete(holder);
      if (server.untilMs > now()) servers.set(server.holder, { ...server });
    },
    servers: async () =>
      [...servers.values()]
        .filter(({ untilMs }) => untilMs > now())
        .toSorted((a, b) => (a.holder < b.holder ? -1 : 1)),
  };
}

function dueOf(
  all: readonly DueRow[],
  { nowMs, limit, perAgent, except = [] }: Parameters<Store["due"]>[0],
  clockMs: number,
): DueRow[] {
  const byGroup = new Map<string, DueRow[]>();
  for (const row of all.toSorted((a, b) => a.sinceMs - b.sinceMs)) {
    const { due, lease, priority, agent } = row;
    if (due === null || due > nowMs || (lease !== null && lease.untilMs > clockMs)) continue;
    if (except.some((match) => matches(match, row))) continue;
    const group = `${priority}/${hurry(row) === Infinity ? (agent ?? "") : `!${row.session}`}`;
    byGroup.set(group, [...(byGroup.get(group) ?? []), row]);
  }
  return [...byGroup.values()]
    .flatMap((group) => group.slice(0, perAgent).map((row, turn) => ({ row, turn })))
    .toSorted(
      (a, b) =>
        a.row.priority - b.row.priority ||
        Number(hurry(b.row) < Infinity) - Number(hurry(a.row) < Infinity) ||
        (hurry(a.row) < Infinity ? hurry(a.row) - hurry(b.row) : 0) ||
        a.turn - b.turn ||
        a.row.sinceMs - b.row.sinceMs,
    )
    .map(({ row }) => row)
    .slice(0, limit);
}

/** The deadline of a session with work; one that is due only by time has none. */
const hurry = ({ due, deadlineMs }: DueRow): number => (due === 0 ? (deadlineMs ?? Infinity) : Infinity);

/** Whether a session matches every given field. */
function matches({ agent, model, labels = {} }: RunMatch, row: DueRow): boolean {
  return (
    (agent === undefined || agent === row.agent) &&
    (model === undefined || model === row.model) &&
    Object.entries(labels).every(([key, value]) => row.labels[key] === value)
  );
}

function dueRow({ id, dropped, copy, index, sinceMs, lease, leaseOrder, epoch }: ScheduleRow): DueRow[] {
  if (dropped || copy || index === null || !isSessionId(id)) return [];
  const { status, agent, model = null, priority, labels, due = null, deadline: deadlineMs = null } = index;
  const held = epoch === 0 || lease === null ? null : { ...lease, order: leaseOrder };
  const own = { session: id, status, agent, model, priority, labels: { ...labels } };
  return [{ ...own, due, deadlineMs, sinceMs, lease: held }];
}

function scheduledRow(log: ScheduleRow | undefined): ScheduledRow[] {
  if (log === undefined) return [];
  const { waits = null, triggers = null, zone = "smart" } = log.index ?? {};
  const { nanoUsd = 0, unconfirmedNanoUsd = 0, unpriced = 0 } = log.index ?? {};
  const own = dueRow({ ...log, copy: false }).map((row): ScheduledRow => ({
    ...row,
    waits,
    triggers,
    zone,
    nanoUsd,
    unconfirmedNanoUsd,
    unpriced,
  }));
  return log.copy ? own.map(asCopy) : own;
}
