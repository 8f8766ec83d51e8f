/** Checks the tables below the level of records: in SQL, a page of logs at a time. */
import type { LogId } from "../../core/ids.ts";
import type { Store } from "../port.ts";
import type { SqlRow } from "./connection/connection.ts";
import type { Driver } from "./driver.ts";
import { state } from "../sql/log-state.ts";
import { arrayOf } from "./connection/array-literal.ts";

const pageLogs = 200;
/** Reported faults of one kind; more would add nothing. */
const faultsMax = 20;

export const makeChecker = (driver: Driver): Pick<Store, "check"> => ({
  async check() {
    const { database, tenant } = driver;
    const faults: string[] = [];
    for (let after = ""; ;) {
      const page = await database.run<LogRow>(lookAtLogs, [tenant, after]);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.session;
      if (faults.length < faultsMax) faults.push(...page.flatMap(faultsOf));
      const logs = arrayOf(page.map(({ log }) => log));
      for (const sql of [oddSegments, oddKeys]) {
        const rows = await database.run<{ fault: string }>(sql, [tenant, logs]);
        if (faults.length < faultsMax) faults.push(...rows.map(({ fault }) => fault));
      }
    }
    for (const sql of strays) {
      const rows = await database.run<{ fault: string }>(sql, [tenant]);
      faults.push(...rows.map(({ fault }) => fault));
    }
    return faults;
  },
});

/** The rows of a log, and its head. */
interface LogRow extends SqlRow {
  readonly session: LogId;
  readonly log: number;
  readonly state: number;
  readonly seq: number;
  readonly put_seq: number | null;
  /** Null if the log has no row. */
  readonly fork_seq: number | null;
  readonly ends_there: boolean;
  readonly rooted: boolean;
  readonly records: number;
  readonly first: number | null;
  readonly last: number | null;
  readonly unplaced: number;
  readonly keyed: number;
  readonly packed: number;
  readonly packed_first: number | null;
  readonly packed_last: number | null;
  readonly packed_keyed: number;
  readonly places: number;
  readonly place_last: number | null;
  readonly keys: number;
}

const lookAtLogs = `
SELECT h.session, h.log, h.state, h.seq, h.put_seq, l.fork_seq,
  (h.seq <= l.fork_seq OR h.hash = (SELECT hash FROM skein.point(h.log, h.seq))) AND
    (h.put_seq IS NULL OR h.put_seq <= l.fork_seq OR
      h.put_hash = (SELECT hash FROM skein.point(h.log, h.put_seq))) IS TRUE AS ends_there,
  l.base IS NULL OR EXISTS (SELECT 1 FROM skein.point(l.base, l.fork_seq)) AS rooted,
  e.*, s.*, p.*, (SELECT count(*) FROM skein.keys k WHERE k.log = h.log) AS keys
FROM (
  SELECT * FROM skein.heads WHERE tenant = $1 AND session > $2 ORDER BY session LIMIT ${pageLogs}
) h
LEFT JOIN skein.logs l ON l.id = h.log AND l.tenant = h.tenant AND l.session = h.session
CROSS JOIN LATERAL (
  SELECT count(*) AS records, min(seq) AS first, max(seq) AS last, count(key) AS keyed,
    count(*) FILTER (WHERE xid IS NULL AND seq <= h.seq) AS unplaced
  FROM skein.events WHERE log = h.log AND tenant = $1
) e
CROSS JOIN LATERAL (
  SELECT coalesce(sum(to_seq - from_seq + 1), 0)::bigint AS packed, min(from_seq) AS packed_first,
    max(to_seq) AS packed_last, coalesce(sum(cardinality(array_remove(keys, NULL))), 0) AS packed_keyed
  FROM skein.segments WHERE log = h.log AND tenant = $1
) s
CROSS JOIN LATERAL (
  SELECT coalesce(sum(to_seq - from_seq + 1), 0)::bigint AS places, max(to_seq) AS place_last
  FROM skein.places WHERE log = h.log AND tenant = $1
) p
ORDER BY h.session`;

const sessionId = /^(?:ses|prj|wsp)_[0-9a-z]{26}$/;

