/**
 * The source of log rows: all events, from the log by position; or some, from pages read backwards from the
 * newest, plus live events.
 */
import { useCallback, useEffect, useMemo, useState } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { cell, useCell, type Cell } from "../../signal.ts";
import { showError } from "../../ui/toast.tsx";
import type { SessionEvent } from "../../../core/event.ts";
import type { EventLog } from "../session/event-log.ts";
import { useScope } from "../session/scope.ts";
import { useSettled } from "../time/context-reading.ts";
import { holds, isAll, type LogFilter } from "./filter.ts";

export interface LogRows {
  readonly count: number;
  /** The row of a position, or the one before it. */
  placeOf(seq: number): number;
  readonly seqOf: (place: number) => number;
  /** Undefined while loading. */
  eventOf(place: number): SessionEvent | undefined;
  /** How many events were searched; null: all. */
  readonly looked: number | null;
  readonly isReading: boolean;
  /** Reads older ones; null if there are none. */
  readonly more: (() => void) | null;
}

const pageEvents = 500;
const settleMs = 150;

interface GatheredRows {
  /** Ascending. */
  readonly events: readonly SessionEvent[];
  readonly isWhole: boolean;
  readonly isReading: boolean;
}

/** The events of some types, from the newest back. */
interface TypedEvents {
  readonly gathered: Cell<GatheredRows>;
  more(): void;
  hear(log: EventLog): Promise<void>;
}

function gathering(session: RemoteSession, types: readonly string[], toSeq: number): TypedEvents {
  const gathered = cell<GatheredRows>({ events: [], isWhole: false, isReading: false });
  const wanted = types.length === 0 ? {} : { types };
  let heardTo = toSeq;

  async function read(): Promise<void> {
    const { events: known, isWhole, isReading } = gathered.get();
    if (isWhole || isReading) return;
    gathered.set({ ...gathered.get(), isReading: true });
    const before = (known[0]?.seq ?? toSeq + 1) - 1;
    const older: SessionEvent[] = [];
    const range = { toSeq: before, reverse: true, limit: pageEvents };
    try {
      if (before >= 1) for await (const event of session.events({ ...wanted, ...range })) older.push(event);
      const { events } = gathered.get();
      const isLast = older.length < pageEvents;
      gathered.set({ events: [...older.toReversed(), ...events], isWhole: isLast, isReading: false });
    } catch (error) {
      gathered.set({ ...gathered.get(), isReading: false });
      showError(error);
    }
  }

  return {
    gathered,
    more: () => void read(),
    async hear(log) {
      const [from, to] = [heardTo + 1, log.headSeq.get()];
      if (to < from) return;
      heardTo = to;
      const heard = await log.read(from, to);
      const fits = heard.filter(({ type }) => types.length === 0 || types.includes(type));
      const { events, ...rest } = gathered.get();
      if (fits.length > 0) gathered.set({ ...rest, events: [...events, ...fits] });
    },
  };
}

const empty = cell<GatheredRows>({ events: [], isWhole: true, isReading: false });

export function useRows(filter: LogFilter): LogRows {
  const { session, log, at: place } = useScope();
  const headSeq = useCell(log.headSeq);
  const version = useCell(log.version);
  const all = isAll(filter);
  // While a slider is dragged, filtering would search again at every position.
  const settled = useSettled(place, settleMs);
  const at = all ? place : settled;
  const types = filter.types.join(",");
  const some = useMemo(
    () => (all ? null : gathering(session, filter.types, at ?? log.headSeq.get())),
    [session, log, all, types, at],
  );
  useEffect(() => some?.more(), [some]);
  useEffect(() => {
    if (at === null) some?.hear(log).catch(showError);
  }, [some, log, headSeq, at]);
  const gathered = useCell(some?.gathered ?? empty);
  const text = useSlow(filter.text);
  const found = useMemo(
    () => (text === "" ? gathered.events : gathered.events.filter((event) => holds(event, text))),
    [gathered.events, text],
  );
  const seqOfFound = useCallback((place: number) => found[place]?.seq ?? 0, [found]);
  return useMemo(() => {
    if (some === null) return wholeRows(log, headSeq);
    return { ...foundRows(found, gathered, some), seqOf: seqOfFound };
  }, [some, log, version, headSeq, found, gathered]);
}

/** The typed text, one frame later: typing goes first. */
function useSlow(text: string): string {
  const [slow, setSlow] = useState(text);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setSlow(text));
    return () => cancelAnimationFrame(frame);
  }, [text]);
  return slow;
}

const seqOfAll = (place: number): number => place + 1;

function wholeRows(log: EventLog, count: number): LogRows {
  return {
    count,
    placeOf: (seq) => Math.min(count, Math.max(1, seq)) - 1,
    seqOf: seqOfAll,
    eventOf: (place) => log.at(place + 1),
    looked: null,
    isReading: false,
    more: null,
  };
}

function foundRows(
  found: readonly SessionEvent[],
  { events, isWhole, isReading }: GatheredRows,
  some: TypedEvents,
): Omit<LogRows, "seqOf"> {
  return {
    count: found.length,
    placeOf(seq) {
      const place = found.findLastIndex((event) => event.seq <= seq);
      return Math.max(0, place);
    },
    eventOf: (place) => found[place],
    looked: isWhole ? null : events.length,
    isReading,
    more: isWhole ? null : () => some.more(),
  };
}
