/** Reads and follows events of one session, and pages of events. */
import { readEvent, type SessionEvent } from "../../core/event.ts";
import { checkCall } from "../../call/check.ts";
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";
import { givenBytes, inflate, isKeptAsBlob } from "./content.ts";
import { stillHolds, rollbackError, type KnownHead } from "./known-heads.ts";

/** Options of `session.events`: a range, filters, and whether to follow. */
export interface EventsOptions {
  /** Positions, both inclusive. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  /** Moments: milliseconds since 1970 or a Date; from the first, to just before the second. */
  readonly since?: number | Date;
  readonly until?: number | Date;
  readonly types?: readonly string[];
  /** The newest first. */
  readonly reverse?: boolean;
  readonly limit?: number;
  /** Continues with later appends, here or in another process, until the signal is aborted. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Called with a head that a follower knew, and that the log no longer holds; returns the error to throw. */
export type WhenSetBack = (log: LogId, head: KnownHead) => Promise<SkeinError>;

const notThere: WhenSetBack = async (log, { seq }) => rollbackError(log, seq);

export const readEvents = (
  store: Store,
  session: LogId,
  options: EventsOptions,
  whenSetBack: WhenSetBack = notThere,
): AsyncGenerator<SessionEvent> => readLog(store, session, options, { whenSetBack, whole: true });

export interface EventsPage {
  readonly events: readonly SessionEvent[];
  /** The position of the next event; null when that was all. */
  readonly next: number | null;
}

/**
 * As many events as requested and as a page may hold, at least one. A content stored as a blob counts by its
 * output size, and is read only if it is returned.
 */
export async function readEventsPage(
  store: Store,
  session: LogId,
  options: EventsOptions & { readonly limit: number },
): Promise<EventsPage> {
  const { limit: count } = options;
  const given = { whenSetBack: notThere, whole: false };
  const fits = makeRoom();
  const events: SessionEvent[] = [];
  for await (const event of readLog(store, session, { ...options, limit: count + 1 }, given)) {
    if (events.length === count || !fits(event)) return { events, next: event.seq };
    events.push(await whole(store, event));
  }
  return { events, next: null };
}

/** A page of `engine.feed`. */
export interface FeedEvents {
  readonly events: readonly SessionEvent[];
  /** Pass it as `after` for the next page. Opaque. */
  readonly position: string;
  /**
   * Present when the store fell back to an earlier copy of itself since `after` was given out (a fail-over
   * that lost a tail, a restored backup). The events start at this position, so some come again; null is the
   * beginning.
   */
  readonly rolledBackTo?: string | null;
}

/** The same for all logs: the events after a position of the feed, and the position of the last. */
export async function readFeedPage(store: Store, after: string | null, count: number): Promise<FeedEvents> {
  for (let want = count; ;) {
    const { records, ...rest } = await store.feed(after, want);
    const found = records.map((record) => readEvent(record, true).event);
    const fits = makeRoom();
    const over = found.findIndex((event) => !fits(event));
    // Only the store knows the position of an event in the middle: it is read again with just those that fit.
    if (over !== -1) want = over;
    else {
      const events: SessionEvent[] = [];
      for (const event of found) events.push(await whole(store, event));
      return { events, ...rest };
    }
  }
}

/** Decides for one event after the other whether a page has room for it. */
function makeRoom(): (event: SessionEvent) => boolean {
  let [count, bytes] = [0, 0];
  return (event) => {
    count += 1;
    bytes += givenBytes(event);
    return count === 1 || bytes <= limit.pageBytesMax;
  };
}

const whole = async (store: Store, event: SessionEvent): Promise<SessionEvent> =>
  isKeptAsBlob(event.content) ? { ...event, content: await inflate(store, event.content) } : event;

async function* readLog(
  store: Store,
  session: LogId,
  options: EventsOptions,
  given: { readonly whenSetBack: WhenSetBack; readonly whole: boolean },
): AsyncGenerator<SessionEvent> {
  checkEventsOptions(options);
  const { types, reverse = false, follow = false, signal } = options;
  let left = options.limit ?? Infinity;
  let { fromSeq, toSeq } = await bounds(store, session, options);
  const { since, until } = moments(options);
  const notice = follow ? makeNotice(store, signal) : null;
  /** The newest known head; the followed log must still hold it. */
  let met: KnownHead | null = null;
  try {
    while (left > 0 && fromSeq <= toSeq && !isAborted(signal)) {
      notice?.clear();
      const head = await store.head(session);
      if (head === undefined) throw sessionNotFound(session);
      const { seq: headSeq } = head;
      const want = Math.min(left, limit.pageRecordsMax);
      const range = { fromSeq, toSeq: Math.min(toSeq, headSeq), reverse, limit: want, contents: true };
      const page = await store.read(session, types === undefined ? range : { ...range, types });
      // After the page was read: another server may have taken over meanwhile.
      if (met !== null && !(await stillHolds(store, head, met))) throw await given.whenSetBack(session, met);
      if (follow) met = head;
      for (const record of page) {
        if (record.at >= until) return;
        if (record.at < since) continue;
        const { event } = readEvent(record, true);
        yield given.whole ? await whole(store, event) : event;
        left -= 1;
      }
      const last = page.at(-1)?.seq;
      if (last !== undefined && reverse) toSeq = last - 1;
      else if (last !== undefined) fromSeq = last + 1;
      else if (notice === null) return;
      else {
        fromSeq = Math.max(fromSeq, headSeq + 1);
        if (fromSeq <= toSeq) await notice.wait();
      }
    }
  } finally {
    notice?.stop();
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

function checkEventsOptions(options: EventsOptions): void {
  checkCall("session.events", options);
  if (options.reverse === true && options.follow === true) {
    throw new SkeinError("invalid", "events: reverse: not allowed with follow");
  }
}

/** In reverse and without following, the end is known from the start; else it is found on the way. */
async function bounds(store: Store, session: LogId, options: EventsOptions) {
  const { fromSeq = 1, toSeq = Infinity, follow = false } = options;
  const { since, until } = moments(options);
  const first = since === 0 ? 1 : await store.seqAt(session, since);
  const end = until === Infinity || follow ? Infinity : (await store.seqAt(session, until)) - 1;
  return { fromSeq: Math.max(fromSeq, first), toSeq: Math.min(toSeq, end) };
}

function moments({ since, until }: EventsOptions): { readonly since: number; readonly until: number } {
  return {
    since: since === undefined ? 0 : moment("since", since),
    until: until === undefined ? Infinity : moment("until", until),
  };
}

function moment(name: string, value: number | Date): number {
  const ms = typeof value === "number" ? value : value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new SkeinError("invalid", `events: ${name}: expected a time`, {
    hint: "pass a Date, or milliseconds since 1970",
  });
}

/** Waits for the next change of the store. A change between `clear` and `wait` is not missed. */
function makeNotice(store: Store, signal: AbortSignal | undefined) {
  let changed = Promise.withResolvers<void>();
  const wake = () => changed.resolve();
  const unwatch = store.watch(wake);
  signal?.addEventListener("abort", wake, { once: true });
  return {
    clear: () => {
      changed = Promise.withResolvers<void>();
    },
    wait: () => changed.promise,
    stop() {
      unwatch();
      signal?.removeEventListener("abort", wake);
    },
  };
}
