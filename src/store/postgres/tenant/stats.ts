/** Statistics of a tenant in PostgreSQL, and the total size of all tenants. */
import type { Durability, Store, StoreStats } from "../../port.ts";
import type { Driver } from "../driver.ts";

/** Tables with their indexes and TOAST data; a partitioned table itself has none. */
const bytes = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes FROM pg_class
  WHERE relnamespace = 'skein'::regnamespace AND relkind = 'r'`;

/**
 * Counted by heads: records are dense from the fork point to the head. Deleted logs, and those being
 * received, may be partial.
 */
const figures = `SELECT current_setting('server_version') AS version,
  (SELECT count(*) FROM skein.logs WHERE tenant = $1 AND listed) AS sessions,
  (SELECT coalesce(sum(h.seq - l.fork_seq), 0)::bigint FROM skein.heads h JOIN skein.logs l ON l.id = h.log
   WHERE h.tenant = $1 AND h.state IN (0, 2)) +
  (SELECT count(*) FROM skein.heads h JOIN skein.events e ON e.log = h.log
   WHERE h.tenant = $1 AND (h.state IN (1, 3) OR h.put_seq IS NOT NULL AND e.seq > h.seq)) +
  (SELECT coalesce(sum(s.to_seq + 1 - s.from_seq), 0)::bigint FROM skein.heads h
   JOIN skein.segments s ON s.log = h.log WHERE h.tenant = $1 AND h.state IN (1, 3)) AS records,
  (SELECT coalesce(sum(bytes), 0)::bigint FROM skein.heads WHERE tenant = $1) AS content_bytes,
  (SELECT erased > scrubbed FROM skein.tenants WHERE id = $1) AS unscrubbed,
  snapshots.*, segments.*, blobs.*
  FROM (SELECT count(*) AS snapshots, coalesce(sum(pg_column_size(text)), 0)::bigint AS snapshot_bytes
    FROM skein.snapshots WHERE tenant = $1) snapshots,
  (SELECT count(*) AS segments, coalesce(sum(pg_column_size(ats) + pg_column_size(types)
      + pg_column_size(actors) + pg_column_size(turns) + pg_column_size(causes) + pg_column_size(vs)
      + pg_column_size(keys) + pg_column_size(bodies) + pg_column_size(content_hashes)
      + pg_column_size(content_lengths) + pg_column_size(hashes) + pg_column_size(salts)
      + pg_column_size(contents)), 0)::bigint AS segment_bytes
    FROM skein.segments WHERE tenant = $1) segments,
  (SELECT count(*) AS blobs, coalesce(sum(bytes), 0)::bigint AS blob_bytes
    FROM skein.blobs WHERE tenant = $1 AND bytes IS NOT NULL AND put_at >= 0) blobs`;

export function makeStats(
  { database, tenant }: Driver,
  durability: Durability,
): Pick<Store, "stats" | "bytes"> {
  const size = async (): Promise<number> => (await database.run<{ bytes: number }>(bytes))[0]?.bytes ?? 0;
  return {
    bytes: size,
    async stats(): Promise<StoreStats> {
      const [[row = {}], bytes] = await Promise.all([database.run(figures, [tenant]), size()]);
      const number = (name: string): number => Number(row[name]);
      return {
        driver: "postgres",
        version: String(row["version"]),
        durability,
        bytes,
        sessions: number("sessions"),
        records: number("records"),
        contentBytes: number("content_bytes"),
        snapshots: number("snapshots"),
        snapshotBytes: number("snapshot_bytes"),
        segments: number("segments"),
        segmentBytes: number("segment_bytes"),
        unscrubbed: row["unscrubbed"] === true,
        blobs: number("blobs"),
        blobBytes: number("blob_bytes"),
      };
    },
  };
}
