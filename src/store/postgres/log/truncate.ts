/**
 * Deletes a log's own records from its end, in small steps, with everything attached to them: keys, places in
 * the feed, search, snapshots, and blobs that only they refer to. For deleted logs, and for discarded
 * receptions.
 */
import { loseUnreferred } from "../blob.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import { lockRecords } from "./erase.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { dropWordStepsAbove } from "../derived/ranking.ts";

/** Records deleted in one transaction; a few milliseconds. */
const rowsAtOnce = 500;

export interface LogCut {
  readonly log: number;
  /** The log's last record, visible or only received. */
  readonly lastSeq: number;
  /** Everything up to here stays. */
  readonly keepSeq: number;
}

/** The end of a log after a step; done if `seq` is the requested end. */
export interface TruncateStep {
  readonly log: number;
  readonly seq: number;
}

interface Segment extends SqlRow {
  readonly log: number;
  readonly from_seq: number;
  readonly to_seq: number;
}

const lastSegments = `
SELECT DISTINCT ON (s.log) s.log, s.from_seq, s.to_seq FROM skein.segments s
WHERE s.tenant = $1 AND s.log = ANY ($2::bigint[]) ORDER BY s.log, s.to_seq DESC`;

/**
 * One step for several logs, within a transaction that holds their heads. Unchanged logs are left out of the
 * answer. The caller sets the heads: see `setEnds`.
 */
export async function cutSome(
  statement: Statement,
  tenant: number,
  cuts: readonly LogCut[],
): Promise<readonly TruncateStep[]> {
  const logs = cuts.map(({ log }) => log);
  await lockRecords(statement, logs);
  const found = await statement<Segment>(lastSegments, [tenant, arrayOf(logs)]);
  const segments = new Map(found.map((row) => [row.log, row]));
  const ends: TruncateStep[] = [];
  const packed: TruncateStep[] = [];
  let left = rowsAtOnce;
  for (const { log, lastSeq, keepSeq } of cuts) {
    if (lastSeq <= keepSeq || left <= 0) continue;
    const segment = segments.get(log);
    if (segment !== undefined && segment.to_seq >= lastSeq) {
      const one = { log, seq: Math.max(keepSeq, segment.from_seq - 1) };
      packed.push(one);
      ends.push(one);
      left -= rowsAtOnce / 4;
      continue;
    }
    const seq = Math.max(keepSeq, segment?.to_seq ?? 0, lastSeq - left);
    left -= lastSeq - seq;
    ends.push({ log, seq });
  }
  if (ends.length === 0) return [];
  const where = [tenant, ...endArrays(ends)];
  if (packed.length > 0) await cutPacked(statement, [tenant, ...endArrays(packed)]);
  const [, refs] = await Promise.all([
    statement(deleteRows, where),
    statement<{ blob: number }>(dropRefs, where),
    statement(deleteAbove("texts"), where),
    statement(dropWordStepsAbove, where),
    statement(deleteAbove("vectors"), where),
    statement(deleteAbove("snapshots"), where),
    statement(deletePlaces, where),
    statement(shortenPlaces, where),
  ]);
  const blobs = [...new Set(refs.map(({ blob }) => blob))];
  if (blobs.length > 0) await loseUnreferred(statement, tenant, blobs);
  return ends;
}

const endArrays = (ends: readonly TruncateStep[]): string[] => [
  arrayOf(ends.map(({ log }) => log)),
  arrayOf(ends.map(({ seq }) => seq)),
];

const given = "unnest($2::bigint[], $3::bigint[]) g (log, seq)";

const deleteRows = `
WITH gone AS (
  DELETE FROM skein.events e USING ${given} WHERE e.tenant = $1 AND e.log = g.log AND e.seq > g.seq
  RETURNING e.log, e.key, CASE WHEN e.content IS NULL THEN 0 ELSE coalesce(e.content_bytes, 0) END AS bytes
), keys AS (
  DELETE FROM skein.keys k USING gone WHERE k.tenant = $1 AND k.log = gone.log AND k.key = gone.key
)
UPDATE skein.heads h SET bytes = greatest(0, h.bytes - s.bytes)
FROM (SELECT log, sum(bytes) AS bytes FROM gone GROUP BY log) s WHERE h.tenant = $1 AND h.log = s.log`;

const dropRefs = `
DELETE FROM skein.blob_refs r USING ${given}
WHERE r.tenant = $1 AND r.log = g.log AND r.seq > g.seq RETURNING r.blob`;

