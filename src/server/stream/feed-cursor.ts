/**
 * Cursors of the feed for single events. A store returns a position for each page; a cursor is the position
 * before the page, and its last delivered event, with the first digits of its hash: after a rollback of the
 * store another event may have its number. To resume, the page is read again without the events up to that
 * one. Where that event no longer exists, some are delivered twice, and none is left out.
 */
import { SkeinError } from "../../core/error.ts";
import { isSessionId, isSharedLogId, type LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { originIn } from "../../core/branch/origin.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { FeedEvents } from "../../runtime/read/event-reader.ts";
import { eventFrame, SharedFrame } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface FeedPlace {
  /** The store's own position; null is the beginning. */
  readonly after: string | null;
  /** The last delivered event after that position; null when there is none. */
  readonly last: LastEvent | null;
}

interface LastEvent {
  readonly session: LogId;
  readonly seq: number;
  /** The first digits of its hash; empty in cursors of 0.4. */
  readonly hash: string;
}

const mark = "~";
const hashDigits = 8;

export const lastOf = ({ session, seq, hash }: LastEvent): LastEvent => ({
  session,
  seq,
  hash: hash.slice(0, hashDigits),
});

export const isLast = (event: LastEvent, last: LastEvent): boolean =>
  event.session === last.session && event.seq === last.seq && event.hash.startsWith(last.hash);

export function placeText({ after, last }: FeedPlace): string {
  if (last === null) return after ?? "";
  const { session, seq, hash } = last;
  return [after ?? "", session, seq, ...(hash === "" ? [] : [hash])].join(mark);
}

export function parsePlace(text: string | undefined): FeedPlace {
  if (text === undefined || text === "") return { after: null, last: null };
  const [after = "", session, seq, hash = "", more] = text.split(mark);
  const position = after === "" ? null : after;
  if (session === undefined) return { after: position, last: null };
  const isLog = isSessionId(session) || isSharedLogId(session);
  const isSeq = seq !== undefined && /^[1-9]\d{0,14}$/.test(seq);
  if (isLog && isSeq && /^([0-9a-f]{8})?$/.test(hash) && more === undefined)
    return { after: position, last: { session, seq: Number(seq), hash } };
  throw new SkeinError("invalid", "after: expected a position of the feed", {
    hint: "pass a position or an event id as it was received",
    field: "after",
  });
}

export interface FeedResume {
  readonly place: FeedPlace;
  /** The store was rolled back since the cursor was given out: later events are sent again. */
  readonly rolledBack: boolean;
}

/** Where a reader continues. Throws for an invalid cursor, or one whose history is unknown. */
export async function resumePlace(engine: Engine, text: string, field = "after"): Promise<FeedResume> {
  try {
    return await findPlace(engine, text);
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "invalid") throw error;
    throw new SkeinError("invalid", error.message, { hint: error.hint, field, cause: error });
  }
}

async function findPlace(engine: Engine, text: string): Promise<FeedResume> {
  const place = parsePlace(text);
  const { after, last } = place;
  const { store } = internalsOf(engine);
  const { rolledBackTo } = await store.feed(after, 1);
  if (rolledBackTo !== undefined) {
    if (rolledBackTo === null && !isNamed(after)) throw await pastEnd(engine, after);
    return { place: { after: rolledBackTo, last: null }, rolledBack: true };
  }
  if (last === null || (await isThere(engine, last))) return { place, rolledBack: false };
  if (last.hash === "") throw await pastHead(engine, last);
  return { place: { after, last: null }, rolledBack: true };
}

/** True when a position names a record. For positions of 0.4 it is unknown where histories diverge. */
const isNamed = (position: string | null): boolean => position?.includes("!") === true;

async function pastEnd(engine: Engine, after: string | null): Promise<SkeinError> {
  const end = await internalsOf(engine).store.feedEnd();
  return new SkeinError("invalid", `after: position ${after} does not exist; the feed ends at ${end}`, {
    hint: rollbackHint,
  });
}

