/**
 * Erasing in SQLite, inside the transaction of the append: contents and salts of records, their words and
 * items, and blobs that nothing else refers to. scrub.ts removes the traces that the file may hold after the
 * commit.
 */
import type { DatabaseSync } from "node:sqlite";
import { limit } from "../../core/limit.ts";
import { lostChunksAtOnce } from "../blob-pieces.ts";
import { tooManyErased } from "../judge.ts";
import type { AppendedPart, Part } from "../port.ts";
import { joinStretches } from "../sql/stretch.ts";
import type { LogLine, Logs } from "./log.ts";
import type { SeqRanges, SegmentWriter } from "./segment-write.ts";
import { dropWordSteps } from "./words.ts";

export interface Eraser {
  /**
   * After all writes, so that no blob is deleted that a new record refers to; only of earlier records. Throws
   * if it is too much.
   */
  erase(parts: readonly Part[], written: readonly AppendedPart[]): void;
}

export function makeEraser(database: DatabaseSync, logs: Logs, segmentWriter: SegmentWriter): Eraser {
  const sql = prepared(database);
  const dropVectors = database.prepare("DELETE FROM vectors WHERE log = ? AND seq BETWEEN ? AND ?");

  /** Erases unpacked records; returns their feed positions. */
  function eraseRows(log: number, [fromSeq, toSeq]: SeqRanges[number], most: number): readonly number[] {
    const rows = sql.find.all(log, fromSeq, toSeq, most + 1) as unknown as [number][];
    if (rows.length > most) throw tooManyErased();
    const positions = rows.map(([position]) => position);
    for (const position of positions) sql.erase.run(position);
    return positions;
  }

  /** SeqRanges of one log's own records, sorted and disjoint. */
  function eraseOwn(log: number, ranges: SeqRanges, most: number): number {
    const positions = [...segmentWriter.erase(log, ranges, most)];
    for (const range of ranges) positions.push(...eraseRows(log, range, most - positions.length));
    if (positions.length > most) throw tooManyErased();
    unindex(positions);
    const [fromSeq, toSeq] = [ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0];
    sql.eraseItems.run(log, toSeq, fromSeq, JSON.stringify(ranges));
    for (const [from, to] of ranges) {
      dropWordSteps(database, log, from, to);
      dropVectors.run(log, from, to);
    }
    loseBlobs(database, positions);
    return positions.length;
  }

  /** See last_row in the schema for the last column. */
  function unindex(positions: readonly number[]): void {
    if (positions.length === 0) return;
    for (const position of positions) sql.unindex.run(position);
    sql.reset.run();
  }

  /** Of a log as it reads them; returns the number of erased contents. */
  function eraseOf(line: LogLine, headSeq: number, ranges: SeqRanges, most: number): number {
    const own = new Map<number, [number, number][]>();
    const asked = ranges.map(([first, last]) => ({ log: line.id, first, last }));
    for (const { first, last } of joinStretches(asked)) {
      for (const stretch of logs.stretches(line, first, Math.min(last, headSeq))) {
        const there = own.get(stretch.log) ?? [];
        there.push([stretch.fromSeq, stretch.toSeq]);
        own.set(stretch.log, there);
      }
    }
    let count = 0;
    for (const [log, list] of own) count += eraseOwn(log, list, most - count);
    return count;
  }

  return {
    erase(parts, written) {
      let count = 0;
      for (const [place, { session, erase: ranges = [] }] of parts.entries()) {
        const line = ranges.length > 0 ? logs.find(session) : undefined;
        const headSeq = (written[place]?.firstSeq ?? 1) - 1;
        if (line !== undefined) count += eraseOf(line, headSeq, ranges, limit.eraseRecordsMax - count);
      }
      if (count > 0) markUnscrubbed(database);
    },
  };
}

