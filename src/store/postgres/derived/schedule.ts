/** PostgreSQL data for workers: due sessions and since when, and registered workers. */
import type { SessionId } from "../../../core/ids.ts";
import type { SessionStatus } from "../../../core/session/lifecycle.ts";
import type { DueRow, ScheduledRow, ServerRow, Store, WorkerRow } from "../../port.ts";
import { asCopy, goneMs, type WorkerStore } from "../../worker-rows.ts";
import type { SqlRow } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { arrayOf } from "../connection/array-literal.ts";

export function makeSchedules(driver: Driver): WorkerStore & Pick<Store, "renew"> {
  const { database, tenant } = driver;
  const { run, given } = database;
  const clocked = makeClocked(driver);
  return {
    due: (options) => due(driver, options),
    async nextDue(afterMs) {
      const [row] = await run<{ due: number | null }>(nextDue, [tenant, afterMs]);
      return row?.due ?? null;
    },
    leased: async () => (await run<DueColumns>(leased, [tenant])).map(rowOf),
    async scheduled(sessions) {
      if (sessions.length === 0) return [];
      const rows = await run<MoreColumns>(scheduled, [tenant, arrayOf(sessions)]);
      return rows.map(moreOf);
    },
    async beat({ name, sinceMs, untilMs, concurrency, limits }) {
      const values = [tenant, name, sinceMs, untilMs, concurrency, JSON.stringify(limits), given()];
      await clocked(() => run<ClockedRow>(beat, values));
    },
    workers: async () => (await run<WorkerColumns>(workers, [tenant, given()])).map(workerOf),
    async announce({ holder, address, secret, untilMs }) {
      const values = [tenant, holder, address, secret, untilMs, given()];
      await clocked(() => run<ClockedRow>(announce, values));
    },
    servers: async () => (await run<ServerColumns>(servers, [tenant, given()])).map(serverOf),
    async renew(session, epoch, leaseMs) {
      const found = await clocked(() =>
        run<ClockedRow & { renewed: boolean }>(renew, [tenant, session, epoch, leaseMs, given()]),
      );
      return found?.renewed === true;
    },
  };
}

type ClockedRow = SqlRow & { readonly now: number };

/** Learns the database's clock from the answer. */
function makeClocked({ database, world }: Driver) {
  return async <T extends ClockedRow>(ask: () => Promise<readonly T[]>): Promise<T | undefined> => {
    const askedAt = world.now();
    const [row] = await ask();
    if (row !== undefined) database.heardClock(row.now, askedAt);
    return row;
  };
}

interface DueColumns extends SqlRow {
  readonly session: SessionId;
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly model: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly due: number | null;
  readonly since: number | null;
  readonly deadline: number | null;
  readonly holder: string | null;
  readonly until_ms: number | null;
  readonly lease_order: number | null;
}

interface MoreColumns extends DueColumns {
  readonly waits: string | null;
  readonly triggers: string | null;
  readonly zone: ScheduledRow["zone"] | null;
  readonly cost: number | null;
  readonly unconfirmed: number | null;
  readonly unpriced: number | null;
  readonly copy: boolean;
}

function moreOf(row: MoreColumns): ScheduledRow {
  const found = {
    ...rowOf(row),
    waits: row.waits,
    triggers: row.triggers,
    zone: row.zone ?? "smart",
    nanoUsd: row.cost ?? 0,
    unconfirmedNanoUsd: row.unconfirmed ?? 0,
    unpriced: row.unpriced ?? 0,
  };
  return row.copy ? asCopy(found) : found;
}

const rowOf = (row: DueColumns): DueRow => {
  const { session, status, agent, model, priority, labels, due, since, deadline } = row;
  const { holder, until_ms: untilMs, lease_order: order } = row;
  return {
    session,
    status,
    agent,
    model,
    priority,
    labels,
    due,
    deadlineMs: deadline,
    sinceMs: since ?? 0,
    lease: holder === null || untilMs === null ? null : { holder, untilMs, order: order ?? 0 },
  };
};

const columns = `l.session, l.status, l.agent, s.model, l.priority, l.labels, s.due, s.since, s.deadline,
  CASE WHEN h.epoch > 0 THEN h.holder END AS holder, h.until_ms, h.lease_order`;

const nextDue = "SELECT min(due) AS due FROM skein.schedule WHERE tenant = $1 AND due > $2";

const leased = `SELECT ${columns} FROM skein.heads h JOIN skein.logs l ON l.id = h.log
  LEFT JOIN skein.schedule s ON s.log = h.log
  WHERE h.tenant = $1 AND h.epoch > 0 AND h.state = 0 AND l.listed ORDER BY h.lease_order`;