const deleteAbove = (table: "texts" | "snapshots" | "vectors"): string =>
  `DELETE FROM skein.${table} t USING ${given} WHERE t.tenant = $1 AND t.log = g.log AND t.seq > g.seq`;

const deletePlaces = `
DELETE FROM skein.places p USING ${given} WHERE p.tenant = $1 AND p.log = g.log AND p.from_seq > g.seq`;

/** Some of the records that entered the feed together may stay. */
const shortenPlaces = `
UPDATE skein.places p SET to_seq = g.seq FROM ${given}
WHERE p.tenant = $1 AND p.log = g.log AND p.from_seq <= g.seq AND p.to_seq > g.seq`;

/** Cuts the last segment of each of these logs after a position; it may become empty. */
async function cutPacked(statement: Statement, where: readonly (string | number)[]): Promise<void> {
  await statement(forgetPackedKeys, where);
  await Promise.all([statement(deleteSegments, where), statement(shortenSegments, where)]);
}

const forgetPackedKeys = `
WITH gone AS (
  SELECT s.log, u.key, CASE WHEN u.content IS NULL THEN 0 ELSE coalesce(u.length, 0) END AS bytes
  FROM ${given} JOIN skein.segments s ON s.log = g.log AND s.to_seq > g.seq
  CROSS JOIN LATERAL unnest(s.keys, s.contents, s.content_lengths) WITH ORDINALITY
    u (key, content, length, place)
  WHERE s.tenant = $1 AND s.from_seq + u.place - 1 > g.seq
), keys AS (
  DELETE FROM skein.keys k USING gone WHERE k.tenant = $1 AND k.log = gone.log AND k.key = gone.key
)
UPDATE skein.heads h SET bytes = greatest(0, h.bytes - s.bytes)
FROM (SELECT log, sum(bytes) AS bytes FROM gone GROUP BY log) s WHERE h.tenant = $1 AND h.log = s.log`;

const deleteSegments = `
DELETE FROM skein.segments s USING ${given} WHERE s.tenant = $1 AND s.log = g.log AND s.from_seq > g.seq`;

const shortened = [
  "ats",
  "vs",
  "types",
  "actors",
  "turns",
  "causes",
  "keys",
  "bodies",
  "content_hashes",
  "content_lengths",
  "hashes",
  "salts",
  "contents",
]
  .map((column) => `${column} = s.${column}[1 : g.seq - s.from_seq + 1]`)
  .join(", ");

const shortenSegments = `
UPDATE skein.segments s SET to_seq = g.seq, ${shortened}, content_bytes = (
  SELECT coalesce(sum(u.length) FILTER (WHERE u.content IS NOT NULL), 0)
  FROM unnest(s.contents[1 : g.seq - s.from_seq + 1], s.content_lengths[1 : g.seq - s.from_seq + 1])
    u (content, length)
)
FROM ${given} WHERE s.tenant = $1 AND s.log = g.log AND s.from_seq <= g.seq AND s.to_seq > g.seq`;

/**
 * The record at a log's own position, or at its start: in the log it was forked from, or none. For `g (log,
 * seq)`; returns `hash` and `at`.
 */
export const endOf = `
LATERAL (
  SELECT coalesce(p.hash, b.hash, decode(repeat('00', 32), 'hex')) AS hash, coalesce(p.at, b.at, 0) AS at
  FROM skein.logs l
  LEFT JOIN LATERAL skein.point(l.id, g.seq) p ON g.seq > l.fork_seq
  LEFT JOIN LATERAL skein.point(l.base, g.seq) b ON g.seq = l.fork_seq
  WHERE l.id = g.log
) e`;

const setSeen = `
UPDATE skein.heads h SET seq = g.seq, hash = e.hash, at = e.at FROM ${given} CROSS JOIN ${endOf}
WHERE h.tenant = $1 AND h.log = g.log`;

const setPut = `
UPDATE skein.heads h SET put_seq = g.seq, put_hash = e.hash FROM ${given} CROSS JOIN ${endOf}
WHERE h.tenant = $1 AND h.log = g.log`;

/** Sets the heads of truncated logs: the end of the visible part, or of the received one. */
export async function setEnds(
  statement: Statement,
  tenant: number,
  ends: readonly TruncateStep[],
  what: "seen" | "put",
): Promise<void> {
  await statement(what === "seen" ? setSeen : setPut, [tenant, ...endArrays(ends)]);
}
