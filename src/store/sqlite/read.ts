/** Reading records from SQLite: pages of a log across its shared prefix, and times. */
import { missingRecord } from "../sql/damage.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredRecord } from "../../core/chain.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ReadRange, StoreWorld } from "../port.ts";
import { hexOf, type Logs, type Stretch } from "./log.ts";
import type { Names } from "./name-ids.ts";
import type { Segment, Segments } from "./segments.ts";

/** Rows fetched at once; between fetches the page's bytes are counted. */
const fetchRowsMax = 256;
/** Rows that a search by type scans before it yields. */
const scanRowsMax = 5_000;

export interface Reader {
  read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]>;
  keyed(session: LogId, key: string): number | undefined;
  seqAt(session: LogId, at: number): number;
  recordOf(row: RecordColumns): StoredRecord;
  /** Records of one log between two positions, in order, packed or not. */
  along(stretch: Stretch, ask: () => number): Generator<readonly StoredRecord[]>;
  /** Of a log's own record, packed or not. */
  point(log: number, seq: number): { readonly at: number; readonly hash: string } | undefined;
}

const header = "log, seq, at, type, v, actor, turn, cause, key, body, content_hash, content_bytes, hash";
export const whole = `${header}, salt, content`;

export type RecordColumns = [
  log: number,
  seq: number,
  at: number,
  type: number,
  v: number,
  actor: number,
  turn: number | null,
  cause: number | null,
  key: Uint8Array | null,
  body: string,
  contentHash: Uint8Array | null,
  contentBytes: number | null,
  hash: Uint8Array,
  salt?: Uint8Array | null,
  content?: string | null,
];

/** SQLite has no infinity among its integers. */
const lastSeq = (...seqs: readonly number[]): number => Math.min(Number.MAX_SAFE_INTEGER, ...seqs);

function makeRecordOf(logs: Logs, names: Names): (row: RecordColumns) => StoredRecord {
  return (row) => {
    const [log, seq, at, type, v, actor, turn, cause, key, body] = row;
    const { 10: contentHash, 11: contentBytes, 12: hash, 13: salt, 14: content } = row;
    return {
      session: logs.sessionOf(log),
      seq,
      at,
      type: names.name(type),
      v,
      actor: names.name(actor),
      turn,
      cause,
      key: key === null ? null : hexOf(key),
      body,
      contentHash: contentHash === null ? null : hexOf(contentHash),
      contentBytes,
      hash: hexOf(hash),
      salt: salt === null || salt === undefined ? null : hexOf(salt),
      content: content ?? null,
    };
  };
}

interface ReadMode {
  readonly contents: boolean;
  readonly reverse: boolean;
  /** The number of records still needed. */
  readonly ask: () => number;
}

/** The rest of a stretch after reading up to a position. */
const rest = (stretch: Stretch, reverse: boolean, done: Stretch): Stretch =>
  reverse ? { ...stretch, toSeq: done.fromSeq - 1 } : { ...stretch, fromSeq: done.toSeq + 1 };

/** The requested part of a segment, from the reading side. */
function partOf(segment: Segment, { fromSeq, toSeq }: Stretch, reverse: boolean, count: number): Stretch {
  const first = Math.max(fromSeq, segment.fromSeq);
  const last = Math.min(toSeq, segment.toSeq);
  return reverse
    ? { log: segment.log, fromSeq: Math.max(first, last + 1 - count), toSeq: last }
    : { log: segment.log, fromSeq: first, toSeq: Math.min(last, first + count - 1) };
}

