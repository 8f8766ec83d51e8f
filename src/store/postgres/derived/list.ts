/**
 * The session index of PostgreSQL. Lists use `logs.active_at`, which lags behind the last record by less than
 * `activeLagMs`; the exact time is in `heads`. So a page reads a little further than it is long.
 */
import type { LogId, SessionId } from "../../../core/ids.ts";
import { statuses, type SessionStatus } from "../../../core/session/lifecycle.ts";
import { limit } from "../../../core/limit.ts";
import type { ResultPage, SessionFilter, SessionRow, Store } from "../../port.ts";
import type { Value } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { cursorOf, parseCursor, type ListPosition } from "../../sql/list-cursor.ts";
import { state } from "../../sql/log-state.ts";
import { setIndex, tagOf } from "../log/index-entry.ts";
import { arrayOf, shownText } from "../connection/array-literal.ts";
import { activeLagMs } from "../schema.ts";

/** Labels on fewer of the latest sessions than this are the best start; otherwise recency is. */
const sample = { few: 5, of: 300 } as const;

type Lists = Pick<Store, "list" | "endingWith" | "forks" | "openedFrom" | "logs" | "index">;

export function makeLists(driver: Driver): Lists {
  const { database, tenant } = driver;
  return {
    list: makeList(driver),
    async endingWith(ending, count) {
      const rows = await database.run<{ session: SessionId }>(endingSql, [tenant, ending, count]);
      return rows.map(({ session }) => session);
    },
    async forks(session) {
      const rows = await database.run<{ session: SessionId; seq: number }>(forksSql, [tenant, session]);
      return rows.map(({ session: fork, seq }) => ({ session: fork, seq }));
    },
    async openedFrom(session) {
      const rows = await database.run<{ session: SessionId }>(openedFromSql, [tenant, session]);
      return rows.map((row) => row.session);
    },
    async logs(after, count) {
      const rows = await database.run<{ session: LogId }>(logsSql, [tenant, after ?? "", count]);
      const ids = rows.map(({ session }) => session);
      return { rows: ids, cursor: ids.length < count ? null : (ids.at(-1) ?? null) };
    },
    index: (session, entry, atSeq) =>
      database.transaction(
        async (statement) => {
          const [head] = await statement<{ log: number; seq: number }>(lockSql, [tenant, session]);
          if (head === undefined || head.seq !== atSeq) return false;
          await setIndex(statement, tenant, [{ log: head.log, entry }], database.given());
          return true;
        },
        { twice: true },
      ),
  };
}

/** Through an index of reversed ids; every character of an id is below "~". */
const endingSql = `
SELECT h.session FROM skein.heads h JOIN skein.logs l ON l.id = h.log AND l.listed
WHERE h.tenant = $1 AND h.state = ${state.seen} AND reverse(h.session) >= reverse($2)
  AND reverse(h.session) < reverse($2) || '~' AND right(h.session, length($2)) = $2 LIMIT $3`;

const forksSql = `
SELECT f.session, f.fork_seq AS seq FROM skein.heads h JOIN skein.logs f ON f.parent = h.log
JOIN skein.heads e ON e.log = f.id AND e.state = ${state.seen}
WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen} ORDER BY f.id`;

const openedFromSql = `
SELECT l.session FROM skein.logs l JOIN skein.heads h ON h.log = l.id AND h.state = ${state.seen}
WHERE l.tenant = $1 AND l.origin = $2 ORDER BY l.id`;

const logsSql = `
SELECT session FROM skein.heads WHERE tenant = $1 AND state = ${state.seen} AND session > $2
ORDER BY session LIMIT $3`;

const lockSql = `
SELECT log, seq FROM skein.heads WHERE tenant = $1 AND session = $2 AND state = ${state.seen} FOR UPDATE`;

const isBefore = (a: ListPosition, b: ListPosition): boolean =>
  a.at < b.at || (a.at === b.at && a.session < b.session);

