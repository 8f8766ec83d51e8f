/**
 * Places in the feed that stand for single events. A store gives a position for each page; a place is the
 * position before the page, and the last event of it that was given out. Whoever goes on reads the page again
 * and leaves out what comes up to that event. Where the event is gone meanwhile, some are given twice, and
 * none is left out.
 */
import { SkeinError } from "../core/error.ts";
import { isSessionId, isWorkspaceId, type LogId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { Engine } from "../runtime/engine.ts";
import type { Event } from "../runtime/event-reader.ts";
import { eventFrame, SharedFrame } from "./sink.ts";

export interface FeedPlace {
  /** The store's own; null is the beginning. */
  readonly after: string | null;
  /** The last event after that position that was given out; null when none was. */
  readonly last: { readonly session: LogId; readonly seq: number } | null;
}

const mark = "~";

export const placeText = ({ after, last }: FeedPlace): string =>
  last === null ? (after ?? "") : [after ?? "", last.session, last.seq].join(mark);

export function parsePlace(text: string | undefined): FeedPlace {
  if (text === undefined || text === "") return { after: null, last: null };
  const [after = "", session, seq, more] = text.split(mark);
  const position = after === "" ? null : after;
  if (session === undefined) return { after: position, last: null };
  const isLog = isSessionId(session) || isWorkspaceId(session);
  if (isLog && seq !== undefined && /^[1-9]\d{0,14}$/.test(seq) && more === undefined)
    return { after: position, last: { session, seq: Number(seq) } };
  throw new SkeinError("invalid", "after: that is no position of the feed", {
    hint: "give the position, or the id of an event, as it was received",
    field: "after",
  });
}

/** Throws when it is no place of the feed, or is one that is not there (any more). */
export async function checkPlace(engine: Engine, text: string, field = "after"): Promise<void> {
  try {
    await findPlace(engine, text);
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "invalid") throw error;
    throw new SkeinError("invalid", error.message, { hint: error.hint, field, cause: error });
  }
}

async function findPlace(engine: Engine, text: string): Promise<void> {
  const { after, last } = parsePlace(text);
  const { store } = Engine.contextOf(engine);
  const { records } = await store.feed(after, 1);
  const end = after === null || records.length > 0 ? null : await store.feedEnd();
  if (after !== null && end !== null && isPast(after, end)) {
    throw new SkeinError("invalid", `after: the feed ends at ${end}, and has no position ${after}`, {
      hint: setBack,
    });
  }
  const head = last === null ? undefined : await store.head(last.session);
  if (last === null || head === undefined || head.seq >= last.seq) return;
  throw new SkeinError("invalid", `after: ${last.session} is at ${head.seq}, and has no event ${last.seq}`, {
    hint: setBack,
  });
}

const setBack = "the store may have been set back; read the feed again from the beginning";

/** A position begins with the number of a record, or of a transaction; what follows lies before the next. */
function isPast(after: string, end: string): boolean {
  const [found, last] = [after, end].map((position) => /^\d+/.exec(position)?.[0]);
  return found !== undefined && last !== undefined && BigInt(found) > BigInt(last);
}

/** An event of the feed with its own place, written out when the first reader is given it. */
export class FeedEntry {
  readonly event: Event;
  readonly place: string;
  #frame: SharedFrame | null = null;

  constructor(event: Event, after: string | null) {
    this.event = event;
    this.place = placeText({ after, last: { session: event.session, seq: event.seq } });
  }

  get frame(): SharedFrame {
    this.#frame ??= new SharedFrame(eventFrame(this.event, this.place));
    return this.#frame;
  }
}

export interface FeedStep {
  /** What is new. */
  readonly entries: readonly FeedEntry[];
  /** Where to go on. */
  readonly next: FeedPlace;
  /** Whether there may be more right now. */
  readonly more: boolean;
}

/** One page on from a place. */
export async function stepFeed(engine: Engine, place: FeedPlace, count: number): Promise<FeedStep> {
  const { after, last } = place;
  // The event that was given out last must be met again.
  const most = last === null ? count : limit.pageRecordsMax;
  const page = await engine.feed({ ...(after === null ? {} : { after }), limit: most });
  const known =
    last === null
      ? -1
      : page.events.findIndex(({ session, seq }) => session === last.session && seq === last.seq);
  const entries = page.events.slice(known + 1).map((event) => new FeedEntry(event, after));
  return { entries, next: { after: page.position, last: null }, more: page.events.length > 0 };
}

const pageUsual = 100;

/** A page of the feed as JSON. */
export async function readFeed(
  engine: Engine,
  params: { readonly after?: string; readonly limit?: number; readonly family?: string },
): Promise<unknown> {
  const count = Math.min(params.limit ?? pageUsual, limit.pageRecordsMax);
  const family = params.family === undefined ? null : await familyOf(engine, params.family);
  const { entries, next } = await stepFeed(engine, parsePlace(params.after), count);
  // Whoever knows more than there is would ask for ever.
  if (entries.length === 0 && params.after !== undefined) await checkPlace(engine, params.after);
  const wanted = entries.map(({ event }) => event).filter((event) => family?.has(event) ?? true);
  return { events: wanted, position: placeText(next) };
}

export interface Family {
  /** Whether an event is of one of the family, or says that one was deleted; a fork of one becomes one. */
  has(event: Event): boolean;
  includes(session: string): boolean;
}

/** A session, what it was forked from, and all their forks, now and later. */
export async function familyOf(engine: Engine, idOrEnding: string): Promise<Family> {
  const { nodes } = await engine.lineage(idOrEnding);
  const members = new Set<string>(nodes.map(({ session }) => session));
  return {
    includes: (session) => members.has(session),
    has(event) {
      if (event.type === "session.forked" && members.has(parentIn(event.body))) members.add(event.session);
      return members.has(event.type === "session.deleted" ? sessionIn(event.body) : event.session);
    },
  };
}

const parentIn = (body: unknown): string => textIn(body, "parent");
const sessionIn = (body: unknown): string => textIn(body, "session");

function textIn(body: unknown, name: string): string {
  const value = (body as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof value === "string" ? value : "";
}
