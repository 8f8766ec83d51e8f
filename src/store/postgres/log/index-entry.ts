/** The session index in PostgreSQL: in `logs` for lists, in `schedule` for workers. */
import type { IndexEntry } from "../../port.ts";
import { hasSchedule } from "../../worker-rows.ts";
import type { Statement } from "../connection/connection.ts";
import { arrayOf, shownText } from "../connection/array-literal.ts";

export interface IndexRow {
  /** The number of the log; its row of `logs` already exists. */
  readonly log: number;
  readonly entry: IndexEntry;
}

const setLogs = `
UPDATE skein.logs l SET status = n.status, agent = n.agent, name = n.name, objective = n.objective,
  priority = n.priority, outbox = n.outbox, inbox_full = n.inbox_full, labels = n.labels::jsonb,
  tags = n.tags::text[]
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[], $9::boolean[],
  $10::text[], $11::text[])
  AS n (log, status, agent, name, objective, priority, outbox, inbox_full, labels, tags)
WHERE l.id = n.log AND l.tenant = $1
  AND (l.status, l.agent, l.name, l.objective, l.priority, l.outbox, l.inbox_full, l.labels) IS DISTINCT FROM
    (n.status, n.agent, n.name, n.objective, n.priority, n.outbox, n.inbox_full, n.labels::jsonb)`;

/** Since when it is due: unchanged if it was due and still is. */
const setSchedule = `
INSERT INTO skein.schedule AS s
  (log, tenant, priority, agent, due, since, deadline, model, watches, waits, triggers, zone, cost,
   unconfirmed, unpriced)
SELECT n.log, $1, n.priority, n.agent, n.due,
  CASE n.due WHEN 0 THEN skein.clock($2) ELSE coalesce(n.due, 0) END,
  n.deadline, n.model, n.watches, n.waits, n.triggers, n.zone, n.cost, n.unconfirmed, n.unpriced
FROM unnest($3::bigint[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::boolean[],
  $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::int[])
  AS n (log, priority, agent, due, deadline, model, watches, waits, triggers, zone, cost, unconfirmed,
    unpriced)
ON CONFLICT (log) DO UPDATE SET priority = excluded.priority, agent = excluded.agent, due = excluded.due,
  since = CASE WHEN s.due = 0 AND excluded.due = 0 THEN s.since ELSE excluded.since END,
  deadline = excluded.deadline, model = excluded.model, watches = excluded.watches, waits = excluded.waits,
  triggers = excluded.triggers, zone = excluded.zone, cost = excluded.cost,
  unconfirmed = excluded.unconfirmed, unpriced = excluded.unpriced`;

const clearSchedule = "DELETE FROM skein.schedule WHERE tenant = $1 AND log = ANY ($2::bigint[])";

/** PostgreSQL stores neither U+0000 nor lone surrogates. */
const kept = (text: string): string => (shownText(text) ?? "").toWellFormed();

/** A label as a search tag: all tenants share the index of labels. */
export const tagOf = (tenant: number, key: string, value: string): string =>
  `${tenant}:${JSON.stringify([kept(key), kept(value)])}`;

/**
 * Sets the index entries of these sessions, within a transaction that holds their heads. Of two rows for one
 * log the last counts. `given` is for skein.clock. The statements are sent together.
 */
export async function setIndex(
  statement: Statement,
  tenant: number,
  rows: readonly IndexRow[],
  given: number | null,
): Promise<void> {
  const entries = [...new Map(rows.map(({ log, entry }) => [log, entry]))];
  if (entries.length === 0) return;
  const scheduled = entries.filter(([, entry]) => hasSchedule(entry));
  const idle = entries.filter(([, entry]) => !hasSchedule(entry)).map(([log]) => log);
  await Promise.all([
    statement(setLogs, [tenant, ...logColumns(tenant, entries)]),
    scheduled.length > 0 ? statement(setSchedule, [tenant, given, ...scheduleColumns(scheduled)]) : null,
    idle.length > 0 ? statement(clearSchedule, [tenant, arrayOf(idle)]) : null,
  ]);
}

type Entries = readonly (readonly [log: number, entry: IndexEntry])[];

const column = (entries: Entries, of: (entry: IndexEntry) => string | number | boolean | null): string =>
  arrayOf(entries.map(([, entry]) => of(entry)));

function logColumns(tenant: number, entries: Entries): readonly string[] {
  const labelsOf = ({ labels }: IndexEntry): readonly (readonly [string, string])[] =>
    Object.entries(labels).map(([key, value]) => [kept(key), kept(value)]);
  return [
    arrayOf(entries.map(([log]) => log)),
    column(entries, ({ status }) => status),
    column(entries, ({ agent }) => shownText(agent)),
    column(entries, ({ name }) => shownText(name)),
    column(entries, ({ objective }) => shownText(objective)),
    column(entries, ({ priority }) => priority),
    column(entries, ({ outbox }) => outbox ?? 0),
    column(entries, ({ full }) => full === true),
    column(entries, (entry) => JSON.stringify(Object.fromEntries(labelsOf(entry)))),
    column(entries, (entry) => arrayOf(labelsOf(entry).map(([key, value]) => tagOf(tenant, key, value)))),
  ];
}

const scheduleColumns = (entries: Entries): readonly string[] => [
  arrayOf(entries.map(([log]) => log)),
  column(entries, ({ priority }) => priority),
  column(entries, ({ agent }) => shownText(agent) ?? ""),
  column(entries, ({ due }) => due ?? null),
  column(entries, ({ deadline }) => deadline ?? null),
  column(entries, ({ model }) => shownText(model ?? null)),
  column(entries, ({ watches }) => watches === true),
  column(entries, ({ waits }) => shownText(waits ?? null)),
  column(entries, ({ triggers }) => shownText(triggers ?? null)),
  column(entries, ({ zone }) => zone ?? null),
  column(entries, ({ nanoUsd }) => nanoUsd ?? 0),
  column(entries, ({ unconfirmedNanoUsd }) => unconfirmedNanoUsd ?? 0),
  column(entries, ({ unpriced }) => unpriced ?? 0),
];
