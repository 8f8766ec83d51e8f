/**
 * The feed of PostgreSQL: records by the transaction that brought them, then by log and seq. Transactions are
 * numbered when they begin to write and not when they commit, so only what lies below the horizon is given:
 * the oldest transaction that is still under way. What is above it comes once all before it have ended, and
 * never before a position that was given out.
 */
import type { StoredRecord } from "../../core/chain.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { FeedPage, Store } from "../port.ts";
import { state, type Driver } from "./driver.ts";
import { parsePosition, positionText, type Position } from "./position.ts";
import { recordColumns, recordOf, recordsIn, withinBytes, type Cut, type RecordRow } from "./record-row.ts";

/** So a reader waits for what is committed but not below the horizon, if it found nothing else. */
const waitsMs = [2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

export const horizon = "pg_snapshot_xmin(pg_current_snapshot())";

/** Whether something of the tenant is committed that the feed does not give yet, and the horizon. */
const endSql = `
SELECT ${horizon}::text AS horizon, EXISTS (
  SELECT 1 FROM skein.events e WHERE e.tenant = $1 AND e.xid IS NOT NULL AND e.xid >= ${horizon}
) OR EXISTS (
  SELECT 1 FROM skein.places p WHERE p.tenant = $1 AND p.xid >= ${horizon}
) AS pending`;

export interface EndRow extends Readonly<Record<string, unknown>> {
  readonly horizon: string;
  readonly pending: boolean;
}

const columns = recordColumns("e", true);

/**
 * Entries behind a position ($2, $3, $4), at most so many ($5): records that bear their place, and those
 * whose place is a row of `places`. Of the latter a page holds, for each log, positions without a gap, so
 * each segment is unpacked once.
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

/** What is not seen is given as a place alone: of a deleted session, or of one that is being received. */
const pageSql = withinBytes(
  `SELECT n.*, h.session, h.log IS NOT NULL AND n.type IS NOT NULL AS given
  FROM (${entries}) n
  LEFT JOIN skein.heads h ON h.log = n.log AND h.state = ${state.seen} AND n.seq <= h.seq`,
  "xid, log, seq",
  "$6",
  "CASE WHEN given THEN coalesce(content_bytes, 0) ELSE 0 END",
);

type FeedRow = RecordRow &
  Cut & { readonly xid: string; readonly log: number; readonly session: LogId; readonly given: boolean };

export function makeFeed({ database, tenant, world }: Driver): Pick<Store, "feed" | "feedEnd"> {
  /** The next records, and where to go on; passes over what is not seen. */
  async function pageFrom(start: Position, want: number): Promise<readonly [StoredRecord[], Position]> {
    for (let at = start; ;) {
      const values = [tenant, at.xid, at.log, at.seq, want, limit.pageBytesMax];
      const rows = await database.run<FeedRow>(pageSql, values);
      const last = rows.at(-1);
      if (last === undefined) return [[], at];
      at = { xid: last.xid, log: last.log, seq: last.seq };
      const records = rows.filter(({ given }) => given).map((row) => recordOf(row.session, row));
      if (records.length > 0) return [records, at];
      if (rows.length === last.found && rows.length < want) return [[], at];
    }
  }

  /** Asks again for a while, as long as there is something that the horizon hides. */
  async function untilSeen<T>(ask: () => Promise<T>, isEnough: (found: T) => boolean): Promise<T> {
    let found = await ask();
    for (const waitMs of waitsMs) {
      if (isEnough(found)) break;
      await world.sleep(waitMs);
      found = await ask();
    }
    return found;
  }

  const isPending = async (): Promise<boolean> =>
    (await database.run<EndRow>(endSql, [tenant]))[0]?.pending === true;

  return {
    async feed(after, count): Promise<FeedPage> {
      const { at, erasures } = parsePosition(after);
      const want = Math.min(count, limit.pageRecordsMax);
      if (want <= 0) return { records: [], position: `${positionText(at)}${erasures}` };
      let [records, end] = await pageFrom(at, want);
      if (records.length === 0 && (await isPending())) {
        [records, end] = await untilSeen(
          () => pageFrom(end, want),
          ([found]) => found.length > 0,
        );
      }
      return { records, position: `${positionText(end)}${erasures}` };
    },
    async feedEnd() {
      const row = await untilSeen(
        async () => (await database.run<EndRow>(endSql, [tenant]))[0],
        (found) => found?.pending !== true,
      );
      return positionText({ xid: row?.horizon ?? "0", log: 0, seq: 0 });
    },
  };
}
