/** SQLite data for workers: due sessions and since when, and registered workers. */
import type { DatabaseSync } from "node:sqlite";
import type { SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import type { DueRow, IndexEntry, RunMatch, ScheduledRow, ServerRow, Store, WorkerRow } from "../port.ts";
import { asCopy, goneMs, hasSchedule, type WorkerStore } from "../worker-rows.ts";
import type { SqliteWriter } from "./writer.ts";

export interface Schedule {
  /** With each change of the index, in its transaction. */
  set(log: number, entry: IndexEntry): void;
  /** A released session queues behind the waiting ones. */
  released(log: number): void;
  clear(log: number): void;
}

export function makeSchedule(database: DatabaseSync, tenant: string, now: () => number): Schedule {
  const put = database.prepare(
    `INSERT INTO schedule
       (log, tenant, priority, agent, due, since, deadline, model, watches, waits, triggers, zone, cost,
        unconfirmed, unpriced)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (log) DO UPDATE SET priority = excluded.priority, agent = excluded.agent,
       due = excluded.due, since = iif(due = 0 AND excluded.due = 0, since, excluded.since),
       deadline = excluded.deadline, model = excluded.model, watches = excluded.watches,
       waits = excluded.waits, triggers = excluded.triggers, zone = excluded.zone, cost = excluded.cost,
       unconfirmed = excluded.unconfirmed, unpriced = excluded.unpriced`,
  );
  const remove = database.prepare("DELETE FROM schedule WHERE log = ?");
  const behind = database.prepare("UPDATE schedule SET since = ? WHERE log = ? AND due = 0");
  return {
    set(log, entry) {
      if (!hasSchedule(entry)) return void remove.run(log);
      const { priority, agent, due, deadline, model, watches, waits, triggers, zone } = entry;
      const { nanoUsd = 0, unconfirmedNanoUsd = 0, unpriced = 0 } = entry;
      const since = due === 0 ? now() : (due ?? 0);
      const first = [log, tenant, priority, agent ?? "", due ?? null, since, deadline ?? null] as const;
      const rest = [waits ?? null, triggers ?? null, zone ?? null, nanoUsd] as const;
      put.run(...first, model ?? null, watches === true ? 1 : 0, ...rest, unconfirmedNanoUsd, unpriced);
    },
    released: (log) => void behind.run(now(), log),
    clear: (log) => void remove.run(log),
  };
}

type DueArray = [
  log: number,
  session: SessionId,
  status: SessionStatus,
  agent: string | null,
  model: string | null,
  priority: number,
  due: number | null,
  since: number | null,
  holder: string | null,
  untilMs: number | null,
  order: number | null,
  deadline: number | null,
];

type More = [
  waits: string | null,
  triggers: string | null,
  zone: ScheduledRow["zone"] | null,
  cost: number | null,
  unconfirmed: number | null,
  unpriced: number | null,
  copy: number,
];

type MoreArray = [...DueArray, ...More];

const columns = `l.id, l.session, l.status, l.agent, s.model, l.priority, s.due, s.since, e.holder,
  e.until_ms, (SELECT position FROM records WHERE log = l.id AND seq = l.epoch), s.deadline`;

interface ScheduleInput {
  readonly tenant: string;
  readonly now: () => number;
  /** Runs a read, and converts its errors. */
  readonly look: <T>(work: () => T) => Promise<T>;
}

export function schedules(
  database: DatabaseSync,
  writer: SqliteWriter,
  { tenant, now, look }: ScheduleInput,
): WorkerStore {
  const next = database.prepare("SELECT min(due) FROM schedule WHERE tenant = ? AND due > ?");
  const held = database.prepare(
    `SELECT ${columns} FROM leases e CROSS JOIN logs l ON l.id = e.log LEFT JOIN schedule s ON s.log = e.log
     WHERE l.tenant = ? AND l.listed = 1 AND l.epoch > 0 ORDER BY 11`,
  );
  const one = database.prepare(
    `SELECT ${columns}, s.waits, s.triggers, s.zone, s.cost, s.unconfirmed, s.unpriced, l.copy FROM logs l
     LEFT JOIN leases e ON e.log = l.id AND l.epoch > 0 LEFT JOIN schedule s ON s.log = l.id
     WHERE l.tenant = ? AND l.session = ? AND l.listed = 1 AND l.status IS NOT NULL`,
  );
  for (const statement of [next, held, one]) statement.setReturnArrays(true);
  const rowOf = makeRows(database);
  const due = makeDue(database, { tenant, now }, rowOf);

  function scheduledRow(session: SessionId): ScheduledRow[] {
    const row = one.get(tenant, session) as unknown as MoreArray | undefined;
    if (row === undefined) return [];
    const [waits, triggers, zone, cost, unconfirmed, unpriced, copy] = row.slice(12) as More;
    const base = rowOf(row.slice(0, 12) as DueArray);
    const spend = { nanoUsd: cost ?? 0, unconfirmedNanoUsd: unconfirmed ?? 0, unpriced: unpriced ?? 0 };
    const found = { ...base, waits, triggers, zone: zone ?? "smart", ...spend };
    return [copy === 0 ? found : asCopy(found)];
  }

  return {
    due: (options) => look(() => due(options)),
    nextDue: (afterMs) => look(() => (next.get(tenant, afterMs) as unknown as [number | null])[0]),
    leased: () => look(() => (held.all(tenant) as unknown as DueArray[]).map(rowOf)),
    scheduled: (sessions) => look(() => sessions.flatMap(scheduledRow)),
    beat: (worker) => writer.run(() => beat(database, tenant, now(), worker)),
    workers: () => look(() => workersOf(database, tenant, now())),
    announce: (server) => writer.run(() => announce(database, tenant, now(), server)),
    servers: () => look(() => serversOf(database, tenant, now())),
  };
}

function makeRows(database: DatabaseSync): (row: DueArray) => DueRow {
  const labels = database.prepare("SELECT key, value FROM labels WHERE log = ?");
  labels.setReturnArrays(true);
  return ([
    log,
    session,
    status,
    agent,
    model,
    priority,
    due,
    since,
    holder,
    untilMs,
    order,
    deadlineMs,
  ]) => ({
    session,
    status,
    agent,
    model,
    priority,
    labels: Object.fromEntries(labels.all(log) as unknown as [string, string][]),
    due,
    deadlineMs,
    sinceMs: since ?? 0,
    lease: holder === null || untilMs === null ? null : { holder, untilMs, order: order ?? 0 },
  });
}

/** One step per agent, for any number of its sessions. */
function makeDue(
  database: DatabaseSync,
  { tenant, now }: Pick<ScheduleInput, "tenant" | "now">,
  rowOf: (row: DueArray) => DueRow,
): (options: Parameters<Store["due"]>[0]) => DueRow[] {
  const priorities = database.prepare(
    `WITH RECURSIVE p (priority) AS (
       SELECT min(priority) FROM schedule WHERE tenant = ?1 AND due IS NOT NULL
       UNION ALL SELECT (
         SELECT min(priority) FROM schedule WHERE tenant = ?1 AND priority > p.priority AND due IS NOT NULL
       ) FROM p WHERE p.priority IS NOT NULL
     ) SELECT priority FROM p WHERE priority IS NOT NULL`,
  );
  const agents = database.prepare(
    `WITH RECURSIVE a (agent) AS (
       SELECT min(agent) FROM schedule WHERE tenant = ?1 AND priority = ?2 AND due IS NOT NULL
       UNION ALL SELECT (
         SELECT min(agent) FROM schedule
         WHERE tenant = ?1 AND priority = ?2 AND agent > a.agent AND due IS NOT NULL
       ) FROM a WHERE a.agent IS NOT NULL
     ) SELECT agent FROM a WHERE agent IS NOT NULL`,
  );
  const byDeadline = database.prepare(
    `SELECT ${columns} FROM schedule s INDEXED BY schedule_deadline JOIN logs l ON l.id = s.log
     LEFT JOIN leases e ON e.log = s.log AND l.epoch > 0
     WHERE s.tenant = ?1 AND s.priority = ?2 AND s.due = 0 AND s.deadline IS NOT NULL
       AND l.listed = 1 AND l.copy = 0 AND (e.log IS NULL OR e.until_ms <= ?3) ORDER BY s.deadline`,
  );
  const ofAgent = (when: string, order: string) =>
    database.prepare(
      `SELECT ${columns} FROM schedule s JOIN logs l ON l.id = s.log
       LEFT JOIN leases e ON e.log = s.log AND l.epoch > 0
       WHERE s.tenant = ?1 AND s.priority = ?2 AND s.agent = ?3 AND ${when} AND l.listed = 1 AND l.copy = 0
         AND (e.log IS NULL OR e.until_ms <= ?4) ORDER BY ${order}`,
    );
  const [atOnce, byTime] = [
    ofAgent("s.due = 0 AND s.deadline IS NULL", "s.since"),
    ofAgent("s.due > 0 AND s.due <= ?5", "s.due"),
  ];
  for (const statement of [priorities, agents, byDeadline, atOnce, byTime]) statement.setReturnArrays(true);

  return ({ nowMs, limit, perAgent, except = [] }) => {
    // Labels are read only for `except`, and finally for the result.
    const isOut = (row: DueArray): boolean =>
      except.some((match) => matches(match, row, () => rowOf(row).labels));
    const whole = new Set(except.flatMap(({ agent, model, labels }) => ((model ?? labels) ? [] : [agent])));
    const taken = (rows: Iterable<unknown>, most: number): DueArray[] => {
      const found: DueArray[] = [];
      for (const row of rows as Iterable<DueArray>) {
        if (!isOut(row) && found.push(row) >= most) break;
      }
      return found;
    };
    const firstOf = (priority: number, agent: string, most: number): DueArray[] => {
      const clockMs = now();
      const found = [
        ...taken(atOnce.iterate(tenant, priority, agent, clockMs), most),
        ...taken(byTime.iterate(tenant, priority, agent, clockMs, nowMs), most),
      ];
      return found.toSorted((a, b) => sinceOf(a) - sinceOf(b)).slice(0, most);
    };
    const ofPriority = (priority: number, wanted: number): DueArray[] => {
      const names = (agents.all(tenant, priority) as unknown as [string][])
        .map(([agent]) => agent)
        .filter((agent) => agent === "" || !whole.has(agent));
      // If all have enough, each gets only so many turns; otherwise those with more get more.
      const few = Math.min(perAgent, Math.ceil(wanted / names.length));
      const first = names.map((agent) => ({ agent, rows: firstOf(priority, agent, few) }));
      const enough = first.reduce((sum, { rows }) => sum + rows.length, 0) >= wanted;
      const turns = first.flatMap(({ agent, rows }) => {
        const all =
          enough || few === perAgent || rows.length < few ? rows : firstOf(priority, agent, perAgent);
        return all.map((row, turn) => ({ row, turn }));
      });
      return turns
        .toSorted((a, b) => a.turn - b.turn || sinceOf(a.row) - sinceOf(b.row))
        .map(({ row }) => row);
    };
    const found: DueArray[] = [];
    for (const [priority] of priorities.all(tenant) as unknown as [number][]) {
      if (found.length >= limit || whole.has(undefined)) break;
      found.push(...taken(byDeadline.iterate(tenant, priority, now()), limit - found.length));
      if (found.length < limit) found.push(...ofPriority(priority, limit - found.length));
    }
    return found.slice(0, limit).map(rowOf);
  };
}

const sinceOf = (row: DueArray): number => row[7] ?? 0;

/** Whether a session matches every given field. */
function matches(
  { agent, model, labels }: RunMatch,
  row: DueArray,
  labelsOf: () => Readonly<Record<string, string>>,
): boolean {
  if (agent !== undefined && agent !== row[3]) return false;
  if (model !== undefined && model !== row[4]) return false;
  if (labels === undefined) return true;
  const own = labelsOf();
  return Object.entries(labels).every(([key, value]) => own[key] === value);
}

function beat(database: DatabaseSync, tenant: string, nowMs: number, worker: WorkerRow): void {
  const { name, sinceMs, untilMs, concurrency, limits } = worker;
  database.prepare("DELETE FROM workers WHERE until_ms < ?").run(nowMs - goneMs);
  if (untilMs <= nowMs) {
    database.prepare("DELETE FROM workers WHERE tenant = ? AND name = ?").run(tenant, name);
    return;
  }
  const put = `INSERT OR REPLACE INTO workers (tenant, name, since_ms, until_ms, concurrency, limits)
               VALUES (?, ?, ?, ?, ?, ?)`;
  database.prepare(put).run(tenant, name, sinceMs, untilMs, concurrency, JSON.stringify(limits));
}

const workersOf = (database: DatabaseSync, tenant: string, nowMs: number): WorkerRow[] =>
  database
    .prepare(
      `SELECT name, since_ms, until_ms, concurrency, limits FROM workers
       WHERE tenant = ? AND until_ms >= ? ORDER BY since_ms, name`,
    )
    .all(tenant, nowMs - goneMs)
    .map((row) => ({
      name: String(row["name"]),
      sinceMs: Number(row["since_ms"]),
      untilMs: Number(row["until_ms"]),
      concurrency: Number(row["concurrency"]),
      limits: JSON.parse(String(row["limits"])) as WorkerRow["limits"],
    }));

function announce(database: DatabaseSync, tenant: string, nowMs: number, server: ServerRow): void {
  const { holder, address, secret, untilMs } = server;
  database
    .prepare("DELETE FROM servers WHERE until_ms <= ? OR (tenant = ? AND holder = ?)")
    .run(nowMs, tenant, holder);
  if (untilMs <= nowMs) return;
  const put = "INSERT INTO servers (tenant, holder, address, secret, until_ms) VALUES (?, ?, ?, ?, ?)";
  database.prepare(put).run(tenant, holder, address, secret, untilMs);
}

const serversOf = (database: DatabaseSync, tenant: string, nowMs: number): ServerRow[] =>
  database
    .prepare(
      `SELECT holder, address, secret, until_ms FROM servers
       WHERE tenant = ? AND until_ms > ? ORDER BY holder`,
    )
    .all(tenant, nowMs)
    .map((row) => ({
      holder: String(row["holder"]),
      address: String(row["address"]),
      secret: String(row["secret"]),
      untilMs: Number(row["until_ms"]),
    }));
