/**
 * The listed sessions in the page: loaded pages, with live changes merged in. While the pointer is over a row
 * the order is frozen; new rows wait.
 */
import { cell, type Cell } from "../../signal.ts";
import {
  askedOf,
  comparing,
  matches,
  needsAll,
  type FilterQuery,
  type Filter,
  type SessionListRow,
} from "./filter.ts";

export interface SessionListing {
  /** In display order. */
  readonly rows: readonly SessionListRow[];
  /** New rows that are not shown yet, because the order is frozen. */
  readonly kept: number;
  /** All have been read. */
  readonly isWhole: boolean;
  readonly isReading: boolean;
  /** Whether anything was read at all. */
  readonly isBegun: boolean;
  /** The read limit was reached. */
  readonly isCut: boolean;
  readonly error: Error | undefined;
}

interface Page {
  readonly rows: readonly SessionListRow[];
  readonly cursor: string | null;
}
type ReadPage = (asked: FilterQuery) => Promise<Page>;

export interface SessionList {
  readonly listing: Cell<SessionListing>;
  /** From the start, as far as the known rows; the first time one page. */
  readHead(): Promise<void>;
  /** The next page. */
  more(): Promise<void>;
  /** All pages, as long as it is wanted. */
  all(wanted: () => boolean): Promise<void>;
  /** Reads what changed since then. */
  catchUp(sinceMs: number): Promise<void>;
  /** Updates those that may wait for others: their log does not change when that does. */
  lookAgain(): Promise<void>;
  remove(session: string): void;
  /** While frozen, rows change and do not move. */
  hold(isHeld: boolean): void;
}

export const rowsMax = 20_000;
const pageRows = 100;
const pageRowsMax = 500;
const headPagesMax = 20;
const caughtPagesMax = 4;

const empty: SessionListing = {
  rows: [],
  kept: 0,
  isWhole: false,
  isReading: false,
  isBegun: false,
  isCut: false,
  error: undefined,
};

