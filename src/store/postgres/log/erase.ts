/**
 * Erasing in PostgreSQL, inside the transaction of the append: contents and salts of records, packed or not,
 * their words and items, and blobs that nothing else refers to. sweep.ts scrubs the traces that the server's
 * files may hold after the commit.
 */
import { limit } from "../../../core/limit.ts";
import { tooManyErased } from "../../judge.ts";
import type { Part } from "../../port.ts";
import { joinStretches, type Stretch } from "../../sql/stretch.ts";
import { loseUnreferred } from "../blob.ts";
import type { Statement } from "../connection/connection.ts";
import { state } from "../../sql/log-state.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { dropVectors, dropWordSteps } from "../derived/ranking.ts";

type Ranges = NonNullable<Part["erase"]>;

/** The positions to erase of a log as it reads them, up to `headSeq`. */
export interface Erasure {
  readonly log: number;
  readonly headSeq: number;
  readonly ranges: Ranges;
}

/** A content to erase. */
interface Hit {
  readonly log: number;
  readonly seq: number;
  readonly bytes: number;
}

/**
 * Existing records change only under this lock: to erase, to pack, to delete. Appends do not need it, and do
 * not wait for it. It is held until the transaction ends, and is taken after the locks on heads, by the
 * number of the log.
 */
export async function lockRecords(statement: Statement, logs: readonly number[]): Promise<void> {
  const sorted = [...new Set(logs)].toSorted((a, b) => a - b);
  // Not an advisory lock: any role of the database could hold one on a log of another tenant.
  const lock = "SELECT log FROM skein.numbers WHERE log = ANY ($1::bigint[]) ORDER BY log FOR UPDATE";
  await statement(lock, [arrayOf(sorted)]);
}

/**
 * Counts an erasure or deletion: scrubbing is due, and a projection that was read earlier may hold erased
 * text.
 */
export const countErasure = "UPDATE skein.tenants SET erased = erased + 1 WHERE id = $1";

/**
 * After all writes, so that no blob is deleted that a new record refers to; only of earlier records. Throws
 * if it is too much.
 */
export async function eraseParts(
  statement: Statement,
  tenant: number,
  erasures: readonly Erasure[],
): Promise<void> {
  const stretches = await stretchesOf(statement, erasures);
  if (stretches.length === 0) return;
  await lockRecords(
    statement,
    stretches.map(({ log }) => log),
  );
  const where = [tenant, ...stretchArrays(stretches)];
  const [rows, packed] = await Promise.all([
    statement<Hit & Record<string, unknown>>(eraseRows, where),
    statement<PackedHit & Record<string, unknown>>(findPacked, where),
  ]);
  const hits: readonly Hit[] = [...rows, ...packed];
  if (hits.length > limit.eraseRecordsMax) throw tooManyErased();
  await Promise.all([
    // First, so that no step of the projections is in progress while search and items are erased.
    ...(hits.length > 0 ? [statement(countErasure, [tenant])] : []),
    statement(eraseItems, where),
    ...(packed.length > 0 ? [statement(erasePacked, [tenant, ...packedArrays(packed)])] : []),
    ...(hits.length > 0 ? [forget(statement, tenant, hits)] : []),
  ]);
}

const findStretches = `
SELECT s.log, s.first, s.last FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) g (log, from_seq, to_seq)
CROSS JOIN LATERAL skein.stretches(g.log, g.from_seq, g.to_seq) s ORDER BY s.log, s.first`;

/** By log, in order, without duplicates. */
async function stretchesOf(statement: Statement, erasures: readonly Erasure[]): Promise<readonly Stretch[]> {
  const asked = erasures.flatMap(({ log, headSeq, ranges }) =>
    joinStretches(ranges.map(([from, to]) => ({ log, first: from, last: Math.min(to, headSeq) }))),
  );
  if (asked.length === 0) return [];
  return joinStretches(
    await statement<Stretch & Record<string, unknown>>(findStretches, stretchArrays(asked)),
  );
}

const stretchArrays = (list: readonly Stretch[]): string[] => [
  arrayOf(list.map(({ log }) => log)),
  arrayOf(list.map(({ first }) => first)),
  arrayOf(list.map(({ last }) => last)),
];

/** One more than allowed shows that there are too many. */
const hitsMax = limit.eraseRecordsMax + 1;

const given = "unnest($2::bigint[], $3::bigint[], $4::bigint[]) r (log, first, last)";

const eraseRows = `
WITH hit AS MATERIALIZED (
  SELECT e.log, e.seq FROM ${given} JOIN skein.events e ON e.log = r.log AND e.seq BETWEEN r.first AND r.last
  WHERE e.tenant = $1 AND (e.content IS NOT NULL OR e.salt IS NOT NULL) LIMIT ${hitsMax}
)
UPDATE skein.events e SET content = NULL, salt = NULL FROM hit
WHERE e.tenant = $1 AND e.log = hit.log AND e.seq = hit.seq
RETURNING e.log, e.seq, coalesce(e.content_bytes, 0) AS bytes`;

interface PackedHit extends Hit {
  /** The end of the segment that holds it. */
  readonly to_seq: number;
}

const findPacked = `
SELECT s.log, s.to_seq, s.from_seq + u.place - 1 AS seq, coalesce(u.length, 0) AS bytes
FROM ${given}
JOIN skein.segments s ON s.log = r.log AND s.to_seq >= r.first AND s.from_seq <= r.last
CROSS JOIN LATERAL unnest(s.contents, s.content_lengths) WITH ORDINALITY u (content, length, place)
WHERE s.tenant = $1 AND s.content_bytes > 0 AND u.content IS NOT NULL
  AND s.from_seq + u.place - 1 BETWEEN r.first AND r.last LIMIT ${hitsMax}`;

