/** Blobs, and freeing the data of deleted sessions. */
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import { bytesIn, piecesOf, takePieces, unreferredMs } from "../blob-pieces.ts";
import type { Chunks } from "../port.ts";
import { dropLostBlob, loseBlob, loseBlobs, markUnscrubbed } from "./erase.ts";
import type { SegmentWriter } from "./segment-write.ts";
import { dropWordSteps } from "./words.ts";
import type { SqliteWriter } from "./writer.ts";

/** Records deleted, and pages freed, in one transaction; a few milliseconds. */
const sweepRowsMax = 500;
/** Deleted logs read in one transaction. */
const sweepLogsMax = 32;
const vacuumPagesMax = 128;

export async function putBlob(
  database: DatabaseSync,
  writer: SqliteWriter,
  tenant: string,
  { hash, putAt }: { readonly hash: string; readonly putAt: number },
  chunks: Chunks,
): Promise<void> {
  const key = Buffer.from(hash, "hex");
  const find = database.prepare("SELECT id, bytes FROM blobs WHERE tenant = ? AND hash = ?");
  if (typeof find.get(tenant, key)?.["bytes"] === "number") return;
  // Another writer may have restarted the same blob in the meantime; then this one is lost.
  const addChunk = database.prepare(
    `INSERT INTO blob_chunks (blob, number, bytes)
     SELECT id, ?, ? FROM blobs WHERE id = ? AND tenant = ? AND hash = ?`,
  );
  const whole = database.prepare("UPDATE blobs SET bytes = ? WHERE id = ? AND hash = ?");
  /** The row of an incomplete blob; one that a dead writer left restarts. */
  const begin = (): number | null => {
    const there = find.get(tenant, key);
    if (typeof there?.["bytes"] === "number") return null;
    if (there !== undefined) loseBlob(database, Number(there["id"]));
    const insert = database.prepare("INSERT INTO blobs (tenant, hash, put_at) VALUES (?, ?, ?)");
    return Number(insert.run(tenant, key, putAt).lastInsertRowid);
  };
  const pieces = piecesOf(chunks);
  const { taken: first, done } = await takePieces(pieces);
  // Most blobs are small and go in at once, so that two writers of the same blob cannot disturb each other.
  const id = await writer.run(() => {
    const made = begin();
    if (made === null) return null;
    for (const [number, piece] of first.entries()) addChunk.run(number, piece, made, tenant, key);
    if (done) whole.run(bytesIn(first), made, key);
    return made;
  });
  if (id === null || done) return;
  let total = bytesIn(first);
  let number = first.length;
  for await (const piece of pieces) {
    total += piece.length;
    const place = number++;
    await writer.run(() => void addChunk.run(place, piece, id, tenant, key), { weight: chunkWeight });
  }
  const { changes } = await writer.run(() => whole.run(total, id, key));
  if (changes === 1) return;
  throw new SkeinError("conflict", `blob ${hash} was written by two processes at once`, {
    hint: "store it again",
  });
}

/** The weight of a chunk in plain jobs: without it the -wal file would grow long before the next check. */
const chunkWeight = 8;

export function readBlob(
  database: DatabaseSync,
  tenant: string,
  hash: string,
): AsyncIterable<Uint8Array> | undefined {
  const row = database
    .prepare("SELECT id FROM blobs WHERE tenant = ? AND hash = ? AND bytes IS NOT NULL")
    .get(tenant, Buffer.from(hash, "hex"));
  if (row === undefined) return undefined;
  const chunk = database.prepare("SELECT bytes FROM blob_chunks WHERE blob = ? AND number = ?");
  return (async function* () {
    for (let number = 0; ; number++) {
      const next = chunk.get(Number(row["id"]), number);
      if (next === undefined) return;
      yield next["bytes"] as Uint8Array;
    }
  })();
}

/**
 * Deletes what no live session can reach. A deleted log keeps its records up to the last position that a fork
 * shares, and its row as long as a fork names it. The newest record of the whole store leaves a stub, because
 * its position must never be reused.
 */
