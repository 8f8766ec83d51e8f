/**
 * The events of the transcript: a stretch of the log, without events that the transcript does not show. It
 * begins at the end, grows on demand, and drops what is far away.
 */
import type { RemoteSession } from "../../../client/connect.ts";
import { cell, type Cell } from "../../signal.ts";
import type { EventLog } from "./event-log.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { Range, Ranges } from "../../../core/range.ts";
import { transcriptTypes } from "../../../core/transcript.ts";

export interface TranscriptWindow {
  /** All events of transcript types between two positions, except for holes in rewound ranges. */
  readonly events: readonly SessionEvent[];
  readonly fromSeq: number;
  readonly toSeq: number;
}

export interface TranscriptLoader {
  /** Null before the first read. */
  readonly loaded: Cell<TranscriptWindow | null>;
  readonly isReading: Cell<boolean>;
  readonly error: Cell<unknown>;
  /** Goes up when it restarts at its end. */
  readonly begun: Cell<number>;
  /**
   * The end is here now: it extends to there, or restarts if that is far; with fewer events while dragging.
   */
  reach(endSeq: number, isDrawn?: boolean): void;
  older(lost: Ranges): void;
  newer(endSeq: number): void;
  /** Restarts around a position, unless that is loaded. Returns whether it is. */
  show(seq: number, endSeq: number): boolean;
  /** Restarts at the end. */
  toEnd(endSeq: number): void;
  /** Reads the events within a range, as for an expanded rewound range. */
  within(range: Range): void;
}

const pageEvents = 240;
/** The most events held. */
const heldEvents = 5_000;
const drawnEvents = 60;
/** A more distant end is not approached step by step. */
const nearEvents = 1_000;
const filledEvents = 500;

type ReadEvents = (options: {
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly reverse?: boolean;
  readonly limit: number;
}) => Promise<SessionEvent[]>;

const readFrom =
  (session: RemoteSession): ReadEvents =>
  async (options) => {
    const events: SessionEvent[] = [];
    for await (const event of session.events({ ...options, types: transcriptTypes })) events.push(event);
    return options.reverse === true ? events.toReversed() : events;
  };

/** Up to a position, as many as fit a page. */
async function before(read: ReadEvents, toSeq: number, limit = pageEvents): Promise<TranscriptWindow> {
  if (toSeq < 1) return { events: [], fromSeq: 1, toSeq: 0 };
  const events = await read({ toSeq, reverse: true, limit });
  return { events, fromSeq: events.length < limit ? 1 : (events[0]?.seq ?? 1), toSeq };
}

async function following(read: ReadEvents, fromSeq: number, endSeq: number): Promise<TranscriptWindow> {
  const events = await read({ fromSeq, toSeq: endSeq, limit: pageEvents });
  const isAll = events.length < pageEvents;
  return { events, fromSeq, toSeq: isAll ? endSeq : (events.at(-1)?.seq ?? endSeq) };
}

/** Both, one after the other; beyond the limit, the other end is dropped. */
export function joined(
  first: TranscriptWindow,
  second: TranscriptWindow,
  keep: "first" | "second",
): TranscriptWindow {
  const events = [...first.events, ...second.events];
  const whole = { events, fromSeq: first.fromSeq, toSeq: second.toSeq };
  if (events.length <= heldEvents) return whole;
  if (keep === "first") {
    const kept = events.slice(0, heldEvents);
    return { ...whole, events: kept, toSeq: kept.at(-1)?.seq ?? whole.toSeq };
  }
  const kept = events.slice(-heldEvents);
  return { ...whole, events: kept, fromSeq: kept[0]?.seq ?? whole.fromSeq };
}

