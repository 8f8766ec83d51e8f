/** Writes segments: new ones, without some contents, and truncated. Each call runs within a transaction. */
import type { DatabaseSync } from "node:sqlite";
import { insertCosts } from "./packed-costs.ts";
import { packAtOnce, type PackedRow, type PackedSegment, type SegmentRange } from "./segment.ts";
import { keyNumber, type Segment, type Segments } from "./segments.ts";

export interface SegmentWriter {
  /**
   * Adds a segment and removes its records from the table, from this position on; the earlier ones were in
   * the segment it replaces.
   */
  add(
    range: SegmentRange,
    packing: PackedSegment,
    from: { readonly seq: number; readonly instead: Segment | null },
  ): void;
  /**
   * Rewrites the segments of a log without the contents and salts in these ranges, which are sorted and
   * disjoint. Returns the feed positions of the erased ones. Stops once there are more than `most`.
   */
  erase(log: number, ranges: SeqRanges, most: number): readonly number[];
  /**
   * Removes the part of the log's last segment after a position. Returns its feed positions; null if nothing
   * after it is packed.
   */
  cut(log: number, keepSeq: number): readonly number[] | null;
}

export type SeqRanges = readonly (readonly [fromSeq: number, toSeq: number])[];

export interface Run {
  readonly position: number;
  readonly log: number;
  readonly seq: number;
  readonly count: number;
}

/** Records that are consecutive both in the log and in the feed. */
export function runsOf(rows: readonly PackedRow[]): Run[] {
  const runs: Run[] = [];
  for (const { position, row } of rows) {
    const [log, seq] = row;
    const last = runs.at(-1);
    const follows = last && last.position + last.count === position && last.seq + last.count === seq;
    if (follows) runs[runs.length - 1] = { ...last, count: last.count + 1 };
    else runs.push({ position, log, seq, count: 1 });
  }
  return runs;
}

const insertCalls = `INSERT INTO packed_calls (log, call, seq, at, type, tool, effect, status, ms)
  SELECT log, ifnull(json_extract(body, '$.call'), ''), seq, at, type, json_extract(body, '$.tool'),
    json_extract(body, '$.effect'), json_extract(body, '$.status'), json_extract(body, '$.ms')
  FROM records WHERE log = ? AND seq BETWEEN ? AND ? AND type IN (1, 2)`;

