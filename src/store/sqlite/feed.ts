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

/** Rows fetched at once; between fetches the page's bytes are counted. */
const fetchRowsMax = 256;

type FeedRow = [...Required<Row>, position: number];
type Arrival = [position: number, log: number, fromSeq: number, toSeq: number];

/** Where a reader stands: behind a position, or within the arrival at it. */
interface Place {
  readonly position: number;
  readonly seq: number | null;
}

export function makeFeed(
  database: DatabaseSync,
  context: { readonly logs: Logs; readonly reader: Reader },
): (after: string | null, count: number) => FeedPage {
  const { logs, reader } = context;
  const next = database.prepare(
    `SELECT ${whole}, position FROM records WHERE position > ? AND position < ? AND log > 0
     ORDER BY position LIMIT ?`,
  );
  const arrived = database.prepare(
    `SELECT ${whole}, 0 FROM records WHERE log = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
  );
  const arrivals = "SELECT position, log, from_seq, to_seq FROM arrivals";
  const nextArrival = database.prepare(`${arrivals} WHERE position > ? ORDER BY position LIMIT 1`);
  const arrivalAt = database.prepare(`${arrivals} WHERE position = ?`);
  const arrivalsOf = database.prepare(`${arrivals} WHERE log = ?`);
  for (const one of [next, arrived, nextArrival, arrivalAt, arrivalsOf]) one.setReturnArrays(true);

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

  function* rowsFrom(start: Place): Generator<{ readonly row: FeedRow | null; readonly place: Place }> {
    const seen = new Map<number, Seen>();
    const known = (log: number): Seen => {
      const there = seen.get(log) ?? seenOf(log);
      seen.set(log, there);
      return there;
    };
    let { position, seq } = start;
    for (;;) {
      if (seq !== null) {
        yield* rowsOfArrival(position, seq, known);
        seq = null;
        yield { row: null, place: { position, seq } };
      }
      const arrival = nextArrival.get(position) as unknown as Arrival | undefined;
      const end: number = arrival?.[0] ?? Number.MAX_SAFE_INTEGER;
      for (let more = true; more;) {
        const rows = next.all(position, end, fetchRowsMax) as unknown as FeedRow[];
        for (const row of rows) {
          position = row[15];
          yield { row: isGiven(known(row[0]), row[1]) ? row : null, place: { position, seq: null } };
        }
        more = rows.length === fetchRowsMax;
      }
      if (arrival === undefined) return;
      [position, seq] = [arrival[0], arrival[2] - 1];
    }
  }

  function* rowsOfArrival(position: number, after: number, known: (log: number) => Seen) {
    const found = arrivalAt.get(position) as unknown as Arrival | undefined;
    if (found === undefined) return;
    const [, log, , toSeq] = found;
    for (let seq = after; ;) {
      const rows = arrived.all(log, seq, toSeq, fetchRowsMax) as unknown as FeedRow[];
      for (const row of rows) {
        seq = row[1];
        yield { row: seq <= known(log).toSeq ? row : null, place: { position, seq } };
      }
      if (rows.length < fetchRowsMax) return;
    }
  }

  return (after, count) => {
    const start = placeOf(after);
    const want = Math.min(count, limit.pageRecordsMax);
    const records: StoredRecord[] = [];
    let place = start;
    let bytes = 0;
    if (want > 0) {
      for (const one of rowsFrom(start)) {
        if (one.row !== null) {
          bytes += one.row[11] ?? 0;
          if (bytes > limit.pageBytesMax && records.length > 0) break;
          records.push(reader.recordOf(one.row.slice(0, 15) as Row));
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
  });
}