function faultsOf(row: LogRow): readonly string[] {
  const { session, fork_seq: forkSeq } = row;
  if (forkSeq === null) return [`a head without its log: ${session}`];
  const lastSeq = row.put_seq ?? row.seq;
  const own = lastSeq - forkSeq;
  const firstSeq = row.packed_first ?? row.first ?? forkSeq + 1;
  const isDense =
    row.records + row.packed === own &&
    firstSeq === forkSeq + 1 &&
    (row.last ?? row.packed_last ?? forkSeq) === lastSeq &&
    (row.first === null || row.packed_last === null || row.packed_last < row.first);
  const isPlaced = row.state !== state.seen || row.places === row.packed + row.unplaced;
  return [
    ...(sessionId.test(session) ? [] : [`a log of no session: ${session}`]),
    ...(isDense ? [] : [`the records of ${session} are not those up to ${lastSeq}`]),
    ...(row.ends_there ? [] : [`${session} does not end with the record that its head names`]),
    ...(row.rooted ? [] : [`${session} shares a record ${forkSeq} that is not there`]),
    ...(isPlaced ? [] : [`the feed's places do not fit the records of ${session}`]),
    ...((row.place_last ?? 0) <= row.seq ? [] : [`the feed has a place beyond the end of ${session}`]),
    ...(row.keys === row.keyed + row.packed_keyed ? [] : [`the keys of ${session} are not its records'`]),
  ];
}

const arrays = ["ats", "vs", "types", "actors", "turns", "causes", "keys", "bodies", "content_hashes"];
const lengths = [...arrays, "content_lengths", "hashes", "salts", "contents"]
  .map((column) => `cardinality(s.${column}) <> s.to_seq - s.from_seq + 1`)
  .join(" OR ");

const oddSegments = `
SELECT 'a segment whose parts do not match: log ' || s.log || ', ' || s.from_seq || ' to ' || s.to_seq
  AS fault
FROM skein.segments s
WHERE s.tenant = $1 AND s.log = ANY ($2::bigint[]) AND (${lengths} OR s.content_bytes <> (
  SELECT coalesce(sum(u.length) FILTER (WHERE u.content IS NOT NULL), 0)
  FROM unnest(s.contents, s.content_lengths) u (content, length)
)) LIMIT ${faultsMax}`;

const oddKeys = `
SELECT 'a key of no record: log ' || k.log || ', ' || k.seq AS fault FROM skein.keys k
WHERE k.tenant = $1 AND k.log = ANY ($2::bigint[])
  AND NOT EXISTS (SELECT 1 FROM skein.events e WHERE e.log = k.log AND e.seq = k.seq AND e.key = k.key)
  AND NOT EXISTS (
    SELECT 1 FROM skein.segments s WHERE s.log = k.log AND s.to_seq >= k.seq AND s.from_seq <= k.seq
    AND s.keys[k.seq - s.from_seq + 1] = k.key
  ) LIMIT ${faultsMax}`;

const without = (what: string, table: string, log = "log"): string => `
SELECT DISTINCT '${what}: ' || t.${log} AS fault FROM skein.${table} t
WHERE t.tenant = $1 AND NOT EXISTS (SELECT 1 FROM skein.heads h WHERE h.log = t.${log}) LIMIT ${faultsMax}`;

const strays = [
  without("records of a log that does not exist", "events"),
  without("segments of a log that does not exist", "segments"),
  without("places in the feed of a log that does not exist", "places"),
  without("a log without its head", "logs", "id"),
  `SELECT 'a record refers to a blob that is not there: log ' || r.log || ', ' || r.seq AS fault
   FROM skein.blob_refs r LEFT JOIN skein.blobs b ON b.tenant = r.tenant AND b.id = r.blob
   WHERE r.tenant = $1 AND b.bytes IS NULL LIMIT ${faultsMax}`,
  `SELECT 'a blob that is not whole: ' || encode(b.hash, 'hex') AS fault FROM skein.blobs b
   WHERE b.tenant = $1 AND b.bytes IS NOT NULL AND b.bytes <> (
     SELECT coalesce(sum(octet_length(c.bytes)), 0) FROM skein.blob_chunks c
     WHERE c.tenant = $1 AND c.blob = b.id
   ) LIMIT ${faultsMax}`,
] as const;
