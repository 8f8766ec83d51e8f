/**
 * The feed of SQLite: records by position, which is commit order. Received records lie at positions from
 * before they were visible; the feed skips them there, and returns them at the position of their arrival. A
 * returned position is that of a record, or that of an arrival with its last returned seq.
 */
import type { DatabaseSync } from "node:sqlite";
import type { StoredRecord } from "../../core/chain.ts";
import { limit } from "../../core/limit.ts";
import { feedOfProjections, makePositionedFeed, notAPosition } from "../feed-position.ts";
import type { FeedSource, SourcePage } from "../feed-position.ts";
import type { Store } from "../port.ts";
import type { Logs } from "./log.ts";
import { whole, type Reader, type RecordColumns } from "./read.ts";
import type { Segments } from "./segments.ts";
import { stuck } from "../paging.ts";

/** Rows fetched at once; between fetches the page's bytes are counted. */
const fetchRowsMax = 256;

type FeedRow = [...Required<RecordColumns>, position: number];
type Run = [position: number, log: number, seq: number, count: number];
type Arrival = [position: number, log: number, fromSeq: number, toSeq: number];

/** The position of a reader: behind a position, or within the arrival at it. */
interface FeedPosition {
  readonly position: number;
  readonly seq: number | null;
}

/** A record at its place, read on demand. */
interface Entry {
  readonly position: number;
  readonly log: number;
  readonly seq: number;
  readonly record: () => StoredRecord | undefined;
}

interface Step {
  readonly record: StoredRecord | null;
  readonly place: FeedPosition;
}

interface FeedParts {
  readonly logs: Logs;
  readonly reader: Reader;
  readonly segments: Segments;
}

export function makeFeed(
  database: DatabaseSync,
  { look, ...parts }: FeedParts & { readonly look: <T>(work: () => Promise<T>) => Promise<T> },
): Pick<Store, "feed" | "feedEnd"> {
  const positioned = makePositionedFeed(makeSource(database, parts));
  return {
    feed: (after, count) => look(() => feedOfProjections(positioned.feed, after, count)),
    feedEnd: () => look(() => positioned.feedEnd()),
  };
}

function makeSource(database: DatabaseSync, context: FeedParts): FeedSource {
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
  const lastRecord = database.prepare(
    "SELECT position FROM records WHERE position <= ? AND log > 0 ORDER BY position DESC LIMIT 1",
  );
  const statements = [next, runAt, nextRuns, nextArrival, arrivalAt, arrivalsOf, lastRecord];
  for (const one of statements) one.setReturnArrays(true);

  interface Seen {
    readonly toSeq: number;
    readonly arrivals: readonly Arrival[];
  }

  /**
   * The part of a log that the feed returns at its own positions. A deleted log may still exist for its
   * forks.
   */
  function seenOf(log: number): Seen {
    const head = logs.headRow(log);
    return { toSeq: head?.seq ?? 0, arrivals: arrivalsOf.all(log) as unknown as Arrival[] };
  }

  const isGiven = ({ toSeq, arrivals: own }: Seen, seq: number): boolean =>
    seq <= toSeq && !own.some(([, , from, to]) => from <= seq && seq <= to);

  /**
   * Entries at positions between two, in order: all up to the last returned one, if any. The table is read
   * before the segments, so that a record packed meanwhile is found in one of them, or in both.
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
      const record = () => reader.recordOf(row.slice(0, 15) as RecordColumns);
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

  function* stepsFrom(start: FeedPosition): Generator<Step> {
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
          if (entry.position <= position) throw stuck("feed", position);
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

  function page(after: string | null, count: number): SourcePage {
    const start = placeOf(after);
    const want = Math.min(count, limit.pageRecordsMax);
    const records: StoredRecord[] = [];
    let place = start;
    let hash: string | null = null;
    let bytes = 0;
    if (want > 0) {
      for (const one of stepsFrom(start)) {
        if (one.record !== null) {
          bytes += one.record.contentBytes ?? 0;
          if (bytes > limit.pageBytesMax && records.length > 0) break;
          records.push(one.record);
        }
        ({ place } = one);
        hash = one.record?.hash ?? null;
        if (records.length >= want) break;
      }
    }
    return { records, place: textOf(place), hash };
  }

  /** The record at a place, visible or not. */
  function hashAt({ position, seq }: FeedPosition): string | null {
    if (seq === null) return between(position - 1, position + 1)[0]?.record()?.hash ?? null;
    const log = (arrivalAt.get(position) as unknown as Arrival | undefined)?.[1];
    if (log === undefined) return null;
    const [records = []] = reader.along({ log, fromSeq: seq, toSeq: seq }, () => 1);
    return records[0]?.hash ?? null;
  }

  function recordBefore(position: number): number | null {
    const row = lastRecord.get(position) as unknown as [number] | undefined;
    const run = runAt.get(position) as unknown as Run | undefined;
    const packed = run === undefined ? 0 : Math.min(run[0] + run[3] - 1, position);
    return Math.max(row?.[0] ?? 0, packed) || null;
  }

  return {
    page: async (after, count) => page(after, count),
    end: async () => String(endOf(database)),
    async hashAt(text) {
      const place = placeOf(text);
      if (place.position > endOf(database)) return "absent";
      const hash = hashAt(place);
      return hash === null ? "unknown" : { hash };
    },
    distance: (place) => BigInt(placeOf(place).position),
    recordBefore: async (distance) => recordBefore(Number(distance))?.toString() ?? null,
  };
}

/** The last position ever used: a deleted last record leaves an empty row. */
function endOf(database: DatabaseSync): number {
  const row = database
    .prepare(
      `SELECT max(ifnull((SELECT max(position) FROM records), 0),
         ifnull((SELECT max(position) FROM arrivals), 0)) AS position`,
    )
    .get();
  return Number(row?.["position"] ?? 0);
}

const textOf = ({ position, seq }: FeedPosition): string =>
  seq === null ? `${position}` : `${position}+${seq}`;

function placeOf(after: string | null): FeedPosition {
  if (after === null) return { position: 0, seq: null };
  const [, position, seq] = /^(\d{1,15})(?:\+(\d{1,15}))?$/.exec(after) ?? [];
  if (position !== undefined) {
    return { position: Number(position), seq: seq === undefined ? null : Number(seq) };
  }
  throw notAPosition(after);
}