export function makeReader(
  database: DatabaseSync,
  context: {
    readonly world: StoreWorld;
    readonly logs: Logs;
    readonly names: Names;
    readonly segments: Segments;
  },
): Reader {
  const { world, logs, names, segments } = context;
  const recordOf = makeRecordOf(logs, names);
  const statements = new Map<string, StatementSync>();

  function statement(columns: string, reverse: boolean, typed: boolean): StatementSync {
    const sql =
      `SELECT ${columns} FROM records WHERE log = ? AND seq BETWEEN ? AND ?` +
      (typed ? " AND type IN (SELECT value FROM json_each(?))" : "") +
      ` ORDER BY seq ${reverse ? "DESC" : "ASC"} LIMIT ?`;
    const made = statements.get(sql) ?? database.prepare(sql);
    made.setReturnArrays(true);
    statements.set(sql, made);
    return made;
  }

  const bound = {
    up: database.prepare(
      "SELECT seq FROM records WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT 1 OFFSET ?",
    ),
    down: database.prepare(
      "SELECT seq FROM records WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
    ),
  };

  /**
   * Pages of a stretch in order. The beginning of a log is packed; another process may pack more at any time,
   * so a record that left the table is searched again among the segments.
   */
  function* pages(stretch: Stretch, how: ReadMode): Generator<readonly StoredRecord[]> {
    const { contents, reverse, ask } = how;
    const select = statement(contents ? whole : header, reverse, false);
    for (let left = stretch; left.fromSeq <= left.toSeq;) {
      const edge = reverse ? left.toSeq : left.fromSeq;
      const segment = segments.at(stretch.log, edge);
      if (segment !== undefined) {
        const part = partOf(segment, left, reverse, ask());
        const found = segments.records(segment, { ...part, contents });
        yield reverse ? found.toReversed() : found;
        left = rest(left, reverse, part);
        continue;
      }
      const count = Math.min(fetchRowsMax, ask());
      const rows = select.all(stretch.log, left.fromSeq, left.toSeq, count) as unknown as RecordColumns[];
      const last = rows.at(-1);
      if (rows[0]?.[1] !== edge && segments.at(stretch.log, edge) !== undefined) continue;
      if (last === undefined) {
        const beyond = behindGap(left, reverse);
        if (beyond === null) return;
        left = beyond;
        continue;
      }
      yield rows.map(recordOf);
      left = rest(left, reverse, { ...left, fromSeq: last[1], toSeq: last[1] });
      if (!reverse && rows.length < count) return;
    }
  }

  /** Only a corrupt log has a gap; packed records beyond it are still read. */
  function behindGap(left: Stretch, reverse: boolean): Stretch | null {
    const { log, fromSeq, toSeq } = left;
    const other = reverse ? segments.upTo(log, toSeq) : segments.next(log, fromSeq);
    if (other === undefined || other.fromSeq > toSeq || other.toSeq < fromSeq) return null;
    return reverse ? { ...left, toSeq: other.toSeq } : { ...left, fromSeq: other.fromSeq };
  }

  /** The same for some types only, which may be rare: yields after each segment, and after so many rows. */
  async function* typedPages(
    stretch: Stretch,
    types: ReadonlySet<number>,
    how: ReadMode,
  ): AsyncGenerator<readonly StoredRecord[]> {
    const { contents, reverse, ask } = how;
    const select = statement(contents ? whole : header, reverse, true);
    const list = JSON.stringify([...types]);
    for (let left = stretch; left.fromSeq <= left.toSeq;) {
      const segment = segments.at(stretch.log, reverse ? left.toSeq : left.fromSeq);
      if (segment === undefined) {
        const { log, fromSeq, toSeq } = windowOf(left, reverse);
        const rows = select.all(log, fromSeq, toSeq, list, ask()) as unknown as RecordColumns[];
        if (segments.at(log, fromSeq) !== undefined) continue;
        yield rows.map(recordOf);
        left = rest(left, reverse, { log, fromSeq, toSeq });
      } else {
        const part = partOf(segment, left, reverse, Infinity);
        const found = segments.records(segment, { ...part, contents, types });
        yield (reverse ? found.toReversed() : found).slice(0, ask());
        left = rest(left, reverse, part);
      }
      await new Promise<void>((resolve) => world.defer(resolve));
    }
  }

  /**
   * A bounded number of unpacked rows, so that no single query blocks the process for long. Counted in rows
   * and not in positions, because a corrupt log may have a gap of any size.
   */
  function windowOf({ log, fromSeq, toSeq }: Stretch, reverse: boolean): Stretch {
    const row = bound[reverse ? "down" : "up"].get(log, fromSeq, toSeq, scanRowsMax - 1);
    if (row !== undefined) {
      const end = Number(row["seq"]);
      return reverse ? { log, fromSeq: end, toSeq } : { log, fromSeq, toSeq: end };
    }
    const packed = reverse ? segments.upTo(log, toSeq)?.toSeq : segments.next(log, fromSeq)?.fromSeq;
    if (packed === undefined) return { log, fromSeq, toSeq };
    return reverse
      ? { log, fromSeq: Math.max(fromSeq, packed + 1), toSeq }
      : { log, fromSeq, toSeq: Math.min(toSeq, packed - 1) };
  }

  async function read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]> {
    const line = range.received === true ? logs.findAny(session) : logs.find(session);
    const head = line && (range.received === true ? { seq: Infinity } : logs.headRow(line.id));
    if (line === undefined || head === undefined) return [];
    const { reverse = false, contents } = range;
    const ids = range.types?.map((type) => names.known(type)).filter((id) => id !== undefined);
    const want = Math.min(range.limit, limit.pageRecordsMax);
    if (ids?.length === 0 || want <= 0) return [];
    const found: StoredRecord[] = [];
    let bytes = 0;
    /** True if the page is full. */
    const take = (records: readonly StoredRecord[]): boolean => {
      for (const record of records) {
        bytes += contents ? (record.contentBytes ?? 0) : 0;
        if (bytes > limit.pageBytesMax && found.length > 0) return true;
        found.push(record);
      }
      return found.length >= want;
    };
    const how = { contents, reverse, ask: () => want - found.length };
    const types = new Set(ids);
    const stretches = logs.stretches(line, Math.max(1, range.fromSeq), lastSeq(head.seq, range.toSeq));
    for (const stretch of reverse ? stretches.toReversed() : stretches) {
      if (ids === undefined) {
        for (const records of pages(stretch, how)) if (take(records)) return found;
      } else {
        for await (const records of typedPages(stretch, types, how)) if (take(records)) return found;
      }
    }
    return found;
  }

  const points = makePoints(database, { logs, segments });
  return {
    ...points,
    read,
    recordOf,
    along: (stretch, ask) => pages(stretch, { contents: true, reverse: false, ask }),
  };
}