export function makeTranscriptLoader(session: RemoteSession, log: EventLog): TranscriptLoader {
  const read = readFrom(session);
  const loaded = cell<TranscriptWindow | null>(null);
  const isReading = cell(false);
  const error = cell<unknown>(null);
  const begun = cell(0);
  /** Whether it follows the end; not while an earlier stretch is shown. */
  let isPinned = true;
  let wanted: readonly [endSeq: number, isDrawn: boolean] = [0, false];

  /** One read at a time; a request meanwhile is repeated by its caller if still needed. */
  async function run(work: () => Promise<void>): Promise<void> {
    if (isReading.get()) return;
    isReading.set(true);
    try {
      await work();
      error.set(null);
    } catch (caught) {
      error.set(caught);
    } finally {
      isReading.set(false);
    }
    if (error.get() === null) reach(...wanted);
  }

  const begin = (endSeq: number, limit = pageEvents): Promise<void> =>
    run(async () => {
      isPinned = true;
      loaded.set(await before(read, endSeq, limit));
      begun.set(begun.get() + 1);
    });

  /** Live events are already loaded. */
  function heardSince(from: number, endSeq: number): TranscriptWindow | null {
    if (endSeq - from > nearEvents) return null;
    const events: SessionEvent[] = [];
    for (let seq = from; seq <= endSeq; seq++) {
      const event = log.peek(seq);
      if (event === undefined) return null;
      if (transcriptTypes.includes(event.type)) events.push(event);
    }
    return { events, fromSeq: from, toSeq: endSeq };
  }

  function reach(endSeq: number, isDrawn = false): void {
    wanted = [endSeq, isDrawn];
    const now = loaded.get();
    if (isReading.get()) return;
    const limit = isDrawn ? drawnEvents : pageEvents;
    if (now === null || endSeq < now.fromSeq) return void begin(endSeq, limit);
    if (!isPinned || endSeq <= now.toSeq) return;
    const heard = heardSince(now.toSeq + 1, endSeq);
    if (heard?.events.some(({ type }) => type === "content.erased") === true) return void begin(endSeq);
    if (heard !== null) return loaded.set(joined(now, heard, "second"));
    if (endSeq - now.toSeq > (isDrawn ? 0 : nearEvents)) return void begin(endSeq, limit);
    void run(async () => loaded.set(joined(now, await following(read, now.toSeq + 1, endSeq), "second")));
  }

  return {
    loaded,
    isReading,
    error,
    begun,
    reach,
    older(lost) {
      const now = loaded.get();
      if (now === null || now.fromSeq === 1) return;
      const hole = lost.find(
        ([from, to]) => from < now.fromSeq && now.fromSeq - 1 <= to && to - from > pageEvents,
      );
      void run(async () => {
        const more = await before(read, (hole?.[0] ?? now.fromSeq) - 1);
        const whole = joined({ ...more, toSeq: now.fromSeq - 1 }, now, "first");
        if (whole.toSeq < now.toSeq) isPinned = false;
        loaded.set(whole);
      });
    },
    newer(endSeq) {
      const now = loaded.get();
      if (now === null || now.toSeq >= endSeq) return;
      void run(async () => {
        const more = await following(read, now.toSeq + 1, endSeq);
        if (more.toSeq >= endSeq) isPinned = true;
        loaded.set(joined(now, more, "second"));
      });
    },
    show(seq, endSeq) {
      const now = loaded.get();
      if (now === null || isReading.get() || error.get() !== null) return false;
      const place = Math.min(Math.max(1, seq), endSeq);
      if (now.fromSeq <= place && place <= now.toSeq) return true;
      void run(async () => {
        const first = await before(read, place);
        const second = await following(read, place + 1, endSeq);
        isPinned = second.toSeq >= endSeq;
        loaded.set(joined(first, second, "first"));
      });
      return false;
    },
    toEnd(endSeq) {
      if ((loaded.get()?.toSeq ?? 0) < endSeq) void begin(endSeq);
    },
    within([fromSeq, toSeq]) {
      void run(async () => {
        const found = await read({ fromSeq, toSeq, limit: filledEvents });
        const now = loaded.get();
        if (now === null) return;
        const others = now.events.filter(({ seq }) => seq < fromSeq || seq > toSeq);
        const events = [...others, ...found].toSorted((a, b) => a.seq - b.seq);
        loaded.set({ ...now, events });
      });
    },
  };
}
