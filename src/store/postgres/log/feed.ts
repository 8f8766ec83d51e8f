/**
 * The feed of PostgreSQL: records by transaction, then by log and seq. Transactions are numbered when they
 * begin to write, not when they commit, so only records below the horizon are returned: the oldest
 * transaction still in progress. Records above it follow once all earlier ones have ended, and never before a
 * returned position.
 */
import type { StoredRecord } from "../../../core/chain.ts";
import type { LogId } from "../../../core/ids.ts";
import { limit } from "../../../core/limit.ts";
import { feedOfProjections, makePositionedFeed, type RecordAt } from "../../feed-position.ts";
import type { Store } from "../../port.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { parsePlace, placeText, type XidPosition } from "./feed-position.ts";
import {
  recordColumns,
  recordOf,
  recordsIn,
  withinBytes,
  type PageCut,
  type RecordRow,
} from "./record-row.ts";

/** The waits of a reader for records that are committed but not below the horizon, if it found no others. */
const waitsMs = [2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

export const horizon = "pg_snapshot_xmin(pg_current_snapshot())";

/** Whether the tenant has committed records that the feed does not return yet, and the last returned one. */
const endSql = `
SELECT last.*, EXISTS (
  SELECT 1 FROM skein.events e WHERE e.tenant = $1 AND e.xid IS NOT NULL AND e.xid >= ${horizon}
) OR EXISTS (
  SELECT 1 FROM skein.places p WHERE p.tenant = $1 AND p.xid >= ${horizon}
) AS pending
FROM (SELECT 1) always LEFT JOIN LATERAL (${lastBefore(`< ${horizon}`)}) last ON true`;

const beforeSql = lastBefore("<= $2::xid8");

/** SQL for the last place of the tenant in the feed with such a transaction. */
function lastBefore(isSuch: string): string {
  return `
SELECT * FROM (
  (SELECT xid, log, seq FROM skein.events WHERE tenant = $1 AND xid IS NOT NULL AND xid ${isSuch}
   ORDER BY xid DESC, log DESC, seq DESC LIMIT 1)
  UNION ALL
  (SELECT xid, log, to_seq FROM skein.places WHERE tenant = $1 AND xid ${isSuch}
   ORDER BY xid DESC, log DESC, from_seq DESC LIMIT 1)
) found ORDER BY xid DESC, log DESC, seq DESC LIMIT 1`;
}

type PlaceRow = Readonly<Record<string, unknown>> & {
  readonly [K in keyof XidPosition]: XidPosition[K] | null;
};
interface EndRow extends PlaceRow {
  readonly pending: boolean;
}

/** The record at a place ($2, $3, $4), whether it lies at this place, and its log. */
const recordSql = `
SELECT pg_snapshot_xmax(pg_current_snapshot()) >= $2::xid8 AS begun,
  (SELECT h.state = ${state.seen} FROM skein.heads h WHERE h.tenant = $1 AND h.log = $3) AS seen,
  coalesce(e.xid = $2::xid8, false) OR EXISTS (
    SELECT 1 FROM skein.places p
    WHERE p.tenant = $1 AND p.xid = $2::xid8 AND p.log = $3 AND $4 BETWEEN p.from_seq AND p.to_seq
  ) AS placed,
  encode(coalesce(e.hash, (
    SELECT s.hashes[$4 - s.from_seq + 1] FROM skein.segments s
    WHERE s.tenant = $1 AND s.log = $3 AND s.to_seq >= $4 AND s.from_seq <= $4 ORDER BY s.to_seq LIMIT 1
  )), 'hex') AS hash
FROM (SELECT 1) always LEFT JOIN skein.events e ON e.tenant = $1 AND e.log = $3 AND e.seq = $4`;

interface RecordAtRow extends Readonly<Record<string, unknown>> {
  readonly begun: boolean;
  readonly seen: boolean | null;
  readonly placed: boolean;
  readonly hash: string | null;
}

function recordAt(row: RecordAtRow | undefined, { log }: XidPosition): RecordAt {
  if (row === undefined || !row.begun) return "absent";
  if (row.placed && row.hash !== null) return { hash: row.hash };
  // A record of an existing session never leaves its place.
  return log !== 0 && row.seen === true ? "absent" : "unknown";
}

const columns = recordColumns("e", true);

/**
 * Entries behind a position ($2, $3, $4), at most so many ($5): records that carry their place, and those
 * whose place is a row of `places`. A page holds the latter without gaps per log, so each segment is unpacked
 * once.
 */
const entries = `
WITH runs AS (
  SELECT p.*, sum(p.last - p.first + 1) OVER (ORDER BY p.xid, p.log, p.first) AS upto FROM (
    SELECT p.xid, p.log, p.to_seq AS last,
      CASE WHEN p.xid = $2::xid8 AND p.log = $3 THEN greatest(p.from_seq, $4 + 1) ELSE p.from_seq END AS first
    FROM skein.places p
    WHERE p.tenant = $1 AND (p.xid, p.log) >= ($2::xid8, $3) AND p.xid < ${horizon}
      AND (p.xid > $2::xid8 OR p.log > $3 OR p.to_seq > $4)
    ORDER BY p.xid, p.log, p.from_seq LIMIT $5
  ) p
), positions AS MATERIALIZED (
  SELECT r.xid, r.log, s.seq FROM runs r
  CROSS JOIN LATERAL generate_series(r.first, r.first + least(r.last - r.first, $5 - 1)) s (seq)
  WHERE r.upto - (r.last - r.first + 1) < $5
  ORDER BY r.xid, r.log, s.seq LIMIT $5
), placed AS MATERIALIZED (
  SELECT w.log, r.* FROM (
    SELECT log, min(seq) AS first, max(seq) AS last FROM positions GROUP BY log
  ) w CROSS JOIN LATERAL (${recordsIn("w", { contents: true, types: null })}) r
)
SELECT * FROM (
  (
    SELECT e.xid, e.log, e.seq, ${columns} FROM skein.events e
    WHERE e.tenant = $1 AND e.xid IS NOT NULL AND (e.xid, e.log, e.seq) > ($2::xid8, $3, $4)
      AND e.xid < ${horizon}
    ORDER BY e.xid, e.log, e.seq LIMIT $5
  )
  UNION ALL
  SELECT p.xid, p.log, p.seq, ${columns.replaceAll(/encode\((\w+\.\w+), 'hex'\) AS \w+/g, "$1")}
  FROM positions p LEFT JOIN placed e ON e.log = p.log AND e.seq = p.seq
) entry ORDER BY xid, log, seq LIMIT $5`;

/** Invisible records are returned as a place only: of a deleted session, or of one being received. */
const pageSql = withinBytes(
  `SELECT n.*, h.session, h.log IS NOT NULL AND n.type IS NOT NULL AS given
  FROM (${entries}) n
  LEFT JOIN skein.heads h ON h.log = n.log AND h.state = ${state.seen} AND n.seq <= h.seq`,
  "xid, log, seq",
  "$6",
  "CASE WHEN given THEN coalesce(content_bytes, 0) ELSE 0 END",
);

type FeedRow = RecordRow &
  PageCut & { readonly xid: string; readonly log: number; readonly session: LogId; readonly given: boolean };

interface FeedHit {
  readonly records: StoredRecord[];
  readonly at: XidPosition;
  readonly hash: string | null;
}

export function makeFeed({ database, tenant, world }: Driver): Pick<Store, "feed" | "feedEnd"> {
  /** The next records, and where to continue; skips invisible ones. */
  async function pageFrom(start: XidPosition, want: number): Promise<FeedHit> {
    for (let at = start; ;) {
      const values = [tenant, at.xid, at.log, at.seq, want, limit.pageBytesMax];
      const rows = await database.run<FeedRow>(pageSql, values);
      const last = rows.at(-1);
      if (last === undefined) return { records: [], at, hash: null };
      at = { xid: last.xid, log: last.log, seq: last.seq };
      const records = rows.filter(({ given }) => given).map((row) => recordOf(row.session, row));
      const hash = last.given ? (records.at(-1)?.hash ?? null) : null;
      if (records.length > 0) return { records, at, hash };
      if (rows.length === last.found && rows.length < want) return { records: [], at, hash };
    }
  }

  /** Retries for a while, as long as the horizon hides something. */
  async function untilSeen<T>(ask: () => Promise<T>, isEnough: (found: T) => boolean): Promise<T> {
    let found = await ask();
    for (const waitMs of waitsMs) {
      if (isEnough(found)) break;
      await world.sleep(waitMs);
      found = await ask();
    }
    return found;
  }

  const end = async (): Promise<EndRow | undefined> => (await database.run<EndRow>(endSql, [tenant]))[0];

  const positioned = makePositionedFeed({
    async page(place, count) {
      const start = parsePlace(place);
      const want = Math.min(count, limit.pageRecordsMax);
      if (want <= 0) return { records: [], place: placeText(start), hash: null };
      let found = await pageFrom(start, want);
      if (found.records.length === 0 && (await end())?.pending === true) {
        found = await untilSeen(
          () => pageFrom(found.at, want),
          ({ records }) => records.length > 0,
        );
      }
      return { records: found.records, place: placeText(found.at), hash: found.hash };
    },
    async end() {
      const row = await untilSeen(end, (found) => found?.pending !== true);
      return placeText(placeIn(row) ?? parsePlace(null));
    },
    async hashAt(text) {
      const place = parsePlace(text);
      const values = [tenant, place.xid, place.log, place.seq];
      const [row] = await database.run<RecordAtRow>(recordSql, values);
      return recordAt(row, place);
    },
    distance: (place) => BigInt(parsePlace(place).xid),
    async recordBefore(distance) {
      const [row] = await database.run<PlaceRow>(beforeSql, [tenant, String(distance)]);
      const place = placeIn(row);
      return place === null ? null : placeText(place);
    },
  });
  return {
    feed: (after, count) => feedOfProjections(positioned.feed, after, count),
    feedEnd: () => positioned.feedEnd(),
  };
}

function placeIn(row: PlaceRow | undefined): XidPosition | null {
  if (row === undefined || row.xid === null || row.log === null || row.seq === null) return null;
  return { xid: row.xid, log: row.log, seq: row.seq };
}