/** Single records of a log, by position, key or time. */
function makePoints(
  database: DatabaseSync,
  { logs, segments }: { readonly logs: Logs; readonly segments: Segments },
): Pick<Reader, "keyed" | "seqAt" | "point"> {
  const pointAt = database.prepare("SELECT at, hash FROM records WHERE log = ? AND seq = ?");
  pointAt.setReturnArrays(true);
  const pointIn = (log: number, seq: number) =>
    pointAt.get(log, seq) as unknown as [at: number, hash: Uint8Array] | undefined;

  const byKey = database.prepare("SELECT seq FROM records WHERE log = ? AND key = ?");
  byKey.setReturnArrays(true);

  function keyed(session: LogId, key: string): number | undefined {
    const line = logs.find(session);
    const head = line && logs.headRow(line.id);
    if (line === undefined || head === undefined) return undefined;
    const bytes = Buffer.from(key, "hex");
    const row = byKey.get(line.id, bytes) as unknown as [number] | undefined;
    const seq = row === undefined ? segments.keyed(line.id, bytes) : row[0];
    return seq === undefined || seq > head.seq ? undefined : seq;
  }

  /** Binary search: `at` never decreases within a log. */
  function seqAt(session: LogId, at: number): number {
    const line = logs.find(session);
    const head = line && logs.headRow(line.id);
    if (line === undefined || head === undefined) return 1;
    let low = 1;
    let high = head.seq + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const stretch = logs.stretches(line, middle, middle)[0];
      const moment =
        stretch && (pointIn(stretch.log, middle)?.[0] ?? segments.moment(stretch.log, middle, at));
      if (moment === undefined) throw missingRecord(session, middle);
      if (moment >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  return {
    keyed,
    seqAt,
    point(log, seq) {
      const row = pointIn(log, seq);
      return row === undefined ? segments.record(log, seq) : { at: row[0], hash: hexOf(row[1]) };
    },
  };
}