const erasePacked = `
WITH hit AS (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) h (log, to_seq, seq)),
again AS (
  SELECT s.log, s.to_seq, array_agg(CASE WHEN h.seq IS NULL THEN u.content END ORDER BY u.place) AS contents,
    array_agg(CASE WHEN h.seq IS NULL THEN u.salt END ORDER BY u.place) AS salts,
    coalesce(sum(u.length) FILTER (WHERE h.seq IS NULL AND u.content IS NOT NULL), 0) AS bytes
  FROM (SELECT DISTINCT log, to_seq FROM hit) t
  JOIN skein.segments s ON s.log = t.log AND s.to_seq = t.to_seq
  CROSS JOIN LATERAL unnest(s.contents, s.salts, s.content_lengths) WITH ORDINALITY
    u (content, salt, length, place)
  LEFT JOIN hit h ON h.log = s.log AND h.seq = s.from_seq + u.place - 1
  WHERE s.tenant = $1 GROUP BY s.log, s.to_seq
)
UPDATE skein.segments s SET contents = again.contents, salts = again.salts, content_bytes = again.bytes
FROM again WHERE s.tenant = $1 AND s.log = again.log AND s.to_seq = again.to_seq`;

const packedArrays = (list: readonly PackedHit[]): string[] => [
  arrayOf(list.map(({ log }) => log)),
  arrayOf(list.map(({ to_seq: toSeq }) => toSeq)),
  arrayOf(list.map(({ seq }) => seq)),
];

/** An item belongs to every session that has it in mind, even if the record lies in a shared prefix. */
const eraseItems = `
WITH RECURSIVE ranges AS (SELECT * FROM ${given}),
sharers (id, owner, from_seq, to_seq) AS (
  SELECT log, log, min(first), max(last) FROM ranges GROUP BY log
  UNION ALL
  SELECT l.id, s.owner, s.from_seq, least(s.to_seq, l.fork_seq)
  FROM sharers s JOIN skein.logs l ON l.base = s.id WHERE l.fork_seq >= s.from_seq
)
UPDATE skein.item_rows i SET value = NULL, because = NULL
FROM sharers s JOIN ranges r ON r.log = s.owner
WHERE i.tenant = $1 AND i.log = s.id AND i.seq BETWEEN r.first AND least(r.last, s.to_seq)
  AND (i.value IS NOT NULL OR i.because IS NOT NULL)`;

const forgetTexts = `
DELETE FROM skein.texts t USING unnest($2::bigint[], $3::bigint[]) h (log, seq)
WHERE t.tenant = $1 AND t.log = h.log AND t.seq = h.seq`;

const dropRefs = `
DELETE FROM skein.blob_refs r USING unnest($2::bigint[], $3::bigint[]) h (log, seq)
WHERE r.tenant = $1 AND r.log = h.log AND r.seq = h.seq RETURNING r.blob`;

const countBytes = `
UPDATE skein.heads h SET bytes = greatest(0, h.bytes - g.bytes)
FROM unnest($2::bigint[], $3::bigint[]) g (log, bytes) WHERE h.tenant = $1 AND h.log = g.log`;

async function forget(statement: Statement, tenant: number, hits: readonly Hit[]): Promise<void> {
  const where = [tenant, arrayOf(hits.map(({ log }) => log)), arrayOf(hits.map(({ seq }) => seq))];
  const byLog = [...Map.groupBy(hits, ({ log }) => log)].toSorted(([a], [b]) => a - b);
  const sums = byLog.map(([, list]) => list.reduce((sum, { bytes }) => sum + bytes, 0));
  const [, , , refs] = await Promise.all([
    statement(forgetTexts, where),
    statement(dropWordSteps, where),
    statement(dropVectors, where),
    statement<{ blob: number }>(dropRefs, where),
    statement(countBytes, [tenant, arrayOf(byLog.map(([log]) => log)), arrayOf(sums)]),
  ]);
  const blobs = [...new Set(refs.map(({ blob }) => blob))];
  if (blobs.length > 0) await loseUnreferred(statement, tenant, blobs);
}

/**
 * Deletes these sessions, within a transaction that holds their heads: they disappear from every list. A
 * sweep frees their data.
 */
export async function dropLogs(statement: Statement, tenant: number, logs: readonly number[]): Promise<void> {
  const where = [tenant, arrayOf(logs)];
  await Promise.all([
    statement(countErasure, [tenant]),
    statement(dropHeads, where),
    statement(dropFromLists, where),
    statement("DELETE FROM skein.item_rows WHERE tenant = $1 AND log = ANY ($2::bigint[])", where),
    statement("DELETE FROM skein.schedule WHERE tenant = $1 AND log = ANY ($2::bigint[])", where),
  ]);
}

const dropHeads = `
UPDATE skein.heads SET state = ${state.deleted}, epoch = 0, holder = NULL, until_ms = NULL, lease_order = NULL
WHERE tenant = $1 AND log = ANY ($2::bigint[])`;

const dropFromLists = `
UPDATE skein.logs SET listed = false, outbox = 0, name = NULL, objective = NULL, labels = '{}', tags = '{}'
WHERE tenant = $1 AND id = ANY ($2::bigint[])`;