export async function sweep(
  database: DatabaseSync,
  writer: SqliteWriter,
  options: { readonly now: number; readonly forget: () => void; readonly segmentWriter: SegmentWriter },
): Promise<void> {
  const { now, forget, segmentWriter } = options;
  // A reception in progress stays, until it has been idle for long.
  const stale = database.prepare("SELECT id FROM logs WHERE dropped = 3 AND active_at < ? ORDER BY id DESC");
  for (const row of stale.all(now - unreferredMs)) {
    await writer.run(() =>
      database.prepare("UPDATE logs SET dropped = 2 WHERE id = ?").run(Number(row["id"])),
    );
  }
  const dropped = database.prepare(
    "SELECT id FROM logs WHERE dropped IN (1, 2) AND until_seq IS NULL ORDER BY id DESC",
  );
  for (let freed = true; freed;) {
    freed = false;
    const ids = dropped.all().map((row) => Number(row["id"]));
    for (let from = 0; from < ids.length; from += sweepLogsMax) {
      const some = ids.slice(from, from + sweepLogsMax);
      await writer.steps(() => {
        const more = sweepLogs(database, segmentWriter, some);
        freed ||= more;
        return more;
      });
    }
  }
  forget();
  await writer.run(() => {
    database.exec("DELETE FROM records WHERE log = 0 AND position < (SELECT max(position) FROM records)");
  });
  await writer.steps(() => sweepBlob(database, now - unreferredMs));
  await dropLost(database, writer);
  await shrink(database, writer);
}

/** Deletes one blob that no record refers to any more, or ever did; false if there is none. */
function sweepBlob(database: DatabaseSync, putBefore: number): boolean {
  const row = database
    .prepare(
      `SELECT id FROM blobs b
       WHERE put_at < ? AND put_at >= 0 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = b.id) LIMIT 1`,
    )
    .get(putBefore);
  if (row === undefined) return false;
  return loseBlob(database, Number(row["id"]));
}

/** Deletes the chunks of deleted blobs, a few at a time. */
async function dropLost(database: DatabaseSync, writer: SqliteWriter): Promise<void> {
  await writer.steps(() => dropLostBlob(database), { weight: chunkWeight * 8 });
}

/** Deletes a blob that no record refers to, complete or not. */
export async function dropUnreferred(
  database: DatabaseSync,
  writer: SqliteWriter,
  tenant: string,
  hash: string,
): Promise<void> {
  if (!(await writer.run(() => dropIfUnreferred(database, tenant, hash)))) return;
  await dropLost(database, writer);
  await shrink(database, writer);
}

/** Returns all free pages to the file system, a few at a time. */
export async function shrink(database: DatabaseSync, writer: SqliteWriter): Promise<void> {
  await writer.steps(() => vacuum(database), { weight: vacuumWeight });
}

/** For many small gains in a row: the next one reuses free pages, until they are worth a step. */
export async function shrinkIfMuch(database: DatabaseSync, writer: SqliteWriter): Promise<void> {
  if (freePages(database) >= vacuumPagesMax) await shrink(database, writer);
}

const freePages = (database: DatabaseSync): number =>
  Number(database.prepare("PRAGMA freelist_count").get()?.["freelist_count"]);

/** Like chunks of blobs: each step writes much more than an append. */
const vacuumWeight = 8;

function dropIfUnreferred(database: DatabaseSync, tenant: string, hash: string): boolean {
  const row = database
    .prepare(
      `SELECT id FROM blobs b WHERE tenant = ? AND hash = ?
       AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = b.id)`,
    )
    .get(tenant, Buffer.from(hash, "hex"));
  return row !== undefined && loseBlob(database, Number(row["id"]));
}

/** Returns some free pages to the file system; false if there are none. */
function vacuum(database: DatabaseSync): boolean {
  const before = freePages(database);
  if (before === 0) return false;
  database.exec(`PRAGMA incremental_vacuum(${vacuumPagesMax})`);
  return freePages(database) < before;
}