interface ListRow extends Readonly<Record<string, unknown>> {
  readonly indexed_at: number;
  readonly at: number;
  readonly head_seq: number;
  readonly session: SessionId;
  readonly opened_at: number;
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly name: string | null;
  readonly objective: string | null;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly parent: SessionId | null;
  readonly fork_seq: number;
  readonly copy: boolean;
  readonly outbox: number;
  readonly inbox_full: boolean;
}

function makeList({ database, tenant }: Driver): Store["list"] {
  /**
   * Rows with their exact times, in index order: those of a first statement, and more on demand, down to
   * `floor` once that is known.
   */
  async function* candidates(
    filter: SessionFilter,
    end: ListPosition | null,
    most: number,
    floor: () => number,
  ): AsyncGenerator<ListRow> {
    const few = await isFew(filter);
    let from: ListPosition | null = end;
    // After the first chunk the floor is mostly known, so no unneeded rows are read.
    for (let chunk = most; ; chunk = limit.listMax) {
      const own = from !== end;
      const { sql, values } = selection({ tenant, filter, few, from, own, floor: floor(), most: chunk });
      const rows = await database.run<ListRow>(sql, values);
      yield* rows;
      const next = rows.at(-1);
      if (next === undefined || rows.length < chunk) return;
      from = { at: next.indexed_at, session: next.session };
    }
  }

  /** Whether few sessions match the filter, so that all of them can be read. */
  async function isFew({ labels = {}, status, ...rest }: SessionFilter): Promise<boolean> {
    if (rest.outbox === true || rest.watches === true || rest.sessions !== undefined) return true;
    if (Object.keys(labels).length === 0) return false;
    const given = [tenant, arrayOf(status ?? statuses), tagsOf(tenant, labels)];
    const [row] = await database.run<{ count: number }>(sampleSql, given);
    return (row?.count ?? 0) < sample.few;
  }

  return async (filter, page): Promise<ResultPage<SessionRow>> => {
    const count = Math.min(page.limit, limit.listMax);
    const end = page.cursor === undefined ? null : parseCursor(page.cursor);
    const { activeSince = 0, activeBefore = Infinity } = filter;
    if (filter.status?.length === 0) return { rows: [], cursor: null };
    let found: ListRow[] = [];
    // Once the page is full, only rows that the index placed too low can still belong to it.
    const floor = (): number => (found[count]?.at ?? 0) - activeLagMs;
    for await (const row of candidates(filter, end, count + 1, floor)) {
      const lowest = found[count];
      if (row.indexed_at <= floor()) break;
      if (end !== null && !isBefore(row, end)) continue;
      if (row.at < activeSince || row.at >= activeBefore) continue;
      if (lowest !== undefined && isBefore(row, lowest)) continue;
      found.push(row);
      if (found.length > count) found = inOrder(found).slice(0, count + 1);
    }
    const shown = inOrder(found).slice(0, count);
    const bottom = shown.at(-1);
    const more = found.length > count && bottom !== undefined;
    return { rows: shown.map(sessionRow), cursor: more ? cursorOf(bottom) : null };
  };
}

const inOrder = (rows: readonly ListRow[]): ListRow[] => rows.toSorted((a, b) => (isBefore(a, b) ? 1 : -1));

/** How many of the latest of each status have these labels. */
const sampleSql = `
SELECT count(*) AS count FROM unnest($2::text[]) s (status) CROSS JOIN LATERAL (
  SELECT l.tags FROM skein.logs l WHERE l.tenant = $1 AND l.listed AND l.status = s.status
  ORDER BY l.active_at DESC, l.session DESC LIMIT ${sample.of}
) l WHERE l.tags @> $3::text[]`;

const tagsOf = (tenant: number, labels: Readonly<Record<string, string>>): string =>
  arrayOf(Object.entries(labels).map(([key, value]) => tagOf(tenant, key, value)));

interface ListQuery {
  readonly tenant: number;
  readonly filter: SessionFilter;
  readonly few: boolean;
  readonly from: ListPosition | null;
  /** `from` is a position of the index itself, not of the list. */
  readonly own: boolean;
  /** Not at or below this time of the index. */
  readonly floor: number;
  /** A literal in the statement, so that the server plans for few. */
  readonly most: number;
}