export function sessionList(filter: Filter, read: ReadPage): SessionList {
  const listing = cell<SessionListing>(empty);
  const known = new Map<string, SessionListRow>();
  /** Deleted while a read was under way that may still bring them. Ids are never used again. */
  const removed = new Set<string>();
  const asked = askedOf(filter);
  const compare = comparing(filter);
  let cursor: string | null = null;
  let isHeld = false;
  let queue = Promise.resolve();
  /** The time from which to catch up; Infinity: nothing is pending. */
  let sinceOf = Infinity;
  let missedOf = Infinity;

  function show(more: Partial<SessionListing> = {}): void {
    const fresh = [...known.values()].filter((row) => matches(row, filter)).toSorted(compare);
    const { rows, kept } = isHeld ? holding(listing.get().rows, fresh, known, compare) : free(fresh);
    listing.set({ ...listing.get(), rows, kept, isCut: known.size >= rowsMax, ...more });
  }

  function take(rows: readonly SessionListRow[]): void {
    for (const row of rows) {
      if (removed.has(row.session)) continue;
      // An earlier read may arrive later.
      const before = known.get(row.session);
      if (before === undefined || before.headSeq <= row.headSeq) known.set(row.session, row);
    }
  }

  /** One read at a time; background reads fail silently, and are made up for later. */
  function alone(work: () => Promise<void>, isAsked = true): Promise<void> {
    queue = queue.then(work).then(
      () => show({ isReading: false, isBegun: true, error: undefined }),
      (error: unknown) => (isAsked ? show({ isReading: false, error: error as Error }) : undefined),
    );
    return queue;
  }

  async function nextPage(limit: number): Promise<void> {
    const page = await read({ ...asked, limit, ...(cursor === null ? {} : { cursor }) });
    take(page.rows);
    ({ cursor } = page);
  }

  async function readHead(): Promise<void> {
    const isFirst = known.size === 0;
    const seen = new Set<string>();
    let oldestAt = Infinity;
    let place: string | null = null;
    for (let pages = 0; pages < headPagesMax; pages++) {
      const next: Page = await read({
        ...asked,
        limit: pageRows,
        ...(place === null ? {} : { cursor: place }),
      });
      const isKnown = next.rows.some((row) => known.get(row.session)?.headSeq === row.headSeq);
      take(next.rows);
      for (const { session, activeAt } of next.rows) {
        seen.add(session);
        oldestAt = Math.min(oldestAt, activeAt);
      }
      place = next.cursor;
      if (place === null) oldestAt = -Infinity;
      if (isFirst || isKnown || place === null) break;
    }
    // A row that is missing from the result was deleted, or left the list.
    for (const [session, { activeAt }] of known)
      if (activeAt > oldestAt && !seen.has(session)) known.delete(session);
    if (isFirst) cursor = place;
    if (isFirst || place === null) show({ isWhole: place === null });
  }

  async function readSince(): Promise<void> {
    // Includes what the last failed read missed.
    const activeSince = Math.min(sinceOf, missedOf);
    [sinceOf, missedOf] = [Infinity, activeSince];
    let place: string | null = null;
    for (let pages = 0; pages < caughtPagesMax; pages++) {
      // Unfiltered: rows that are no longer listed must be known, too.
      const cursorOf = place === null ? {} : { cursor: place };
      const next: Page = await read({ activeSince, limit: pageRowsMax, ...cursorOf });
      take(next.rows.filter((row) => known.has(row.session) || matches(row, filter)));
      place = next.cursor;
      if (place === null) break;
    }
    if (place !== null) await readHead();
    missedOf = Infinity;
  }

  const reading = (): void => listing.set({ ...listing.get(), isReading: true });
  const isOver = (): boolean => listing.get().isWhole || known.size >= rowsMax;

  return {
    listing,
    async readHead() {
      if (known.size === 0) reading();
      await alone(readHead);
    },
    async more() {
      if (isOver() || listing.get().isReading) return;
      reading();
      await alone(async () => {
        await nextPage(needsAll(filter) ? pageRowsMax : pageRows);
        show({ isWhole: cursor === null });
      });
    },
    async all(wanted) {
      while (wanted() && !isOver()) {
        reading();
        await alone(async () => {
          await nextPage(pageRowsMax);
          show({ isWhole: cursor === null, isBegun: true });
        });
        if (listing.get().error !== undefined) return;
      }
    },
    catchUp(sinceMs) {
      // A pending catch-up covers this one too, however fast events arrive.
      const isWaiting = sinceOf !== Infinity;
      sinceOf = Math.min(sinceOf, sinceMs);
      return isWaiting ? queue : alone(readSince, false);
    },
    async lookAgain() {
      if (![...known.values()].some(({ runnable, runBy }) => runnable || runBy !== null)) return;
      await alone(async () => {
        const { rows } = await read({ status: ["open", "running"], limit: pageRowsMax });
        take(rows.filter(({ session }) => known.has(session)));
      }, false);
    },
    remove(session) {
      removed.add(session);
      if (removed.size > rowsMax) removed.delete([...removed.keys()][0] ?? "");
      if (known.delete(session)) show();
    },
    hold(held) {
      if (held === isHeld) return;
      isHeld = held;
      if (!held) show();
    },
  };
}

const free = (rows: readonly SessionListRow[]): Pick<SessionListing, "rows" | "kept"> => ({ rows, kept: 0 });

/** The previous order, with rows after its end added; rows in between are counted. */
export function holding(
  before: readonly SessionListRow[],
  fresh: readonly SessionListRow[],
  known: ReadonlyMap<string, SessionListRow>,
  compare: (a: SessionListRow, b: SessionListRow) => number,
): Pick<SessionListing, "rows" | "kept"> {
  const rows = before.flatMap(({ session }) => known.get(session) ?? []);
  const last = before.at(-1);
  const shown = new Set(rows.map(({ session }) => session));
  const unseen = fresh.filter(({ session }) => !shown.has(session));
  const later = last === undefined ? unseen : unseen.filter((row) => compare(row, last) > 0);
  return { rows: [...rows, ...later], kept: unseen.length - later.length };
}

const listsMax = 6;
const lists = new Map<string, SessionList>();

/** The same list for the same filter: returning finds it unchanged. */
export function listNamed(name: string, make: () => SessionList): SessionList {
  const list = lists.get(name) ?? make();
  lists.delete(name);
  lists.set(name, list);
  for (const old of lists.keys()) {
    if (lists.size <= listsMax) break;
    lists.delete(old);
  }
  return list;
}

/** Removes a deleted session from every list. */
export function removeEverywhere(session: string): void {
  for (const list of lists.values()) list.remove(session);
}
