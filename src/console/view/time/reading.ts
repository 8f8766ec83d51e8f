/** What the timeline reads of a log: its marks, one event, and the turn before or after a position. */
import { useEffect, useMemo, useRef, useState } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { useCell } from "../../signal.ts";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { EventLog } from "../session/event-log.ts";
import { useScope } from "../session/scope.ts";
import { latestReader, type LatestReader } from "./latest.ts";
import { markedTypes, markOf, marksMax, turnsMax, turnTypes, type TimelineMark } from "./marks.ts";

type EventsOptions = NonNullable<Parameters<RemoteSession["events"]>[0]>;

async function gathered(session: RemoteSession, options: EventsOptions): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events(options)) events.push(event);
  return events;
}

interface MarkedEntry {
  readonly toSeq: number;
  readonly marks: readonly TimelineMark[];
}

/** By type and in small numbers: never the whole log. */
async function readMarks(session: RemoteSession, toSeq: number): Promise<MarkedEntry> {
  const [turns, others, { nodes }] = await Promise.all([
    gathered(session, { types: turnTypes, toSeq, limit: turnsMax + 1 }),
    gathered(session, { types: markedTypes, toSeq, reverse: true, limit: marksMax }),
    session.lineage(),
  ]);
  const shown = turns.length > turnsMax ? others : [...turns, ...others];
  const forks = nodes.flatMap(({ parent, name, objective }): TimelineMark[] => {
    if (parent?.session !== session.id) return [];
    const what = brief(name ?? objective ?? "", 80);
    return [{ seq: parent.seq, kind: "fork", words: what === "" ? "Fork" : `Fork: ${what}` }];
  });
  return { toSeq, marks: [...shown.flatMap((event) => markOf(event) ?? []), ...forks] };
}

/** Their cache key: a change made here reads them again, a live event adds to them. */
export const marksKey = (id: string): string => `marks/${id}`;

export function useMarks(): readonly TimelineMark[] {
  const { id, session, log } = useScope();
  const { value } = useReading(marksKey(id), () => readMarks(session, log.headSeq.get()));
  const version = useCell(log.version);
  const known = useRef<readonly TimelineMark[]>([]);
  return useMemo(() => {
    const marks = value === undefined ? [] : [...value.marks, ...heardSince(log, value.toSeq)];
    // Loading other parts of the log changes nothing here.
    const isSame = marks.length === known.current.length && marks[0] === known.current[0];
    if (!isSame) known.current = marks;
    return known.current;
  }, [value, log, version]);
}

const heardMax = 2_000;

function heardSince(log: EventLog, toSeq: number): readonly TimelineMark[] {
  const marks: TimelineMark[] = [];
  const headSeq = log.headSeq.get();
  for (let seq = Math.max(toSeq + 1, headSeq - heardMax); seq <= headSeq; seq++) {
    const event = log.peek(seq);
    const mark = event === undefined ? null : markOf(event);
    if (mark !== null) marks.push(mark);
  }
  return marks;
}

/** The event at a position. While a slider is dragged it is read alone; at rest, with its neighbors. */
export function useEventAt(seq: number, isDrawn: boolean): SessionEvent | undefined {
  const { session, log } = useScope();
  useCell(log.version);
  const [single, setSingle] = useState<SessionEvent | null>(null);
  const reader = useMemo(
    (): LatestReader<SessionEvent | undefined> =>
      latestReader({
        load: async (place) => (await gathered(session, { fromSeq: place, toSeq: place }))[0],
        tell: (_, event) => setSingle(event ?? null),
        // The state at the same position reports it.
        fail: () => undefined,
      }),
    [session],
  );
  const known = log.peek(seq) ?? (single?.seq === seq ? single : undefined);
  useEffect(() => {
    if (log.peek(seq) !== undefined) return;
    if (isDrawn) reader.ask(seq);
    else log.at(seq);
  }, [log, reader, seq, isDrawn]);
  return known;
}

/** Bookkeeping: these events do not say what the session did. */
const bookkeeping = /^(?:lease|turn|tools|zone|model\.requested|content|session\.labeled)\b/;
const searchedMax = 30;

/** The last event that says what the session did: not a lease, nor the end of a turn. */
export function useLastNotable(headSeq: number): SessionEvent | undefined {
  const { log } = useScope();
  useCell(log.version);
  const last = log.at(headSeq);
  for (let seq = headSeq; seq > Math.max(0, headSeq - searchedMax); seq--) {
    const event = log.peek(seq);
    if (event !== undefined && !bookkeeping.test(event.type)) return event;
  }
  return last;
}

/** The start of the turn before or after a position; null if there is none. */
export async function turnFrom(session: RemoteSession, seq: number, step: 1 | -1): Promise<number | null> {
  const range = step === 1 ? { fromSeq: seq + 1 } : { toSeq: Math.max(1, seq - 1), reverse: true };
  if (step === -1 && seq <= 1) return null;
  const [found] = await gathered(session, { types: turnTypes, limit: 1, ...range });
  return found?.seq ?? null;
}

/** The last request at or before a position: what the model was sent there. */
export async function requestBefore(session: RemoteSession, seq: number): Promise<number | null> {
  const range = { types: ["model.requested"], toSeq: seq, reverse: true, limit: 1 };
  const [found] = await gathered(session, range);
  return found?.seq ?? null;
}

/** The number of events of some types after a position, up to a limit. */
export async function countAfter(
  session: RemoteSession,
  seq: number,
  types: readonly string[],
  most: number,
): Promise<number> {
  return (await gathered(session, { types, fromSeq: seq + 1, limit: most })).length;
}
