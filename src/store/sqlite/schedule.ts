/** What SQLite keeps for workers: which sessions are due and when, and which workers there are. */
import type { DatabaseSync } from "node:sqlite";
import type { SessionId } from "../../core/ids.ts";
import type { Status } from "../../core/lifecycle.ts";
import type { DueRow, IndexEntry, Store, WorkerRow } from "../port.ts";
import type { Writer } from "./writer.ts";

export interface Schedule {
  /** With each change of the index, in its transaction. */
  set(log: number, entry: IndexEntry): void;
  clear(log: number): void;
}

export function makeSchedule(database: DatabaseSync, tenant: string): Schedule {
  const put = database.prepare(
    `INSERT OR REPLACE INTO schedule (log, tenant, priority, agent, due, model, watches)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const remove = database.prepare("DELETE FROM schedule WHERE log = ?");
  return {
    set(log, { priority, agent, due, model, watches }) {
      if (due === undefined && watches !== true) remove.run(log);
      else put.run(log, tenant, priority, agent ?? "", due ?? null, model ?? null, watches === true ? 1 : 0);
    },
    clear: (log) => void remove.run(log),
  };
}

type DueArray = [
  log: number,
  session: SessionId,
  status: Status,
  agent: string | null,
  model: string | null,
  priority: number,
  due: number | null,
  holder: string | null,
  untilMs: number | null,
];

const columns = `l.id, l.session, l.status, l.agent, s.model, l.priority, s.due, e.holder, e.until_ms`;

/** A worker that was not heard of for so long is no longer shown. */
const goneMs = 3_600_000;

export function schedules(
  database: DatabaseSync,
  writer: Writer,
  { tenant, now }: { readonly tenant: string; readonly now: () => number },
): Pick<Store, "due" | "nextDue" | "leased" | "beat" | "workers" | "feedEnd"> {
  const priorities = database.prepare(
    `WITH RECURSIVE p (priority) AS (
       SELECT min(priority) FROM schedule WHERE tenant = ?1 AND due IS NOT NULL
       UNION ALL SELECT (
         SELECT min(priority) FROM schedule WHERE tenant = ?1 AND priority > p.priority AND due IS NOT NULL
       ) FROM p WHERE p.priority IS NOT NULL
     ) SELECT priority FROM p WHERE priority IS NOT NULL`,
  );
  // One step an agent, however many sessions it has.
  const agents = database.prepare(
    `WITH RECURSIVE a (agent) AS (
       SELECT min(agent) FROM schedule WHERE tenant = ?1 AND priority = ?2 AND due IS NOT NULL
       UNION ALL SELECT (
         SELECT min(agent) FROM schedule
         WHERE tenant = ?1 AND priority = ?2 AND agent > a.agent AND due IS NOT NULL
       ) FROM a WHERE a.agent IS NOT NULL
     ) SELECT agent FROM a WHERE agent IS NOT NULL`,
  );
  const ofAgent = database.prepare(
    `SELECT ${columns} FROM schedule s JOIN logs l ON l.id = s.log LEFT JOIN leases e ON e.log = s.log
     WHERE s.tenant = ? AND s.priority = ? AND s.agent = ? AND s.due <= ? AND l.listed = 1 AND l.copy = 0
     ORDER BY s.due LIMIT ?`,
  );
  const next = database.prepare("SELECT min(due) FROM schedule WHERE tenant = ? AND due > ?");
  const held = database.prepare(
    `SELECT ${columns} FROM leases e JOIN logs l ON l.id = e.log LEFT JOIN schedule s ON s.log = e.log
     WHERE l.tenant = ? AND l.listed = 1 AND l.epoch > 0`,
  );
  const labels = database.prepare("SELECT key, value FROM labels WHERE log = ?");
  for (const statement of [priorities, agents, ofAgent, next, held, labels]) statement.setReturnArrays(true);

  const dueRow = ([
    log,
    session,
    status,
    agent,
    model,
    priority,
    due,
    holder,
    untilMs,
  ]: DueArray): DueRow => ({
    session,
    status,
    agent,
    model,
    priority,
    labels: Object.fromEntries(labels.all(log) as unknown as [string, string][]),
    due,
    lease: holder === null || untilMs === null ? null : { holder, untilMs },
  });

  return {
    async due({ nowMs, limit, perAgent }) {
      const found: DueRow[] = [];
      for (const [priority] of priorities.all(tenant) as unknown as [number][]) {
        const each = (agents.all(tenant, priority) as unknown as [string][]).map(
          ([agent]) => ofAgent.all(tenant, priority, agent, nowMs, perAgent) as unknown as DueArray[],
        );
        for (let turn = 0; each.some((rows) => rows.length > turn); turn++) {
          for (const rows of each) {
            const row = rows[turn];
            if (row === undefined) continue;
            if (found.length >= limit) return found;
            found.push(dueRow(row));
          }
        }
      }
      return found;
    },
    feedEnd: async () =>
      String(
        database
          .prepare(
            `SELECT max(ifnull((SELECT max(position) FROM records), 0),
               ifnull((SELECT max(position) FROM arrivals), 0)) AS position`,
          )
          .get()?.["position"] ?? 0,
      ),
    nextDue: async (afterMs) => (next.get(tenant, afterMs) as unknown as [number | null])[0],
    leased: async () => (held.all(tenant) as unknown as DueArray[]).map(dueRow),
    beat: ({ name, sinceMs, untilMs, concurrency }) =>
      writer.run(() => {
        database.prepare("DELETE FROM workers WHERE until_ms < ?").run(now() - goneMs);
        const change =
          untilMs <= now()
            ? database.prepare("DELETE FROM workers WHERE tenant = ? AND name = ?")
            : database.prepare(
                `INSERT OR REPLACE INTO workers (tenant, name, since_ms, until_ms, concurrency)
                 VALUES (?, ?, ?, ?, ?)`,
              );
        if (untilMs <= now()) change.run(tenant, name);
        else change.run(tenant, name, sinceMs, untilMs, concurrency);
      }),
    workers: async () =>
      database
        .prepare(
          `SELECT name, since_ms, until_ms, concurrency FROM workers WHERE tenant = ? AND until_ms >= ?
           ORDER BY since_ms, name`,
        )
        .all(tenant, now() - goneMs)
        .map((row): WorkerRow => ({
          name: String(row["name"]),
          sinceMs: Number(row["since_ms"]),
          untilMs: Number(row["until_ms"]),
          concurrency: Number(row["concurrency"]),
        })),
  };
}
