/**
 * Reading records from PostgreSQL: heads, pages of a log across its shared prefix, positions by key and time.
 * Each statement finds a record packed or not, because it sees both tables at one moment.
 */
import { missingRecord } from "../../sql/damage.ts";
import type { StoredRecord } from "../../../core/chain.ts";
import type { LogId, SessionId } from "../../../core/ids.ts";
import { limit } from "../../../core/limit.ts";
import type { Head, ReadRange, Store } from "../../port.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { makeLineage, stretchArrays, type Lineage } from "./lineage.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { recordOf, recordsIn, withinBytes, type PageCut, type RecordRow } from "./record-row.ts";

export type Reader = Pick<Store, "head" | "read" | "keyed" | "seqAt">;

export function makeReader(driver: Driver): Reader {
  const { database, tenant, world } = driver;
  const lineage = makeLineage(driver);
  return {
    read: makeRead(driver, lineage),
    async head(session) {
      const askedAt = world.now();
      const [row] = await database.run<HeadRow>(headSql, [tenant, session, database.given()]);
      if (row === undefined) return undefined;
      database.heardClock(row.clock, askedAt);
      return headOf(session, row);
    },
    async keyed(session, key) {
      const [row] = await database.run<{ seq: number }>(keyedSql, [tenant, session, key]);
      return row?.seq;
    },
    async seqAt(session, at) {
      const [head] = await database.run<{ log: number; seq: number }>(endSql, [tenant, session]);
      if (head === undefined) return 1;
      const stretches = await lineage.stretches(head.log, 1, head.seq);
      const [row] = await database.run<{ low: number; missing: number | null }>(halvingSql, [
        head.seq + 1,
        Math.ceil(Math.max(0, Math.min(at, Number.MAX_SAFE_INTEGER))),
        ...stretchArrays(stretches),
      ]);
      if (row !== undefined && row.missing === null) return row.low;
      throw missingRecord(session, row?.missing);
    },
  };
}

const headSql = `
SELECT h.seq, encode(h.hash, 'hex') AS hash, h.at, h.epoch, h.holder, h.until_ms, h.copy,
  p.session AS parent, l.fork_seq, skein.clock($3) AS clock
FROM skein.heads h JOIN skein.logs l ON l.id = h.log LEFT JOIN skein.logs p ON p.id = l.parent
WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen}`;

interface HeadRow extends Readonly<Record<string, unknown>> {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  readonly epoch: number;
  readonly holder: string | null;
  readonly until_ms: number | null;
  readonly copy: boolean;
  readonly parent: SessionId | null;
  readonly fork_seq: number;
  readonly clock: number;
}

function headOf(session: LogId, row: HeadRow): Head {
  const { seq, hash, at, epoch, holder, until_ms: untilMs, copy, parent, fork_seq: forkSeq } = row;
  return {
    session,
    seq,
    hash,
    at,
    epoch,
    lease: epoch === 0 || holder === null || untilMs === null ? null : { holder, untilMs },
    parent: parent === null ? null : { session: parent, seq: forkSeq },
    ...(copy ? { copy: true } : {}),
  };
}

const keyedSql = `
SELECT k.seq FROM skein.heads h JOIN skein.keys k ON k.log = h.log AND k.key = decode($3, 'hex')
WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen} AND k.seq <= h.seq`;

const endSql = `
SELECT log, seq FROM skein.heads WHERE tenant = $1 AND session = $2 AND state = ${state.seen}`;

/** Binary search: `at` never decreases within a log. */
const halvingSql = `
WITH RECURSIVE halving (low, high, missing) AS (
  SELECT 1::bigint, $1::bigint, NULL::bigint
  UNION ALL
  SELECT CASE WHEN p.at >= $2 THEN h.low ELSE m.middle + 1 END,
    CASE WHEN p.at >= $2 THEN m.middle ELSE h.high END, CASE WHEN p.at IS NULL THEN m.middle END
  FROM halving h CROSS JOIN LATERAL (SELECT (h.low + h.high) / 2 AS middle) m
  LEFT JOIN LATERAL (
    SELECT q.at FROM (
      SELECT s.log FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) s (log, first, last)
      WHERE m.middle BETWEEN s.first AND s.last LIMIT 1
    ) s CROSS JOIN LATERAL skein.point(s.log, m.middle) q
  ) p ON true
  WHERE h.low < h.high AND h.missing IS NULL
)
SELECT low, missing FROM halving WHERE low >= high OR missing IS NOT NULL LIMIT 1`;

interface ReadMode {
  readonly reverse: boolean;
  readonly contents: boolean;
  readonly typed: boolean;
}

/** The parameters `most`, `bytes` and, for some types only, `types`. */
const pageOf = (
  how: ReadMode,
  from: string,
  [most, bytes, types]: readonly [string, string, string],
): string => {
  const { reverse, contents, typed } = how;
  const source = recordsIn("w", { contents, types: typed ? `${types}::text[]` : null });
  const order = `seq ${reverse ? "DESC" : "ASC"}`;
  const rows = `
SELECT w.log, r.* FROM ${from} CROSS JOIN LATERAL (${source}) r ORDER BY ${order} LIMIT ${most}`;
  return withinBytes(rows, order, bytes, contents ? "coalesce(content_bytes, 0)" : "0");
};

/**
 * A page of a log's own records, with the range it covers. The records of a log are dense, so as many
 * positions as requested suffice. Forward, only those behind the fork point.
 */
