/**
 * Packing in PostgreSQL: old records of a log become a segment, step by step, on the server. A step is one
 * transaction under the lock of the log's records (see erase.ts); appends continue meanwhile, because the
 * last record is never packed and a head never changes.
 */
import { unpackable } from "../../sql/damage.ts";
import type { LogId } from "../../../core/ids.ts";
import type { PackResult, Store } from "../../port.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { lockRecords } from "./erase.ts";
import { stuck } from "../../paging.ts";

/** The most that one segment packs: larger ones are smaller on disk, and slower to read in part. */
const rangeBytes = 262_144;
const rangeRecords = 1_024;
/** Records packed in one transaction. */
const stepRecords = 512;

export function makePacker(driver: Driver): Pick<Store, "pack" | "packedTo"> {
  const { database, tenant } = driver;
  return {
    async pack(session, toSeq, signal) {
      const total = { records: 0, bytesBefore: 0, bytesAfter: 0 };
      const log = await numberOf(driver, session);
      if (log === null) return total;
      for (;;) {
        if (signal?.aborted === true) break;
        const step = (statement: Statement) => packSome(driver, statement, { session, log, toSeq });
        // After a lost answer it continues from the current state.
        const done = await database.transaction(step, { twice: true });
        if (done === null) break;
        if (done.records === 0) throw stuck("pack", session);
        total.records += done.records;
        total.bytesBefore += done.bytesBefore;
        total.bytesAfter += done.bytesAfter;
      }
      return total;
    },
    async packedTo(session) {
      const [row] = await database.run<{ to_seq: number }>(
        `SELECT coalesce(
           (SELECT max(s.to_seq) FROM skein.segments s WHERE s.log = l.id), l.fork_seq
         ) AS to_seq
         FROM skein.heads h JOIN skein.logs l ON l.id = h.log
         WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen}`,
        [tenant, session],
      );
      return row?.to_seq ?? 0;
    },
  };
}

async function numberOf({ database, tenant }: Driver, session: LogId): Promise<number | null> {
  const [row] = await database.run<{ log: number }>(
    "SELECT log FROM skein.heads WHERE tenant = $1 AND session = $2",
    [tenant, session],
  );
  return row?.log ?? null;
}

interface PackRequest {
  readonly session: LogId;
  readonly log: number;
  readonly toSeq: number;
}

/** The last segment of a log and what follows it. */
interface End extends SqlRow {
  readonly from_seq: number | null;
  /** One before the first own record that is not packed. */
  readonly packed_to: number;
  readonly content_bytes: number | null;
  readonly head_seq: number;
}

/** A log being received has no known end, and a deleted one is freed anyway. */
const findEnd = `
SELECT s.from_seq, coalesce(s.to_seq, l.fork_seq) AS packed_to, s.content_bytes, h.seq AS head_seq
FROM skein.heads h JOIN skein.logs l ON l.id = h.log
LEFT JOIN LATERAL (
  SELECT from_seq, to_seq, content_bytes FROM skein.segments WHERE log = h.log ORDER BY to_seq DESC LIMIT 1
) s ON true
WHERE h.tenant = $1 AND h.log = $2 AND h.state = ${state.seen} AND h.put_seq IS NULL`;

