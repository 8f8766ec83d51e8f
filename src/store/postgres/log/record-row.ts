/** Records as rows of statements, of a log's own positions, packed or not. */
import type { StoredRecord } from "../../../core/chain.ts";
import type { LogId } from "../../../core/ids.ts";

/** A row with the columns of `recordsIn`. */
export interface RecordRow extends Readonly<Record<string, unknown>> {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly v: number;
  readonly actor: string;
  readonly turn: number | null;
  readonly cause: number | null;
  readonly key: string | null;
  readonly body: string;
  readonly content_hash: string | null;
  readonly content_bytes: number | null;
  readonly hash: string;
  readonly salt: string | null;
  readonly content: string | null;
}

/** As the port's type; `session` is the owner of the record. */
export const recordOf = (session: LogId, row: RecordRow): StoredRecord => ({
  session,
  seq: row.seq,
  at: row.at,
  type: row.type,
  v: row.v,
  actor: row.actor,
  turn: row.turn,
  cause: row.cause,
  key: row.key,
  body: row.body,
  contentHash: row.content_hash,
  contentBytes: row.content_bytes,
  hash: row.hash,
  salt: row.salt,
  content: row.content,
});

const packed: readonly (readonly [column: string, array: string])[] = [
  ["at", "ats"],
  ["type", "types"],
  ["v", "vs"],
  ["actor", "actors"],
  ["turn", "turns"],
  ["cause", "causes"],
  ["key", "keys"],
  ["body", "bodies"],
  ["content_hash", "content_hashes"],
  ["content_bytes", "content_lengths"],
  ["hash", "hashes"],
  ["salt", "salts"],
  ["content", "contents"],
];

/** Columns of a record except `seq`, of a table; bytes in hexadecimal, as on the wire. */
export const recordColumns = (table: string, contents: boolean): string =>
  packed
    .map(([column]) => {
      const isContent = column === "salt" || column === "content";
      if (isContent && !contents) return `NULL::text AS ${column}`;
      const isBytes = ["key", "content_hash", "hash", "salt"].includes(column);
      return isBytes ? `encode(${table}.${column}, 'hex') AS ${column}` : `${table}.${column}`;
    })
    .join(", ");

/**
 * SQL for the records of a log's own positions: `seq` and the columns of a record. `w` names a row with
 * `log`, `first` and `last`; $1 is the tenant. Of a segment only the requested slice is unpacked. The last
 * segment that may hold some of it is the first that ends at `last` or behind.
 */
export function recordsIn(
  w: string,
  { contents, types }: { readonly contents: boolean; readonly types: string | null },
): string {
  const typed = (table: string): string => (types === null ? "" : ` AND ${table}.type = ANY (${types})`);
  const arrays = packed.filter(([column]) => contents || (column !== "salt" && column !== "content"));
  const from = `greatest(${w}.first - s.from_seq, 0) + 1`;
  const to = `least(${w}.last, s.to_seq) - s.from_seq + 1`;
  return `
SELECT e.seq, ${recordColumns("e", contents)} FROM skein.events e
WHERE e.tenant = $1 AND e.log = ${w}.log AND e.seq BETWEEN ${w}.first AND ${w}.last${typed("e")}
UNION ALL
SELECT greatest(${w}.first, s.from_seq) + u.place - 1, ${recordColumns("u", contents)}
FROM skein.segments s
CROSS JOIN LATERAL unnest(${arrays.map(([, array]) => `s.${array}[${from}:${to}]`).join(", ")})
  WITH ORDINALITY u (${arrays.map(([column]) => column).join(", ")}, place)
WHERE s.tenant = $1 AND s.log = ${w}.log AND s.to_seq >= ${w}.first AND s.from_seq <= ${w}.last
  AND s.to_seq <= coalesce((
    SELECT b.to_seq FROM skein.segments b WHERE b.log = ${w}.log AND b.to_seq >= ${w}.last
    ORDER BY b.to_seq LIMIT 1
  ), ${w}.last)${typed("u")}`;
}

/** What `withinBytes` adds to each row: the number of rows before the cut. */
export interface PageCut {
  readonly found: number;
}

/**
 * SQL for as many of these rows as fit in a page: the first, and more up to so many bytes of content. Sizes
 * are summed before any content is fetched.
 */
export const withinBytes = (rows: string, order: string, bytes: string, size: string): string => `
SELECT * FROM (
  SELECT f.*, sum(${size}) OVER running AS total, row_number() OVER running AS nth, count(*) OVER () AS found
  FROM (${rows}) f
  WINDOW running AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
) p WHERE nth = 1 OR total <= ${bytes} ORDER BY nth`;