const ownSql = (how: ReadMode): string => `
SELECT h.log AS reader, w.seen, w.first, w.last, r.*
FROM skein.heads h JOIN skein.logs l ON l.id = h.log
CROSS JOIN LATERAL (
  SELECT CASE WHEN $3 THEN greatest(h.seq, h.put_seq) ELSE h.seq END AS seen
) e
CROSS JOIN LATERAL (
  SELECT e.seen, ${
    how.reverse
      ? "greatest($4, l.fork_seq + 1, least($5, e.seen) - $6 + 1) AS first, least($5, e.seen) AS last"
      : "CASE WHEN $4 > l.fork_seq THEN $4 END AS first, least($5, e.seen, $4 + $6 - 1) AS last"
  }
) w
LEFT JOIN LATERAL (${pageOf(how, "(SELECT h.log, w.first, w.last) w", ["$7", "$8", "$9"])}) r ON true
WHERE h.tenant = $1 AND h.session = $2 AND (h.state = ${state.seen} OR $3)`;

const stretchSql = (how: ReadMode): string =>
  pageOf(how, "unnest($2::bigint[], $3::bigint[], $4::bigint[]) w (log, first, last)", ["$5", "$6", "$7"]);

const nameOf = ({ reverse, contents, typed }: ReadMode): string => `${reverse} ${contents} ${typed}`;

function variants(make: (how: ReadMode) => string): (how: ReadMode) => string {
  const made = new Map<string, string>();
  return (how) => {
    const sql = made.get(nameOf(how)) ?? make(how);
    made.set(nameOf(how), sql);
    return sql;
  };
}

type PageRow = RecordRow & PageCut & { readonly log: number };
interface OwnRow extends Omit<PageRow, "seq"> {
  readonly reader: number;
  readonly seen: number;
  readonly first: number | null;
  readonly last: number;
  /** Null if there is none: then so is the whole record. */
  readonly seq: number | null;
}

/** Positions that a search by type scans in one statement: first few, then many. */
const scanned = [2_000, 20_000] as const;

interface Range {
  readonly first: number;
  readonly last: number;
}

function makeRead({ database, tenant }: Driver, lineage: Lineage): Store["read"] {
  const own = variants(ownSql);
  const shared = variants(stretchSql);

  return async (session, range) => {
    const page = new Pages(range);
    const { reverse = false, received = false } = range;
    const asked = { first: Math.max(1, range.fromSeq), last: Math.min(range.toSeq, Number.MAX_SAFE_INTEGER) };
    const how = { reverse, contents: range.contents, typed: range.types !== undefined };
    const types = range.types === undefined ? [] : [arrayOf(range.types)];
    if (page.isFull() || range.types?.length === 0 || asked.first > asked.last) return [];
    const window = how.typed ? scanned[0] : page.wanted();
    const given = [tenant, session, received, asked.first, asked.last, window, page.wanted()];
    const rows = await database.run<OwnRow>(own(how), [...given, page.bytesLeft(), ...types]);
    const [top] = rows;
    if (top === undefined) return [];
    page.take(rows.filter((row): row is OwnRow & PageRow => row.seq !== null).map((row) => [session, row]));
    const whole = { first: asked.first, last: Math.min(asked.last, top.seen) };
    // All of it may lie before the fork point.
    const isElsewhere = top.first === null || top.first > top.last;
    let left: Range = isElsewhere ? whole : rest(whole, { first: top.first, last: top.last }, reverse);
    while (!page.isFull() && left.first <= left.last) {
      const next = windowOf(left, how.typed ? scanned[1] : page.wanted(), reverse);
      const stretches = await lineage.stretches(top.reader, next.first, next.last);
      const sessions = new Map(stretches.map((stretch) => [stretch.log, stretch.session]));
      const where = [tenant, ...stretchArrays(stretches), page.wanted(), page.bytesLeft(), ...types];
      const more = await database.run<PageRow>(shared(how), where);
      page.take(more.map((row) => [sessions.get(row.log) ?? session, row]));
      left = rest(left, next, reverse);
    }
    return page.records;
  };
}

/** So many positions, from the reading side. */
const windowOf = ({ first, last }: Range, count: number, reverse: boolean): Range =>
  reverse
    ? { first: Math.max(first, last - count + 1), last }
    : { first, last: Math.min(last, first + count - 1) };

/** The rest of a range after a part of it was read. */
const rest = (range: Range, done: Range, reverse: boolean): Range =>
  reverse ? { ...range, last: done.first - 1 } : { ...range, first: done.last + 1 };

/** A page as it fills up, within its limits. */
class Pages {
  readonly records: StoredRecord[] = [];
  #bytes = 0;
  #cut = false;
  readonly #want: number;
  readonly #contents: boolean;

  constructor({ limit: count, contents }: ReadRange) {
    this.#want = Math.min(count, limit.pageRecordsMax);
    this.#contents = contents;
  }

  wanted(): number {
    return this.#want - this.records.length;
  }

  bytesLeft(): number {
    return limit.pageBytesMax - this.#bytes;
  }

  isFull(): boolean {
    return this.#cut || this.wanted() <= 0;
  }

  take(rows: readonly (readonly [LogId, RecordRow & PageCut])[]): void {
    for (const [session, row] of rows) {
      this.#bytes += this.#contents ? (row.content_bytes ?? 0) : 0;
      if (this.#bytes > limit.pageBytesMax && this.records.length > 0) this.#cut = true;
      if (this.#cut) return;
      this.records.push(recordOf(session, row));
    }
    this.#cut = rows.length < (rows[0]?.[1].found ?? 0);
  }
}
