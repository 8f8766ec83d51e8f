/** Reading records from SQLite: pages of a log across what it shares, and moments. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ReadRange, StoreWorld } from "../port.ts";
import { hexOf, type Logs, type Stretch } from "./log.ts";
import type { Names } from "./names.ts";

/** Rows fetched at once; between fetches the page's bytes are counted. */
const fetchRowsMax = 256;
/** Rows that a search by type looks at before it lets others run. */
const scanRowsMax = 5_000;

export interface Reader {
  read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]>;
  keyed(session: LogId, key: string): number | undefined;
  seqAt(session: LogId, at: number): number;
  recordOf(row: Row): StoredRecord;
}

const header = "log, seq, at, type, v, actor, turn, cause, key, body, content_hash, content_bytes, hash";
export const whole = `${header}, salt, content`;

export type Row = [
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

export function makeReader(
  database: DatabaseSync,
  context: { readonly world: StoreWorld; readonly logs: Logs; readonly names: Names },
): Reader {
  const { world, logs, names } = context;
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

  function recordOf(row: Row): StoredRecord {
    const [
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
      salt,
      content,
    ] = row;
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
   * Windows of so many rows, so that no single query holds up the process for long. Counted in rows and not
   * in positions, since a damaged log may have a gap of any size.
   */
  function* windows(stretch: Stretch, reverse: boolean, rows: number): Generator<Stretch> {
    let { fromSeq, toSeq } = stretch;
    for (;;) {
      const row = bound[reverse ? "down" : "up"].get(stretch.log, fromSeq, toSeq, rows - 1);
      const end = row === undefined ? null : Number(row["seq"]);
      if (end === null) {
        yield { log: stretch.log, fromSeq, toSeq };
        return;
      }
      yield reverse ? { log: stretch.log, fromSeq: end, toSeq } : { log: stretch.log, fromSeq, toSeq: end };
      if (reverse) toSeq = end - 1;
      else fromSeq = end + 1;
      if (fromSeq > toSeq) return;
    }
  }

  interface How {
    readonly select: StatementSync;
    readonly reverse: boolean;
    /** How many rows are still wanted. */
    readonly ask: () => number;
  }

  /** Pages of a stretch in order. */
  function* pages(stretch: Stretch, { select, reverse, ask }: How): Generator<readonly Row[]> {
    let { fromSeq, toSeq } = stretch;
    for (;;) {
      const count = Math.min(fetchRowsMax, ask());
      const rows = select.all(stretch.log, fromSeq, toSeq, count) as unknown as Row[];
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < count) return;
      if (reverse) toSeq = last[1] - 1;
      else fromSeq = last[1] + 1;
    }
  }

  /** The same for some types only, of which there may be few: between windows the others get their turn. */
  async function* typedPages(stretch: Stretch, types: string, how: How): AsyncGenerator<readonly Row[]> {
    for (const { log, fromSeq, toSeq } of windows(stretch, how.reverse, scanRowsMax)) {
      yield how.select.all(log, fromSeq, toSeq, types, how.ask()) as unknown as Row[];
      await new Promise<void>((resolve) => world.defer(resolve));
    }
  }

  async function read(session: LogId, range: ReadRange): Promise<readonly StoredRecord[]> {
    const line = range.received === true ? logs.findAny(session) : logs.find(session);
    const head = line && (range.received === true ? { seq: Infinity } : logs.headRow(line.id));
    if (line === undefined || head === undefined) return [];
    const { reverse = false, contents } = range;
    const ids = range.types?.map((type) => names.known(type)).filter((id) => id !== undefined);
    if (ids?.length === 0) return [];
    const want = Math.min(range.limit, limit.pageRecordsMax);
    const found: StoredRecord[] = [];
    let bytes = 0;
    /** True when the page is full. */
    const take = (rows: readonly Row[]): boolean => {
      for (const row of rows) {
        bytes += contents ? (row[11] ?? 0) : 0;
        if (bytes > limit.pageBytesMax && found.length > 0) return true;
        found.push(recordOf(row));
      }
      return found.length >= want;
    };
    const select = statement(contents ? whole : header, reverse, ids !== undefined);
    const how = { select, reverse, ask: () => want - found.length };
    const stretches = logs.stretches(line, Math.max(1, range.fromSeq), lastSeq(head.seq, range.toSeq));
    for (const stretch of reverse ? stretches.toReversed() : stretches) {
      if (ids === undefined) {
        for (const rows of pages(stretch, how)) if (take(rows)) return found;
      } else {
        for await (const rows of typedPages(stretch, JSON.stringify(ids), how)) if (take(rows)) return found;
      }
    }
    return found;
  }

  const moment = database.prepare("SELECT at FROM records WHERE log = ? AND seq = ?");
  moment.setReturnArrays(true);

  const byKey = database.prepare("SELECT seq FROM records WHERE log = ? AND key = ?");

  function keyed(session: LogId, key: string): number | undefined {
    const line = logs.find(session);
    const row = line && byKey.get(line.id, Buffer.from(key, "hex"));
    const head = line && row && logs.headRow(line.id);
    return head === undefined || Number(row?.["seq"]) > head.seq ? undefined : Number(row?.["seq"]);
  }

  /** By halving: `at` never goes back within a log. */
  function seqAt(session: LogId, at: number): number {
    const line = logs.find(session);
    const head = line && logs.headRow(line.id);
    if (line === undefined || head === undefined) return 1;
    let low = 1;
    let high = head.seq + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const stretch = logs.stretches(line, middle, middle)[0];
      const row = stretch && (moment.get(stretch.log, middle) as unknown as [number] | undefined);
      if (row === undefined) throw new SkeinError("corrupt", `record ${middle} of ${session} is missing`);
      if (row[0] >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  return { read, keyed, seqAt, recordOf };
}