/** Null if there is nothing left to pack, or the log is not packable. */
async function packSome(
  driver: Driver,
  statement: Statement,
  asked: PackRequest,
): Promise<PackResult | null> {
  const { tenant } = driver;
  const { session, log, toSeq } = asked;
  await lockRecords(statement, [log]);
  const [end] = await statement<End>(findEnd, [tenant, log]);
  if (end === undefined) return null;
  const firstSeq = end.packed_to + 1;
  const lastSeq = Math.min(toSeq, end.head_seq - 1);
  if (firstSeq > lastSeq) return null;
  const [range] = await statement<Range>(findRange, [tenant, log, firstSeq, lastSeq]);
  if (range === undefined || range.last_seq === null) {
    throw unpackable(session, firstSeq, "the record is missing");
  }
  if (range.last_seq - firstSeq + 1 !== range.records) {
    throw unpackable(session, firstSeq + range.records, "a record is missing");
  }
  const [flaw] = await statement<Flaw>(findFlaw, [tenant, log, firstSeq, range.last_seq, session]);
  if (flaw !== undefined) throw unpackable(session, flaw.seq, flaw.wrong);
  const where = [tenant, log, firstSeq, range.last_seq];
  const joins = isSmall(end);
  const before = joins ? await bytesOf(statement, tenant, log, end.packed_to) : 0;
  const [gone] = await statement<GoneRow>(joins ? extendSegment : newSegment, where);
  if (gone?.records !== range.records) throw unpackable(session, firstSeq, "a record cannot be extracted");
  const after = await bytesOf(statement, tenant, log, range.last_seq);
  return {
    records: gone.records,
    bytesBefore: gone.bytes,
    bytesAfter: after - before + gone.places * placeBytes,
  };
}

const isSmall = ({ from_seq: fromSeq, packed_to: toSeq, content_bytes: bytes }: End): boolean =>
  fromSeq !== null && toSeq + 1 - fromSeq < rangeRecords / 2 && (bytes ?? 0) < rangeBytes / 2;

interface Range extends SqlRow {
  readonly last_seq: number | null;
  readonly records: number;
}

const findRange = `
SELECT max(seq) AS last_seq, count(*) AS records FROM (
  SELECT seq, sum(bytes) OVER (ORDER BY seq) - bytes AS before FROM (
    SELECT seq, octet_length(body) + CASE WHEN content IS NULL THEN 0 ELSE content_bytes END + 40 AS bytes
    FROM skein.events WHERE tenant = $1 AND log = $2 AND seq BETWEEN $3 AND $4
    ORDER BY seq LIMIT ${stepRecords}
  ) sized
) summed WHERE before < ${rangeBytes}`;

interface Flaw extends SqlRow {
  readonly seq: number;
  readonly wrong: string;
}

const shaOf = (text: string): string => `sha256(convert_to(${text}, 'UTF8'))`;

/** As `canonicalHeader` in core/chain.ts: absent fields are empty. */
const header = `concat_ws(E'\\n', 'skein1', $5::text, e.seq, e.at, e.type, e.v, e.actor,
  coalesce(e.turn::text, ''), coalesce(e.cause::text, ''), coalesce(encode(e.key, 'hex'), ''),
  encode(${shaOf("e.body")}, 'hex'), coalesce(encode(e.content_hash, 'hex'), ''),
  coalesce(e.content_bytes::text, ''))`;

/** As `flaw` in core/chain.ts, for a range of records. */
const findFlaw = `
SELECT seq, wrong FROM (
  SELECT e.seq, CASE
    WHEN sha256(
      coalesce(lag(e.hash) OVER (ORDER BY e.seq), b.hash) || convert_to(${header}, 'UTF8')
    ) <> e.hash
      THEN 'the header or body does not match the chain'
    WHEN e.content IS NULL THEN CASE WHEN e.salt IS NOT NULL THEN 'a salt without content' END
    WHEN e.content_hash IS NULL OR e.salt IS NULL THEN 'the header does not declare the content'
    WHEN octet_length(e.content) <> e.content_bytes THEN 'the content''s length is not the one in the header'
    WHEN sha256(e.salt || convert_to(e.content, 'UTF8')) <> e.content_hash
      THEN 'the content does not match its hash'
  END AS wrong
  FROM skein.events e, (
    SELECT coalesce(p.hash, s.hash, decode(repeat('00', 32), 'hex')) AS hash FROM skein.logs l
    LEFT JOIN LATERAL skein.point(l.id, $3 - 1) p ON $3 - 1 > l.fork_seq
    LEFT JOIN LATERAL skein.point(l.base, l.fork_seq) s ON $3 - 1 = l.fork_seq
    WHERE l.id = $2
  ) b
  WHERE e.tenant = $1 AND e.log = $2 AND e.seq BETWEEN $3 AND $4
) looked WHERE wrong IS NOT NULL ORDER BY seq LIMIT 1`;