const scheduled = `SELECT ${columns}, s.waits, s.triggers, s.zone, s.cost, s.unconfirmed, s.unpriced, h.copy
  FROM unnest($2::text[]) WITH ORDINALITY AS asked (session, place)
  JOIN skein.heads h ON h.tenant = $1 AND h.session = asked.session AND h.state = 0
  JOIN skein.logs l ON l.id = h.log AND l.listed AND l.status IS NOT NULL
  LEFT JOIN skein.schedule s ON s.log = h.log ORDER BY asked.place`;

const renew = `WITH moved AS (
    UPDATE skein.heads SET until_ms = skein.clock($5) + $4::bigint
    WHERE tenant = $1 AND session = $2 AND epoch = $3 AND epoch > 0 AND state = 0 RETURNING 1
  ) SELECT EXISTS (SELECT FROM moved) AS renewed, skein.clock($5) AS now`;

/** Deletes workers that are long dead, or that sign off. */
const beat = `WITH clock AS MATERIALIZED (SELECT skein.clock($7) AS now),
  gone AS (
    DELETE FROM skein.workers w USING clock WHERE w.tenant = $1 AND CASE WHEN w.name = $2
      THEN $4::bigint <= clock.now ELSE w.until_ms < clock.now - ${goneMs} END
  ),
  here AS (
    INSERT INTO skein.workers (tenant, name, since_ms, until_ms, concurrency, limits)
    SELECT $1, $2, $3, $4::bigint, $5, $6 FROM clock WHERE $4::bigint > clock.now
    ON CONFLICT (tenant, name) DO UPDATE SET since_ms = excluded.since_ms, until_ms = excluded.until_ms,
      concurrency = excluded.concurrency, limits = excluded.limits
  ) SELECT now FROM clock`;

interface WorkerColumns extends SqlRow {
  readonly name: string;
  readonly since_ms: number;
  readonly until_ms: number;
  readonly concurrency: number;
  readonly limits: string;
}

const workers = `SELECT name, since_ms, until_ms, concurrency, limits FROM skein.workers
  WHERE tenant = $1 AND until_ms >= skein.clock($2) - ${goneMs} ORDER BY since_ms, name`;

const workerOf = (row: WorkerColumns): WorkerRow => ({
  name: row.name,
  sinceMs: row.since_ms,
  untilMs: row.until_ms,
  concurrency: row.concurrency,
  limits: JSON.parse(row.limits) as WorkerRow["limits"],
});

/** Deletes servers that are dead, or that sign off. */
const announce = `WITH clock AS MATERIALIZED (SELECT skein.clock($6) AS now),
  gone AS (
    DELETE FROM skein.servers s USING clock WHERE s.tenant = $1 AND CASE WHEN s.holder = $2
      THEN $5::bigint <= clock.now ELSE s.until_ms <= clock.now END
  ),
  here AS (
    INSERT INTO skein.servers (tenant, holder, address, secret, until_ms)
    SELECT $1, $2, $3, $4, $5::bigint FROM clock WHERE $5::bigint > clock.now
    ON CONFLICT (tenant, holder) DO UPDATE SET
      address = excluded.address, secret = excluded.secret, until_ms = excluded.until_ms
  ) SELECT now FROM clock`;

interface ServerColumns extends SqlRow {
  readonly holder: string;
  readonly address: string;
  readonly secret: string;
  readonly until_ms: number;
}

const servers = `SELECT holder, address, secret, until_ms FROM skein.servers
  WHERE tenant = $1 AND until_ms > skein.clock($2) ORDER BY holder`;

const serverOf = ({ holder, address, secret, until_ms }: ServerColumns): ServerRow => ({
  holder,
  address,
  secret,
  untilMs: until_ms,
});

/** Priorities, and the agents in each, with anything due at any time: one step each, by the index. */
const pairs = `WITH RECURSIVE pairs AS (
    (SELECT priority, agent FROM skein.schedule WHERE tenant = $1 AND due IS NOT NULL
     ORDER BY priority, agent LIMIT 1)
    UNION ALL
    SELECT next.priority, next.agent FROM pairs CROSS JOIN LATERAL (
      SELECT s.priority, s.agent FROM skein.schedule s
      WHERE s.tenant = $1 AND s.due IS NOT NULL AND (s.priority, s.agent) > (pairs.priority, pairs.agent)
      ORDER BY s.priority, s.agent LIMIT 1
    ) next
  ) SELECT priority, agent FROM pairs`;

/** Without a valid lease, and not matched by $3. */
const free = `h.state = 0 AND NOT h.copy AND l.listed
  AND (h.epoch = 0 OR h.until_ms <= (SELECT skein.clock($2)))
  AND NOT EXISTS (
    SELECT FROM jsonb_to_recordset($3::text::jsonb) AS x (agent text, model text, labels jsonb)
    WHERE (x.agent IS NULL OR x.agent = l.agent) AND (x.model IS NULL OR x.model = s.model)
      AND (x.labels IS NULL OR l.labels @> x.labels)
  )`;

const sources = "skein.schedule s JOIN skein.heads h ON h.log = s.log JOIN skein.logs l ON l.id = s.log";

