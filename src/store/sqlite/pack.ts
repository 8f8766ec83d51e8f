/**
 * Packing: old records of a log become a segment, step by step. Records are read and compressed outside of
 * any transaction; then one short transaction verifies that they are unchanged, and replaces them with the
 * segment. A crash in between changes nothing.
 */
import { unpackable } from "../sql/damage.ts";
import type { DatabaseSync } from "node:sqlite";
import { flaw, genesisHash } from "../../core/chain.ts";
import type { LogId } from "../../core/ids.ts";
import type { PackResult } from "../port.ts";
import type { DriverParts } from "./append.ts";
import type { AnyLine, Stretch } from "./log.ts";
import { whole, type RecordColumns } from "./read.ts";
import { pack, type PackedRow, type PackedSegment, type SegmentRange } from "./segment.ts";
import { runsOf } from "./segment-write.ts";
import type { Segment } from "./segments.ts";
import { shrinkIfMuch } from "./blobs.ts";
import type { SqliteWriter } from "./writer.ts";
import { stuck } from "../paging.ts";

/** The most that one segment packs: larger ones are smaller on disk, and slower to read in part. */
const rangeBytes = 262_144;
const rangeRecords = 1_024;
const fetchRows = 128;
/** Records hashed at once; about a millisecond. */
const checkRows = 128;

/** A step writes much more than an append; after each the -wal file is checked. */
const stepWeight = 64;

export interface PackContext extends DriverParts {
  readonly database: DatabaseSync;
  readonly writer: SqliteWriter;
}

/** Records to pack into a segment. */
interface Batch extends SegmentRange {
  readonly log: number;
  /** The first unpacked one, and the hash of the record before it. */
  readonly freshSeq: number;
  readonly beforeFresh: string;
  readonly toSeq: number;
  /** The last segment at the time of reading. */
  readonly last: Segment | null;
  /** The same, if it is small and becomes part of the new one. */
  readonly instead: Segment | null;
}

/** Attempts in a row at which another process was faster; beyond that the segments contradict the table. */
const triesMax = 1_000;

export async function packLog(
  context: PackContext,
  session: LogId,
  toSeq: number,
  signal?: AbortSignal,
): Promise<PackResult> {
  const { writer, database } = context;
  const total = { records: 0, bytesBefore: 0, bytesAfter: 0 };
  for (let tries = 0; ; tries++) {
    const batch = signal?.aborted === true ? null : nextBatch(context, session, toSeq);
    if (batch === null) break;
    if (tries > triesMax) throw stuck("pack", session);
    if (batch === "again") continue;
    await checkChain(context, session, batch);
    const packing = await pack(batch);
    const done = await writer.run(() => putInPlace(context, session, batch, packing), { weight: stepWeight });
    if (!done) continue;
    tries = 0;
    const fresh = freshIn(batch);
    total.records += fresh.length;
    total.bytesBefore += fresh.reduce((sum, one) => sum + bytesInTable(one), 0);
    total.bytesAfter += packing.heads.length + packing.contents.length - (batch.instead?.bytes ?? 0);
    total.bytesAfter += bytesBeside(fresh);
  }
  if (total.records > 0) await shrinkIfMuch(database, writer);
  return total;
}

/**
 * Null if there is nothing left to pack, or the log is not packable; `again` if another process packed
 * something during the read.
 */
function nextBatch(context: PackContext, session: LogId, toSeq: number): Batch | "again" | null {
  const { logs, segments } = context;
  const line = packable(context, session);
  const head = line === null ? undefined : logs.headRow(line.id);
  if (line === null || head === undefined) return null;
  const last = segments.upTo(line.id, Number.MAX_SAFE_INTEGER) ?? null;
  const freshSeq = (last?.toSeq ?? line.forkSeq) + 1;
  const end = Math.min(toSeq, head.seq - 1);
  if (freshSeq > end) return null;
  const instead = last !== null && isSmall(last) ? last : null;
  const joined = instead === null ? null : segments.unpacked(instead);
  if (joined === undefined) return "again";
  const before = hashBefore(context, line, last);
  const start = joined?.rows ?? [];
  const fresh = readFresh(context, { log: line.id, fromSeq: freshSeq, toSeq: end }, start);
  if (fresh.length === 0) {
    if (segments.at(line.id, freshSeq) !== undefined) return "again";
    throw unpackable(session, freshSeq, "the record is missing");
  }
  return {
    log: line.id,
    rows: [...start, ...fresh],
    before: joined?.before ?? Buffer.from(before, "hex"),
    beforeFresh: before,
    freshSeq,
    toSeq: freshSeq + fresh.length - 1,
    last,
    instead,
  };
}

/** A log being received has no known end, and a deleted one is freed anyway. */
function packable({ logs }: PackContext, session: LogId): AnyLine | null {
  const line = logs.findAny(session);
  return line === undefined || line.dropped !== 0 || line.untilSeq !== null ? null : line;
}

