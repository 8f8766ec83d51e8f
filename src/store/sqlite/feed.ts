/**
 * The feed of SQLite: records by position, which is the order in which they were committed. What was received
 * lies at positions from before it was seen; there it is passed over, and given at the place of its arrival.
 * A position that was given out is that of a record, or that of an arrival with the last seq given of it.
 */
import type { DatabaseSync } from "node:sqlite";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { FeedPage } from "../port.ts";
import type { Logs } from "./log.ts";
import { whole, type Reader, type Row } from "./read.ts";
import type { Segments } from "./segments.ts";

/** Rows fetched at once; between fetches the page's bytes are counted. */
const fetchRowsMax = 256;

type FeedRow = [...Required<Row>, position: number];
type Run = [position: number, log: number, seq: number, count: number];
type Arrival = [position: number, log: number, fromSeq: number, toSeq: number];

/** Where a reader stands: behind a position, or within the arrival at it. */
interface Place {
  readonly position: number;
  readonly seq: number | null;
}

/** A record at its place, read when it is wanted. */
interface Entry {
  readonly position: number;
  readonly log: number;
  readonly seq: number;
  readonly record: () => StoredRecord | undefined;
}

interface Step {
  readonly record: StoredRecord | null;
  readonly place: Place;
}

export function makeFeed(
  database: DatabaseSync,
  context: { readonly logs: Logs; readonly reader: Reader; readonly segments: Segments },
): (after: string | null, count: number) => FeedPage {
  const { logs, reader, segments } = context;
  const next = database.prepare(
    `SELECT ${whole}, position FROM records WHERE position > ? AND position < ? AND log > 0
     ORDER BY position LIMIT ?`,
  );
  const runs = "SELECT position, log, seq, count FROM packed_places";
  const runAt = database.prepare(`${runs} WHERE position <= ? ORDER BY position DESC LIMIT 1`);
  const nextRuns = database.prepare(`${runs} WHERE position > ? AND position < ? ORDER BY position LIMIT ?`);
  const arrivals = "SELECT position, log, from_seq, to_seq FROM arrivals";
  const nextArrival = database.prepare(`${arrivals} WHERE position > ? ORDER BY position LIMIT 1`);
  const arrivalAt = database.prepare(`${arrivals} WHERE position = ?`);
  const arrivalsOf = database.prepare(`${arrivals} WHERE log = ?`);
  for (const one of [next, runAt, nextRuns, nextArrival, arrivalAt, arrivalsOf]) one.setReturnArrays(true);

  interface Seen {
    readonly toSeq: number;
    readonly arrivals: readonly Arrival[];
  }

  /** What of a log is given at its own place. A deleted one may still lie here for its forks. */
  function seenOf(log: number): Seen {
    const head = logs.headRow(log);
    return { toSeq: head?.seq ?? 0, arrivals: arrivalsOf.all(log) as unknown as Arrival[] };
  }

  const isGiven = ({ toSeq, arrivals: own }: Seen, seq: number): boolean =>
    seq <= toSeq && !own.some(([, , from, to]) => from <= seq && seq <= to);

  /**
   * What lies at positions between two, in order: all up to the last one given back, if any. The table is
   * read before what is packed, so that whatever is packed meanwhile is found in one of them, or in both.
   */
  function between(after: number, end: number): Entry[] {
    const rows = next.all(after, end, fetchRowsMax) as unknown as FeedRow[];
    const rowsEnd = rows.length === fetchRowsMax ? (rows.at(-1)?.[15] ?? 0) + 1 : end;
    const first = runAt.get(after) as unknown as Run | undefined;
    const more = nextRuns.all(after, rowsEnd, fetchRowsMax) as unknown as Run[];
    const runsEnd = more.length === fetchRowsMax ? (more.at(-1)?.[0] ?? 0) + 1 : rowsEnd;
    const found = new Map<number, Entry>();
    for (const [start, log, seq, count] of first === undefined ? more : [first, ...more]) {
      for (let place = Math.max(0, after + 1 - start); place < count && start + place < runsEnd; place++) {
        found.set(start + place, packedEntry(start + place, log, seq + place));
      }
    }
    for (const row of rows) {
      if (row[15] >= runsEnd) break;
      const record = () => reader.recordOf(row.slice(0, 15) as Row);
      found.set(row[15], { position: row[15], log: row[0], seq: row[1], record });
    }
    return [...found.values()].toSorted((a, b) => a.position - b.position);
  }

  const packedEntry = (position: number, log: number, seq: number): Entry => ({
    position,
    log,
    seq,
    record() {
      const segment = segments.at(log, seq);
      return segment && segments.records(segment, { fromSeq: seq, toSeq: seq, contents: true })[0];
    },
  });

  function* stepsFrom(start: Place): Generator<Step> {
    const seen = new Map<number, Seen>();
    const known = (log: number): Seen => {
      const there = seen.get(log) ?? seenOf(log);
      seen.set(log, there);
      return there;
    };
    let { position, seq } = start;
    for (;;) {
      if (seq !== null) {
        yield* stepsOfArrival(position, seq, known);
        seq = null;
        yield { record: null, place: { position, seq } };
      }
      const arrival = nextArrival.get(position) as unknown as Arrival | undefined;
      const end: number = arrival?.[0] ?? Number.MAX_SAFE_INTEGER;
      for (let entries = between(position, end); entries.length > 0; entries = between(position, end)) {
        for (const entry of entries) {
          ({ position } = entry);
          const record = isGiven(known(entry.log), entry.seq) ? (entry.record() ?? null) : null;
          yield { record, place: { position, seq: null } };
        }
        if (entries.length < fetchRowsMax) break;
      }
      if (arrival === undefined) return;
      [position, seq] = [arrival[0], arrival[2] - 1];
    }
  }

  function* stepsOfArrival(position: number, after: number, known: (log: number) => Seen): Generator<Step> {
    const found = arrivalAt.get(position) as unknown as Arrival | undefined;
    if (found === undefined) return;
    const [, log, , toSeq] = found;
    for (const records of reader.along({ log, fromSeq: after + 1, toSeq }, () => fetchRowsMax)) {
      for (const record of records) {
        const { seq } = record;
        yield { record: seq <= known(log).toSeq ? record : null, place: { position, seq } };
      }
    }
  }

  return (after, count) => {
    const start = placeOf(after);
    const want = Math.min(count, limit.pageRecordsMax);
    const records: StoredRecord[] = [];
    let place = start;
    let bytes = 0;
    if (want > 0) {
      for (const one of stepsFrom(start)) {
        if (one.record !== null) {
          bytes += one.record.contentBytes ?? 0;
          if (bytes > limit.pageBytesMax && records.length > 0) break;
          records.push(one.record);
        }
        ({ place } = one);
        if (records.length >= want) break;
      }
    }
    return { records, position: textOf(place) };
  };
}

const textOf = ({ position, seq }: Place): string => (seq === null ? `${position}` : `${position}+${seq}`);

function placeOf(after: string | null): Place {
  if (after === null) return { position: 0, seq: null };
  const [, position, seq] = /^(\d{1,15})(?:\+(\d{1,15}))?$/.exec(after) ?? [];
  if (position !== undefined) {
    return { position: Number(position), seq: seq === undefined ? null : Number(seq) };
  }
  throw new SkeinError("invalid", `not a position of this feed: ${JSON.stringify(after)}`, {
    hint: "positions are opaque; give back one that the feed gave out",
    field: "after",
  });
}