function prepared(database: DatabaseSync) {
  const statements = {
    find: database.prepare(
      `SELECT position FROM records WHERE log = ? AND seq BETWEEN ? AND ?
       AND (content IS NOT NULL OR salt IS NOT NULL) ORDER BY seq LIMIT ?`,
    ),
    erase: database.prepare("UPDATE records SET content = NULL, salt = NULL WHERE position = ?"),
    unindex: database.prepare("DELETE FROM search WHERE rowid = ?"),
    reset: database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)"),
    // An item belongs to every session that has it in mind, even if the record lies in a shared prefix.
    eraseItems: database.prepare(
      `WITH RECURSIVE sharers (id, to_seq) AS (
         SELECT ?, ?
         UNION
         SELECT l.id, min(s.to_seq, l.fork_seq) FROM logs l JOIN sharers s ON l.base = s.id
         WHERE l.fork_seq >= ?
       ), ranges (from_seq, to_seq) AS MATERIALIZED (
         SELECT value ->> 0, value ->> 1 FROM json_each(?)
       )
       UPDATE item_rows SET value = NULL, because = NULL
       WHERE log IN (SELECT id FROM sharers)
       AND EXISTS (
         SELECT 1 FROM sharers s JOIN ranges r ON item_rows.seq BETWEEN r.from_seq AND r.to_seq
         WHERE s.id = item_rows.log AND item_rows.seq <= s.to_seq
       )`,
    ),
  };
  statements.find.setReturnArrays(true);
  // FTS5 leaves row ids behind that exceed a number.
  statements.unindex.setReadBigInts(true);
  return statements;
}

/** A deleted blob is gone at once: its name is free for another, and its chunks go in small steps. */
const lost = "bytes = NULL, put_at = -1, hash = CAST('lost ' || id AS BLOB)";

/** Removes the blob references of these records, and deletes blobs that nothing else refers to. */
export function loseBlobs(database: DatabaseSync, positions: readonly number[]): void {
  const find = database.prepare("SELECT blob FROM blob_refs WHERE position = ?");
  const unrefer = database.prepare("DELETE FROM blob_refs WHERE position = ?");
  for (const position of positions) {
    const refs = find.all(position);
    if (refs.length > 0) unrefer.run(position);
    for (const ref of refs) loseBlob(database, Number(ref["blob"]));
  }
}

/** False if a record refers to it. */
export function loseBlob(database: DatabaseSync, id: number): boolean {
  const { changes } = database
    .prepare(
      `UPDATE blobs SET ${lost}
       WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = blobs.id)`,
    )
    .run(id);
  return Number(changes) === 1;
}

/** Deletes some chunks of a deleted blob, and finally the blob; false if there is none. */
export function dropLostBlob(database: DatabaseSync): boolean {
  const row = database.prepare("SELECT id FROM blobs WHERE bytes IS NULL AND put_at < 0 LIMIT 1").get();
  if (row === undefined) return false;
  const id = Number(row["id"]);
  const { changes } = database
    .prepare(
      `DELETE FROM blob_chunks WHERE rowid IN
         (SELECT rowid FROM blob_chunks WHERE blob = ? ORDER BY number DESC LIMIT ?)`,
    )
    .run(id, lostChunksAtOnce);
  if (Number(changes) < lostChunksAtOnce) database.prepare("DELETE FROM blobs WHERE id = ?").run(id);
  return true;
}

/**
 * Marks that the file may hold traces of deleted data. Each mark has a unique number, so that a scrub knows
 * whether another one followed.
 */
export function markUnscrubbed(database: DatabaseSync): void {
  database.exec(
    `INSERT INTO meta (key, value) VALUES ('erased', '1')
       ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT);
     INSERT OR REPLACE INTO meta (key, value) SELECT 'scrub', value FROM meta WHERE key = 'erased'`,
  );
}

/** The number of erasures and deletions. */
export function erasures(database: DatabaseSync): number {
  return Number(database.prepare("SELECT value FROM meta WHERE key = 'erased'").get()?.["value"] ?? 0);
}

/** The number of the current mark; null if nothing needs scrubbing. */
export function unscrubbed(database: DatabaseSync): string | null {
  const row = database.prepare("SELECT value FROM meta WHERE key = 'scrub'").get();
  return (row?.["value"] as string | undefined) ?? null;
}
