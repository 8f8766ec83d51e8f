/** Lists of a session's events, in pages whose cursor is a position. */
import type { SessionEvent } from "../../core/event.ts";
import { includes } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { projectedTypes, EventProjection, type ClaudeEvent } from "./project.ts";
import { invalid, limitOf, listIn, rangeIn, type Fields } from "./values.ts";

/** The state before a position; null before the first. */
export const stateBefore = async (session: Session, seq: number): Promise<State | null> =>
  seq <= 1 ? null : session.fold({ atSeq: seq - 1 });

/** A queued message has no time at which it was processed. */
export function markQueued(events: ClaudeEvent[], event: SessionEvent, { standing }: State): ClaudeEvent[] {
  if (event.type !== "input.received") return events;
  const { input } = event.body as { readonly input: number };
  return includes(standing.inbox.waiting, input)
    ? events.map((one) => ({ ...one, processed_at: null }))
    : events;
}

/** What the record at a position became. */
export async function readProjected(session: Session, seq: number): Promise<ClaudeEvent[]> {
  const head = await session.fold();
  const projection = new EventProjection(session.id, await stateBefore(session, seq));
  for await (const event of session.events({ fromSeq: seq, toSeq: Math.min(seq, head.seq) }))
    return markQueued(projection.push(event), event, head);
  return [];
}

/** A page of `GET /v1/sessions/{id}/events`. */
export async function listEvents(session: Session, query: URLSearchParams): Promise<Fields> {
  const limit = limitOf(query, 100, 1_000);
  const order = query.get("order") ?? "asc";
  if (order !== "asc" && order !== "desc") throw invalid('order: expected "asc" or "desc"');
  const types = listIn(query, "types");
  const isIn = rangeIn(query, "created_at");
  const isWanted = ({ type, processed_at: at }: ClaudeEvent): boolean =>
    (types === null || types.includes(type)) && (typeof at !== "string" || isIn(Date.parse(at)));
  const cursor = cursorOf(query.get("page"));
  const read = order === "asc" ? readAscending : readDescending;
  const { data, next } = await read(session, { cursor, limit, isWanted });
  return { data, next_page: next };
}

interface EventQuery {
  readonly cursor: number | null;
  readonly limit: number;
  readonly isWanted: (event: ClaudeEvent) => boolean;
}

interface EventPage {
  readonly data: readonly ClaudeEvent[];
  readonly next: string | null;
}

const cursorText = (seq: number): string => `seq_${seq}`;

function cursorOf(page: string | null): number | null {
  if (page === null || page === "") return null;
  const [, seq] = /^seq_([1-9]\d{0,14})$/.exec(page) ?? [];
  if (seq === undefined) throw invalid("page: expected next_page of a page before");
  return Number(seq);
}

/** A page ends between records: one that becomes several events is not torn. */
async function readAscending(session: Session, { cursor, limit, isWanted }: EventQuery): Promise<EventPage> {
  const head = await session.fold();
  const fromSeq = cursor ?? 1;
  const data: ClaudeEvent[] = [];
  if (fromSeq > head.seq) return { data, next: null };
  const projection = new EventProjection(session.id, await stateBefore(session, fromSeq));
  for await (const event of session.events({ fromSeq, toSeq: head.seq, types: projectedTypes })) {
    const isFull = data.length >= limit && !projection.isHolding;
    if (isFull) return { data, next: cursorText(event.seq) };
    data.push(...markQueued(projection.push(event), event, head).filter(isWanted));
  }
  return { data, next: null };
}

const chunkRecords = 500;

/** Backwards in pieces, each read forwards. */
async function readDescending(session: Session, { cursor, limit, isWanted }: EventQuery): Promise<EventPage> {
  const head = await session.fold();
  let toSeq = cursor === null ? head.seq : Math.min(cursor, head.seq);
  const data: ClaudeEvent[] = [];
  while (toSeq >= 1) {
    const fromSeq = await safeStart(session, Math.max(1, toSeq - chunkRecords + 1));
    const projection = new EventProjection(session.id, await stateBefore(session, fromSeq));
    const bySeq: { readonly seq: number; readonly events: ClaudeEvent[] }[] = [];
    // What is held at the end came with a later record, on the page before.
    for await (const event of session.events({ fromSeq, toSeq, types: projectedTypes }))
      bySeq.push({
        seq: event.seq,
        events: markQueued(projection.push(event), event, head).filter(isWanted),
      });
    for (const { seq, events } of bySeq.toReversed()) {
      if (data.length >= limit) return { data, next: cursorText(seq) };
      data.push(...events.toReversed());
    }
    toSeq = fromSeq - 1;
  }
  return { data, next: null };
}

const groupTypes: readonly string[] = ["tool.requested", "tool.denied", "tool.settled"];

/** The nearest position from here down before which no request of a call is held. */
export async function safeStart(session: Session, seq: number): Promise<number> {
  if (seq <= 1) return 1;
  for await (const event of session.events({ toSeq: seq - 1, reverse: true }))
    if (!groupTypes.includes(event.type)) return event.seq + 1;
  return 1;
}