const isSmall = ({ fromSeq, toSeq, contentBytes }: Segment): boolean =>
  toSeq + 1 - fromSeq < rangeRecords / 2 && contentBytes < rangeBytes / 2;

/** The hash of the record before the first unpacked one. */
function hashBefore({ reader, segments }: PackContext, line: AnyLine, last: Segment | null): string {
  if (last !== null) return segments.record(line.id, last.toSeq)?.hash ?? genesisHash;
  return line.base === null ? genesisHash : (reader.point(line.base, line.forkSeq)?.hash ?? genesisHash);
}

const bytesIn = ({ row }: PackedRow): number => row[9].length + (row[14] === null ? 0 : (row[11] ?? 0)) + 40;

function readFresh(
  { database }: PackContext,
  { log, fromSeq, toSeq }: Stretch,
  joined: readonly PackedRow[],
): PackedRow[] {
  const select = database.prepare(
    `SELECT position, ${whole} FROM records WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
  );
  select.setReturnArrays(true);
  const found: PackedRow[] = [];
  let bytes = joined.reduce((sum, one) => sum + bytesIn(one), 0);
  for (let next = fromSeq; next <= toSeq && bytes < rangeBytes;) {
    const count = Math.min(fetchRows, Math.max(1, rangeRecords - joined.length - found.length));
    const rows = select.all(log, next, toSeq, count) as unknown as [number, ...Required<RecordColumns>][];
    for (const [position, ...row] of rows) {
      if (row[1] !== next || bytes >= rangeBytes) break;
      found.push({ position, row });
      bytes += bytesIn({ position, row });
      next++;
    }
    if (rows.length < count || joined.length + found.length >= rangeRecords) break;
  }
  return found;
}

/**
 * Corrupt records are never packed: they would be harder to find, and to repair. Yields to other work in
 * between.
 */
async function checkChain({ world, reader }: PackContext, session: LogId, batch: Batch): Promise<void> {
  let hash = batch.beforeFresh;
  const records = freshIn(batch).map(({ row }) => reader.recordOf(row));
  for (const [place, record] of records.entries()) {
    if (place % checkRows === 0) await new Promise<void>((resolve) => world.defer(resolve));
    const bytes = record.content === null ? null : Buffer.byteLength(record.content);
    const wrong = flaw(world.digest, hash, record, bytes);
    if (wrong !== null) throw unpackable(session, record.seq, wrong);
    hash = record.hash;
  }
}

const freshIn = ({ rows, freshSeq }: Batch): readonly PackedRow[] =>
  rows.filter(({ row }) => row[1] >= freshSeq);

/** In the transaction. False, and nothing changes, if anything differs from what was read. */
function putInPlace(context: PackContext, session: LogId, batch: Batch, packing: PackedSegment): boolean {
  const { logs, segments, segmentWriter } = context;
  const { log, freshSeq, toSeq, last, instead } = batch;
  const isSameLog = packable(context, session)?.id === log;
  if (!isSameLog || (segments.upTo(log, Number.MAX_SAFE_INTEGER)?.id ?? null) !== (last?.id ?? null)) {
    return false;
  }
  if (toSeq >= (logs.headRow(log)?.seq ?? 0) || !isUnchanged(context, batch)) return false;
  segmentWriter.add(batch, packing, { seq: freshSeq, instead });
  return true;
}

function isUnchanged({ database }: PackContext, batch: Batch): boolean {
  const { log, freshSeq, toSeq } = batch;
  const select = database.prepare(
    "SELECT position, hash, content IS NULL FROM records WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq",
  );
  select.setReturnArrays(true);
  const now = select.all(log, freshSeq, toSeq) as unknown as [number, Uint8Array, number][];
  const fresh = freshIn(batch);
  return (
    now.length === fresh.length &&
    fresh.every(({ position, row }, place) => {
      const [there, hash, erased] = now[place] ?? [0, row[12], 0];
      return (
        there === position && Buffer.compare(hash, row[12]) === 0 && (erased === 1) === (row[14] === null)
      );
    })
  );
}

/** The approximate size of a record in the table, with its index entries. */
const bytesInTable = ({ row }: PackedRow): number =>
  75 +
  row[9].length +
  (row[8] === null ? 0 : 45) +
  (row[10] === null ? 0 : 34) +
  (row[14] === null ? 0 : 17 + (row[11] ?? 0));

/** The same for the data next to a segment. */
function bytesBeside(rows: readonly PackedRow[]): number {
  const keys = rows.filter(({ row }) => row[8] !== null).length;
  const costs = rows.filter(({ row }) => row[3] === 3).length;
  const calls = rows.filter(({ row }) => row[3] === 1 || row[3] === 2).length;
  return runsOf(rows).length * 20 + keys * 22 + costs * 160 + calls * 60;
}