/**
 * The statement for the next rows of the index. By recency: the first of each status, merged. For a rare
 * filter: all matches of it.
 */
function selection({ tenant, filter, few, from, own, floor, most }: ListQuery): {
  sql: string;
  values: Value[];
} {
  const values: Value[] = [tenant, arrayOf(filter.status ?? statuses)];
  const where: string[] = [];
  const value = (one: Value): string => `$${values.push(one)}`;
  if (filter.agent !== undefined) where.push(`l.agent = ${value(shownText(filter.agent))}`);
  if (filter.labels !== undefined && Object.keys(filter.labels).length > 0) {
    // The tag index is for few; many are tested one by one.
    where.push(
      few
        ? `l.tags @> ${value(tagsOf(tenant, filter.labels))}::text[]`
        : `(l.tags || '{}'::text[]) @> ${value(tagsOf(tenant, filter.labels))}::text[]`,
    );
  }
  if (filter.text !== undefined) {
    const text = `lower(${value(shownText(filter.text))}::text COLLATE "C")`;
    where.push(`(strpos(lower(l.name), ${text}) > 0 OR strpos(lower(l.objective), ${text}) > 0)`);
  }
  const since = Math.max(floor, Math.floor(filter.activeSince ?? 0) - activeLagMs);
  if (since > 0) where.push(`l.active_at > ${value(since)}`);
  if (filter.activeBefore !== undefined) where.push(`l.active_at < ${value(Math.ceil(filter.activeBefore))}`);
  if (from !== null) {
    where.push(
      own
        ? `(l.active_at, l.session) < (${value(from.at)}, ${value(from.session)})`
        : `l.active_at <= ${value(from.at)}`,
    );
  }
  if (filter.outbox === true) where.push("l.outbox > 0");
  if (filter.sessions !== undefined)
    where.push(`l.session = ANY (${value(arrayOf(filter.sessions))}::text[])`);
  if (filter.watches === true) {
    where.push("l.id IN (SELECT s.log FROM skein.schedule s WHERE s.tenant = $1 AND s.watches)");
  }
  const all = ["l.tenant = $1", "l.listed", ...where].join(" AND ");
  const order = "ORDER BY l.active_at DESC, l.session DESC";
  const source = few
    ? `(SELECT * FROM skein.logs l WHERE ${all} AND l.status = ANY ($2::text[]) OFFSET 0) l`
    : `unnest($2::text[]) s (status) CROSS JOIN LATERAL (
  SELECT * FROM skein.logs l WHERE ${all} AND l.status = s.status ${order} LIMIT ${most}
) l`;
  return { sql: `SELECT ${shownColumns} FROM ${source} ${joined} ${order} LIMIT ${most}`, values };
}

const shownColumns = `l.active_at AS indexed_at, h.at, h.seq AS head_seq, l.session, l.opened_at, l.status,
  l.agent, l.name, l.objective, l.priority, l.labels, p.session AS parent, l.fork_seq, h.copy, l.outbox,
  l.inbox_full`;

/** One by one, by their index: a join as a whole would read all heads and logs for a short page. */
const joined = `CROSS JOIN LATERAL (
  SELECT at, seq, copy FROM skein.heads WHERE log = l.id OFFSET 0
) h LEFT JOIN LATERAL (SELECT session FROM skein.logs WHERE id = l.parent OFFSET 0) p ON true`;

const sessionRow = (row: ListRow): SessionRow => ({
  session: row.session,
  headSeq: row.head_seq,
  openedAt: row.opened_at,
  activeAt: row.at,
  status: row.status,
  agent: row.agent,
  priority: row.priority,
  name: row.name,
  objective: row.objective,
  parent: row.parent === null ? null : { session: row.parent, seq: row.fork_seq },
  labels: row.labels,
  ...(row.outbox > 0 ? { outbox: row.outbox } : {}),
  ...(row.inbox_full ? { full: true } : {}),
  ...(row.copy ? { copy: true } : {}),
});