/** Of each priority those with a deadline, then of each agent the longest due. */
const dueRows = `SELECT NULL::integer AS pair, p.priority AS of_priority, r.*
  FROM unnest($4::integer[]) AS p (priority)
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM ${sources}
    WHERE s.tenant = $1 AND s.priority = p.priority AND s.due = 0 AND s.deadline IS NOT NULL AND ${free}
    ORDER BY s.deadline LIMIT $5::integer
  ) r
  UNION ALL
  SELECT p.pair::integer, p.priority, r.* FROM unnest($6::integer[], $7::text[], $8::integer[])
    WITH ORDINALITY AS p (priority, agent, few, pair)
  CROSS JOIN LATERAL (
    (SELECT ${columns} FROM ${sources}
     WHERE s.tenant = $1 AND s.priority = p.priority AND s.agent = p.agent AND s.due = 0
       AND s.deadline IS NULL AND ${free}
     ORDER BY s.since LIMIT p.few)
    UNION ALL
    (SELECT ${columns} FROM ${sources}
     WHERE s.tenant = $1 AND s.priority = p.priority AND s.agent = p.agent AND s.due > 0
       AND s.due <= $9::bigint AND ${free}
     ORDER BY s.due LIMIT p.few)
  ) r`;

interface Pair {
  readonly priority: number;
  readonly agent: string;
}

interface CandidateRow extends DueColumns {
  /** The index of its pair, from 1; null if it was found by its deadline. */
  readonly pair: number | null;
  readonly of_priority: number;
}

/** Two statements, or three if some agents have more than their share and others less. */
async function due(
  { database, tenant }: Driver,
  { nowMs, limit, perAgent, except = [] }: Parameters<Store["due"]>[0],
): Promise<DueRow[]> {
  // An empty match matches everything.
  const whole = new Set(except.flatMap(({ agent, model, labels }) => ((model ?? labels) ? [] : [agent])));
  if (whole.has(undefined) || limit < 1) return [];
  const known = (await database.run<Pair & SqlRow>(pairs, [tenant])).filter(
    ({ agent }) => agent === "" || !whole.has(agent),
  );
  const priorities = [...new Set(known.map(({ priority }) => priority))];
  const find = async (deadlines: readonly number[], each: readonly (Pair & { few: number })[]) =>
    database.run<CandidateRow>(dueRows, [
      tenant,
      database.given(),
      JSON.stringify(except),
      arrayOf(deadlines),
      limit,
      arrayOf(each.map(({ priority }) => priority)),
      arrayOf(each.map(({ agent }) => agent)),
      arrayOf(each.map(({ few }) => few)),
      nowMs,
    ]);

  // If all have enough, each gets only so many turns; otherwise those with more get more.
  const fewOf = new Map(
    priorities.map((priority) => {
      const agents = known.filter((pair) => pair.priority === priority).length;
      return [priority, Math.min(perAgent, Math.ceil(limit / agents))];
    }),
  );
  const asked = known.map((pair) => ({ ...pair, few: fewOf.get(pair.priority) ?? perAgent }));
  const first = await find(priorities, asked);
  const found: CandidateRow[] = [];
  for (const priority of priorities) {
    if (found.length >= limit) break;
    const rows = first.filter((row) => row.of_priority === priority);
    found.push(...rows.filter(({ pair }) => pair === null));
    const wanted = limit - found.length;
    if (wanted <= 0) break;
    const few = fewOf.get(priority) ?? perAgent;
    const agents = byAgent(rows, few);
    const enough = few === perAgent || sizeOf(agents) >= wanted || agents.every(({ length }) => length < few);
    const own = asked.filter((pair) => pair.priority === priority);
    const more = enough
      ? agents
      : byAgent(
          await find(
            [],
            own.map((pair) => ({ ...pair, few: perAgent })),
          ),
          perAgent,
        );
    found.push(...inTurns(more));
  }
  return found.slice(0, limit).map(rowOf);
}

const sinceOf = ({ since }: DueColumns): number => since ?? 0;
const sizeOf = (lists: readonly (readonly unknown[])[]): number =>
  lists.reduce((sum, { length }) => sum + length, 0);

/** The longest due first, so many per agent. */
function byAgent(rows: readonly CandidateRow[], most: number): CandidateRow[][] {
  const agents = Map.groupBy(
    rows.filter(({ pair }) => pair !== null),
    ({ pair }) => pair,
  );
  return [...agents.values()].map((list) => list.toSorted((a, b) => sinceOf(a) - sinceOf(b)).slice(0, most));
}

const inTurns = (agents: readonly (readonly CandidateRow[])[]): CandidateRow[] =>
  agents
    .flatMap((list) => list.map((row, turn) => ({ row, turn })))
    .toSorted((a, b) => a.turn - b.turn || sinceOf(a.row) - sinceOf(b.row))
    .map(({ row }) => row);