async function pastHead(engine: Engine, { session, seq }: LastEvent): Promise<SkeinError> {
  const head = (await internalsOf(engine).store.head(session))?.seq;
  return new SkeinError(
    "invalid",
    `after: event ${seq} does not exist in ${session}, which ends at ${head}`,
    {
      hint: rollbackHint,
    },
  );
}

const rollbackHint = "the store may have been rolled back; read the feed again from the start";

/** A deleted session has no events, and none is sent again. */
async function isThere(engine: Engine, { session, seq, hash }: LastEvent): Promise<boolean> {
  const { store } = internalsOf(engine);
  if ((await store.head(session)) === undefined) return true;
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record?.hash.startsWith(hash) === true;
}

/** An event of the feed with its own cursor, encoded for its first reader. */
export class FeedEntry {
  readonly event: SessionEvent;
  readonly place: string;
  #frame: SharedFrame | null = null;

  constructor(event: SessionEvent, after: string | null) {
    this.event = event;
    this.place = placeText({ after, last: lastOf(event) });
  }

  get frame(): SharedFrame {
    this.#frame ??= new SharedFrame(eventFrame(this.event, this.place));
    return this.#frame;
  }
}

export interface FeedStep {
  /** New events. */
  readonly entries: readonly FeedEntry[];
  /** Where to continue. */
  readonly next: FeedPlace;
  /** True when there may be more right now. */
  readonly more: boolean;
  /** Present after a rollback of the store: where the entries start. */
  readonly rolledBackTo?: string | null;
}

/** The next page after a cursor. */
export async function stepFeed(engine: Engine, place: FeedPlace, count: number): Promise<FeedStep> {
  const { after, last } = place;
  // The last delivered event must be found again.
  const most = last === null ? count : limit.pageRecordsMax;
  const page: FeedEvents = await engine.feed({ ...(after === null ? {} : { after }), limit: most });
  const { rolledBackTo } = page;
  const known = last === null ? -1 : page.events.findIndex((event) => isLast(event, last));
  const start = rolledBackTo === undefined ? after : rolledBackTo;
  const entries = page.events.slice(known + 1).map((event) => new FeedEntry(event, start));
  return {
    entries,
    next: { after: page.position, last: null },
    more: page.events.length > 0,
    ...(rolledBackTo === undefined ? {} : { rolledBackTo }),
  };
}

const pageUsual = 100;

/** A page of the feed as JSON. */
export async function readFeed(
  engine: Engine,
  params: { readonly after?: string; readonly limit?: number; readonly family?: string },
): Promise<unknown> {
  const count = Math.min(params.limit ?? pageUsual, limit.pageRecordsMax);
  const family = params.family === undefined ? null : await familyOf(engine, params.family);
  const { place, rolledBack } = await resumePlace(engine, params.after ?? "");
  const { entries, next } = await stepFeed(engine, place, count);
  const wanted = entries.map(({ event }) => event).filter((event) => family?.has(event) ?? true);
  const page = { events: wanted, position: placeText(next) };
  return rolledBack ? { ...page, rolledBackTo: place.after } : page;
}

export interface FamilyFilter {
  /** True when an event belongs to the family, or deletes a member. A new relative becomes part of it. */
  has(event: SessionEvent): boolean;
  includes(session: string): boolean;
}

/** A session and its relatives (runtime/read/family.ts), now and later. */
export async function familyOf(engine: Engine, idOrEnding: string): Promise<FamilyFilter> {
  const { nodes } = await engine.lineage(idOrEnding);
  const members = new Set<string>(nodes.map(({ session }) => session));
  return {
    includes: (session) => members.has(session),
    has(event) {
      if (members.has(originIdOf(event))) members.add(event.session);
      return members.has(event.type === "session.deleted" ? sessionIn(event.body) : event.session);
    },
  };
}

/** Empty: it is not the first record of a session, or a person opened that one. */
function originIdOf({ type, body }: SessionEvent): string {
  if (type === "session.forked") return textIn(body, "parent");
  return type === "session.opened" ? (originIn(body)?.session ?? "") : "";
}

const sessionIn = (body: unknown): string => textIn(body, "session");

function textIn(body: unknown, name: string): string {
  const value = (body as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof value === "string" ? value : "";
}