export function makeSegmentWriter(database: DatabaseSync, segments: Segments): SegmentWriter {
  const sql = prepared(database);

  function insert({ rows }: SegmentRange, packing: PackedSegment): void {
    const [first, last] = [rows[0]?.row, rows.at(-1)?.row];
    if (first === undefined || last === undefined) throw new Error("invariant: a segment holds a record");
    const bytes = rows.reduce((sum, { row }) => sum + (row[14] === null ? 0 : (row[11] ?? 0)), 0);
    sql.insert.run(first[0], first[1], last[1], first[2], last[2], bytes, packing.heads, packing.contents);
  }

  /** Within a transaction no other process can remove it. */
  function unpack(segment: Segment): SegmentRange {
    const found = segments.unpacked(segment);
    if (found === undefined) throw new Error("invariant: the segment was just found");
    return found;
  }

  function addPlaces(rows: readonly PackedRow[]): void {
    for (const { position, log, seq, count } of runsOf(rows)) sql.addPlace.run(position, log, seq, count);
  }

  function forgetBeside(rows: readonly PackedRow[]): void {
    for (const { position, row } of rows) {
      const [log, seq, , type, , , , , key, body] = row;
      sql.dropPlace.run(position);
      if (key !== null) sql.dropKey.run(log, keyNumber(key), seq);
      sql.dropCost.run(log, seq);
      if (type === 1 || type === 2) sql.dropCall.run(log, body, seq);
    }
  }

  /** A corrupt segment does not reveal the data next to it; everything is searched instead. */
  function dropDamaged({ id, log, fromSeq, toSeq }: Segment): number[] {
    const runs = sql.placesOf.all(log, fromSeq, toSeq) as unknown as [number, number][];
    for (const one of sql.dropRange) one.run(log, fromSeq, toSeq);
    sql.drop.run(id);
    return runs.flatMap(([position, count]) => Array.from({ length: count }, (_, place) => position + place));
  }

  function eraseOf(segment: Segment, ranges: SeqRanges): number[] {
    const { rows, before } = unpack(segment);
    const isHit = ({ row }: PackedRow): boolean =>
      row[14] !== null && ranges.some(([fromSeq, toSeq]) => fromSeq <= row[1] && row[1] <= toSeq);
    const hit = new Set(rows.filter(isHit));
    if (hit.size === 0) return [];
    const left = { rows: rows.map((one) => (hit.has(one) ? withoutContent(one) : one)), before };
    sql.drop.run(segment.id);
    insert(left, packAtOnce(left));
    return [...hit].map(({ position }) => position);
  }

  return {
    add(range, packing, { seq, instead }) {
      const fresh = range.rows.filter(({ row }) => row[1] >= seq);
      const [log, toSeq] = [fresh[0]?.row[0] ?? 0, fresh.at(-1)?.row[1] ?? 0];
      if (instead !== null) sql.drop.run(instead.id);
      insert(range, packing);
      addPlaces(fresh);
      for (const { row } of fresh) if (row[8] !== null) sql.addKey.run(log, keyNumber(row[8]), row[1]);
      for (const one of [sql.addCosts, sql.addCalls, sql.dropRecords]) one.run(log, seq, toSeq);
    },
    erase(log, ranges, most) {
      const erased: number[] = [];
      let seq = 1;
      for (const [fromSeq, toSeq] of ranges) {
        for (seq = Math.max(seq, fromSeq); seq <= toSeq && erased.length <= most;) {
          const segment = segments.next(log, seq);
          if (segment === undefined) return erased;
          if (segment.fromSeq <= toSeq) erased.push(...eraseOf(segment, ranges));
          seq = segment.fromSeq <= toSeq ? segment.toSeq + 1 : toSeq + 1;
        }
      }
      return erased;
    },
    cut(log, keepSeq) {
      const segment = segments.upTo(log, Number.MAX_SAFE_INTEGER);
      if (segment === undefined || segment.toSeq <= keepSeq) return null;
      let unpacked: SegmentRange;
      try {
        unpacked = unpack(segment);
      } catch {
        return segment.fromSeq > keepSeq ? dropDamaged(segment) : null;
      }
      const { rows, before } = unpacked;
      const kept = { rows: rows.filter(({ row }) => row[1] <= keepSeq), before };
      const gone = rows.slice(kept.rows.length);
      sql.drop.run(segment.id);
      forgetBeside(gone);
      if (kept.rows.length > 0) {
        // A run may lie on both sides of the cut.
        for (const { position } of kept.rows) sql.dropPlace.run(position);
        addPlaces(kept.rows);
        insert(kept, packAtOnce(kept));
      }
      return gone.map(({ position }) => position);
    },
  };
}

const withoutContent = ({ position, row }: PackedRow): PackedRow => {
  const [log, seq, at, type, v, actor, turn, cause, key, body, contentHash, contentBytes, hash] = row;
  const head = [
    log,
    seq,
    at,
    type,
    v,
    actor,
    turn,
    cause,
    key,
    body,
    contentHash,
    contentBytes,
    hash,
  ] as const;
  return { position, row: [...head, null, null] };
};

function prepared(database: DatabaseSync) {
  const placesOf = database.prepare(
    "SELECT position, count FROM packed_places WHERE log = ? AND seq BETWEEN ? AND ?",
  );
  placesOf.setReturnArrays(true);
  return {
    placesOf,
    insert: database.prepare(
      `INSERT INTO segments (log, from_seq, to_seq, from_at, to_at, content_bytes, heads, contents)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    drop: database.prepare("DELETE FROM segments WHERE id = ?"),
    addPlace: database.prepare("INSERT INTO packed_places (position, log, seq, count) VALUES (?, ?, ?, ?)"),
    addKey: database.prepare("INSERT INTO packed_keys (log, key, seq) VALUES (?, ?, ?)"),
    addCosts: database.prepare(insertCosts),
    addCalls: database.prepare(insertCalls),
    dropRecords: database.prepare("DELETE FROM records WHERE log = ? AND seq BETWEEN ? AND ?"),
    dropPlace: database.prepare("DELETE FROM packed_places WHERE position = ?"),
    dropKey: database.prepare("DELETE FROM packed_keys WHERE log = ? AND key = ? AND seq = ?"),
    dropCost: database.prepare("DELETE FROM packed_costs WHERE log = ? AND seq = ?"),
    dropCall: database.prepare(
      "DELETE FROM packed_calls WHERE log = ? AND call = ifnull(json_extract(?, '$.call'), '') AND seq = ?",
    ),
    dropRange: ["packed_places", "packed_keys", "packed_costs", "packed_calls"].map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE log = ? AND seq BETWEEN ? AND ?`),
    ),
  };
}