/** One step for several logs, most of which are short; false if nothing is left to delete. */
function sweepLogs(database: DatabaseSync, segmentWriter: SegmentWriter, ids: readonly number[]): boolean {
  let freed = false;
  let rows = 0;
  for (const id of ids) {
    const some = rows < sweepRowsMax / 2 ? sweepSome(database, segmentWriter, id) : 0;
    rows += some;
    if (sweepRow(database, id) || some > 0) freed = true;
  }
  return freed;
}

/** The number of deleted records; 0 if nothing is left to delete in this log. */
function sweepSome(database: DatabaseSync, segmentWriter: SegmentWriter, id: number): number {
  const keep = database.prepare("SELECT coalesce(max(fork_seq), 0) AS seq FROM logs WHERE base = ?").get(id);
  const some = deleteAbove(database, segmentWriter, id, Number(keep?.["seq"]));
  if (some > 0) markUnscrubbed(database);
  return some;
}

/** Deletes some of a log's records after a position, the last first, and blobs that only they refer to. */
export function deleteAbove(
  database: DatabaseSync,
  segmentWriter: SegmentWriter,
  id: number,
  keep: number,
): number {
  const rows = deleteRows(database, id, keep);
  const positions = rows.length > 0 ? rows : segmentWriter.cut(id, keep);
  if (positions === null) return 0;
  const unindex = database.prepare("DELETE FROM search WHERE rowid = ?");
  // FTS5 leaves row ids behind that exceed a number, on which the next statement would fail.
  unindex.setReadBigInts(true);
  const reset = database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)");
  for (const position of positions) unindex.run(position);
  reset.run();
  loseBlobs(database, positions);
  database.prepare("DELETE FROM snapshots WHERE log = ? AND seq > ?").run(id, keep);
  database.prepare("DELETE FROM vectors WHERE log = ? AND seq > ?").run(id, keep);
  dropWordSteps(database, id, Math.max(keep, lastSeqOf(database, id)) + 1, Number.MAX_SAFE_INTEGER);
  return Math.max(1, positions.length);
}

/** The last of its own records that are left; 0 without any. */
function lastSeqOf(database: DatabaseSync, id: number): number {
  const last = database.prepare(
    `SELECT max(ifnull((SELECT max(seq) FROM records WHERE log = ?1), 0),
       ifnull((SELECT max(to_seq) FROM segments WHERE log = ?1), 0)) AS seq`,
  );
  return Number(last.get(id)?.["seq"]);
}

/** Deletes some unpacked records; returns their feed positions. */
function deleteRows(database: DatabaseSync, id: number, keep: number): readonly number[] {
  const positions = database
    .prepare("SELECT position FROM records WHERE log = ? AND seq > ? ORDER BY seq DESC LIMIT ?")
    .all(id, keep, sweepRowsMax)
    .map((row) => Number(row["position"]));
  const last = Number(database.prepare("SELECT max(position) AS position FROM records").get()?.["position"]);
  const remove = database.prepare("DELETE FROM records WHERE position = ?");
  const stub = database.prepare(
    `UPDATE records SET log = 0, seq = position, key = NULL, body = '{}', content = NULL, salt = NULL,
     content_hash = NULL WHERE position = ?`,
  );
  for (const position of positions) (position === last ? stub : remove).run(position);
  return positions;
}

/** Deletes an empty deleted log; one that a fork still names only detaches from its ancestors. */
function sweepRow(database: DatabaseSync, id: number): boolean {
  const shared = database.prepare("SELECT 1 FROM logs WHERE base = ? LIMIT 1").get(id);
  const holds = ["records", "segments"].some(
    (table) => database.prepare(`SELECT 1 FROM ${table} WHERE log = ? LIMIT 1`).get(id) !== undefined,
  );
  if (shared !== undefined || holds) return false;
  for (const table of ["snapshots", "titles", "labels", "item_rows", "leases", "arrivals", "schedule"]) {
    database.prepare(`DELETE FROM ${table} WHERE log = ?`).run(id);
  }
  const named = database.prepare("SELECT 1 FROM logs WHERE parent = ? LIMIT 1").get(id);
  const end =
    named === undefined
      ? "DELETE FROM logs WHERE id = ?"
      : "UPDATE logs SET base = NULL WHERE id = ? AND base > 0";
  return database.prepare(end).run(id).changes === 1;
}