interface GoneRow extends SqlRow {
  readonly records: number;
  readonly bytes: number;
  readonly places: number;
}

/** Columns of `segments` and those of `events` that they hold. */
const columns = [
  ["ats", "at"],
  ["vs", "v"],
  ["types", "type"],
  ["actors", "actor"],
  ["turns", "turn"],
  ["causes", "cause"],
  ["keys", "key"],
  ["bodies", "body"],
  ["content_hashes", "content_hash"],
  ["content_lengths", "content_bytes"],
  ["hashes", "hash"],
  ["salts", "salt"],
  ["contents", "content"],
] as const;

const held = "coalesce(sum(content_bytes) FILTER (WHERE content IS NOT NULL), 0)";
const packed = columns.map(([name, of]) => `array_agg(${of} ORDER BY seq) AS ${name}`).join(", ");

/**
 * The approximate size of a record in the table: its header, numbers and texts, and its entries in two
 * indexes.
 */
const inTable = `28 + 52 + 24 + 48 + ${[
  "type",
  "actor",
  "key",
  "body",
  "content_hash",
  "hash",
  "salt",
  "content",
]
  .map((column) => `coalesce(pg_column_size(${column}), 0)`)
  .join(" + ")}`;
/** The same of a row of `places`. */
const placeBytes = 150;

/**
 * Removes the records from the table and stores their places in the feed: one row per run of neighbors that
 * were written together. Received records already have their places.
 */
const takeOut = `
WITH gone AS (
  DELETE FROM skein.events WHERE tenant = $1 AND log = $2 AND seq BETWEEN $3 AND $4 RETURNING *
), runs AS (
  INSERT INTO skein.places (tenant, xid, log, from_seq, to_seq)
  SELECT $1, xid, $2, min(seq), max(seq) FROM (
    SELECT xid, seq, seq - row_number() OVER (PARTITION BY xid ORDER BY seq) AS run FROM gone
    WHERE xid IS NOT NULL
  ) numbered GROUP BY xid, run RETURNING 1
), fresh AS (SELECT ${held} AS content_bytes, ${packed} FROM gone)`;

const result = `
SELECT (SELECT count(*) FROM gone) AS records, (SELECT sum(${inTable})::bigint FROM gone) AS bytes,
  (SELECT count(*) FROM runs) AS places`;

const newSegment = `${takeOut}, made AS (
  INSERT INTO skein.segments
    (tenant, log, from_seq, to_seq, content_bytes, ${columns.map(([name]) => name).join(", ")})
  SELECT $1, $2, $3, $4, fresh.* FROM fresh
)
${result}`;

/** A small segment absorbs the records after it. */
const extendSegment = `${takeOut}, made AS (
  UPDATE skein.segments s SET to_seq = $4, content_bytes = s.content_bytes + fresh.content_bytes,
    ${columns.map(([name]) => `${name} = s.${name} || fresh.${name}`).join(", ")}
  FROM fresh WHERE s.tenant = $1 AND s.log = $2 AND s.to_seq = $3 - 1
)
${result}`;

const segmentBytes = `
SELECT 60 + ${columns.map(([name]) => `pg_column_size(${name})`).join(" + ")} AS bytes
FROM skein.segments WHERE tenant = $1 AND log = $2 AND to_seq = $3`;

/** As stored, compressed. */
async function bytesOf(statement: Statement, tenant: number, log: number, toSeq: number): Promise<number> {
  const [row] = await statement<{ bytes: number }>(segmentBytes, [tenant, log, toSeq]);
  return row?.bytes ?? 0;
}
