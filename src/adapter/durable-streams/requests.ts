/** Requests to `/streams/sessions/{id}`: the log of a session as a stream of JSON messages, to read. */
import type { SessionEvent } from "../../core/event.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { readEventsPage } from "../../runtime/read/event-reader.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import type { Sink } from "../../server/stream/sink.ts";
import { decodeName, findStream, putStream } from "./names.ts";
import { makeNamedHandler, StreamError } from "./named-requests.ts";
import { cursorAt, offsetOf, readRequest, type ReadRequest } from "./offset.ts";
import { reply } from "./reply.ts";
import { NamedStreams } from "./named-streams.ts";
import { makeSubscriptionHandler } from "./subscription-requests.ts";
import type { WakeDeps } from "./subscription-wake.ts";
import { Subscriptions } from "./subscriptions.ts";
import { withTimeout } from "./timeout.ts";

/** How long a live read lasts, and how many events an answer has at most. */
interface Limits {
  readonly longPollMs: number;
  readonly sseMs: number;
  readonly eventsMax: number;
}

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;

interface Chunk {
  readonly events: readonly SessionEvent[];
  /** The position of the last event so far. */
  readonly seq: number;
  readonly isUpToDate: boolean;
}

const jsonType = { "content-type": "application/json" };
const exposed = [
  "Stream-Next-Offset, Stream-Cursor, Stream-Up-To-Date, Stream-SSE-Data-Encoding, ETag, Location",
  "Stream-Closed, Stream-TTL, Stream-Expires-At, Producer-Epoch, Producer-Seq",
  "Producer-Expected-Seq, Producer-Received-Seq",
].join(", ");

/** Answers requests; a live read ends after so long, and the client continues with the next one. */
export function makeStreamHandler(limits: Limits, deps: WakeDeps = noPush()) {
  const answerNamed = makeNamedHandler(limits, deps.streams);
  const answerSubscription = makeSubscriptionHandler(deps);
  return async (given: MountRequest): Promise<void> => {
    const request = withHeaders(given);
    try {
      if (/^\/v1\/stream\/__ds(\/|$)/.test(given.path)) await answerSubscription(request);
      else await (given.path.startsWith("/v1/stream/") ? answerNamed(request) : answer(request, limits));
    } catch (error) {
      sendError(request, error);
    }
  };
}

/** For a server that calls no webhooks of clients. */
function noPush(): WakeDeps {
  const streams = new NamedStreams();
  return { streams, subscriptions: new Subscriptions(streams), push: null };
}

/** Pages of allowed origins may read the protocol's headers, and use the answer. */
function withHeaders(given: MountRequest): MountRequest {
  const cors = given.headers["access-control-allow-origin"] === undefined ? null : "cross-origin";
  const more = cors === null ? {} : { "access-control-expose-headers": exposed };
  const policy = cors === null ? {} : { "cross-origin-resource-policy": cors };
  return { ...given, headers: { ...given.headers, ...more, ...policy } };
}

function sendError(given: MountRequest, error: unknown): void {
  if (given.response.headersSent) {
    given.response.end();
    return;
  }
  if (error instanceof StreamError) {
    const { status, message, headers } = error;
    return reply(given, status, headers, JSON.stringify({ code: "conflict", message }));
  }
  const problem = given.problemOf(error);
  const { detail: message, code, hint, status } = problem;
  const allowed = code === "wrong-method" ? allow : {};
  const body = { code, message, ...(hint === undefined ? {} : { hint }) };
  reply(given, status, { ...given.problemHeaders(problem), ...allowed }, JSON.stringify(body));
}

const allow = { allow: "GET, HEAD, PUT" };

async function answer(given: MountRequest, limits: Limits): Promise<void> {
  const [, kind, part = "", ...rest] = given.path.split("/");
  if (kind !== "sessions" || part === "" || rest.length > 0) {
    throw new ProblemError(makeProblem("no-route", "no such route", { hint: "GET /streams/sessions/{id}" }));
  }
  const name = decodeName(part);
  const { method = "GET" } = given.request;
  const about = isSessionId(name) ? { session: name } : {};
  if (method === "PUT") {
    // A fork of a session by its name is a second session: a token for one session makes none.
    const { engine } = await given.authorize({ scope: "write" });
    const body = await given.readBytes(65_536);
    if (body.length > 0) throw new SkeinError("invalid", "streams: expected no body: sessions are read-only");
    const { session, isNew } = await putStream(engine, name, given.request.headers);
    const { seq } = await session.head();
    const location = `${given.url}/streams/sessions/${session.id}`;
    const headers = { ...jsonType, location, "stream-next-offset": offsetOf(seq) };
    return reply(given, isNew ? 201 : 200, headers);
  }
  const caller = await given.authorize({ scope: "read", ...about });
  if (method !== "GET" && method !== "HEAD") {
    const hint = "write to a session with its own calls: POST /v1/sessions/{id}/ask";
    throw new ProblemError(
      makeProblem("wrong-method", `streams: ${method} is not allowed: a log is read-only`, { hint }),
    );
  }
  const session = await findStream(caller.engine, name);
  if (session === null) throw new SkeinError("not-found", "streams: no such stream");
  if (method === "HEAD") {
    const { seq } = await session.head();
    return reply(given, 200, { ...jsonType, "stream-next-offset": offsetOf(seq) });
  }
  await read(given, caller, { session, request: readRequest(given.query), limits });
}

interface StreamRead {
  readonly session: Session;
  readonly request: ReadRequest;
  readonly limits: Limits;
}

async function read(
  given: MountRequest,
  caller: Caller,
  { session, request, limits }: StreamRead,
): Promise<void> {
  const { live, cursor } = request;
  const { seq: headSeq, hash } = await session.head();
  const afterSeq = request.afterSeq === "now" ? headSeq : request.afterSeq;
  if (afterSeq > headSeq) throw new SkeinError("invalid", "streams: offset: beyond the end of the stream");
  const { engine } = caller;
  const nowMs = (): number => internalsOf(engine).world.now();
  if (live === "sse") {
    const state = { session, afterSeq, cursor, limits };
    const write = (sink: Sink): Promise<void> =>
      withTimeout(engine, limits.sseMs, sink.signal, (until) => writeEvents(sink, engine, state, until));
    return given.stream(caller, write, given.headers);
  }
  const cursorHeader = live === null ? {} : { "stream-cursor": cursorAt(nowMs(), cursor) };
  if (live === "long-poll" && afterSeq === headSeq) {
    const signal = AbortSignal.any([given.gone, given.stopping]);
    const isMore = await withTimeout(engine, limits.longPollMs, signal, (until) =>
      waitFor(session, afterSeq, until),
    );
    if (given.gone.aborted) return;
    if (!isMore) {
      const headers = { "stream-next-offset": offsetOf(afterSeq), "stream-up-to-date": "true" };
      return reply(given, 204, { ...headers, ...cursorHeader });
    }
    // The token may have been revoked meanwhile.
    await given.authorize({ scope: "read", session: session.id });
  }
  const chunk = await readChunk(engine, session, afterSeq, limits.eventsMax);
  const etag = `"${offsetOf(afterSeq)}-${offsetOf(chunk.seq)}-${hash.slice(0, 16)}"`;
  const headers = {
    ...cursorHeader,
    "stream-next-offset": offsetOf(chunk.seq),
    ...(chunk.isUpToDate ? { "stream-up-to-date": "true" } : {}),
    ...(live === null && request.afterSeq !== "now" ? { etag, "cache-control": "private, no-cache" } : {}),
  };
  if ("etag" in headers && given.request.headers["if-none-match"] === etag) return reply(given, 304, headers);
  reply(given, 200, headers, JSON.stringify(chunk.events));
}

/** Waits for an event after a position. False when the signal came first. */
async function waitFor(session: Session, afterSeq: number, signal: AbortSignal): Promise<boolean> {
  for await (const _ of session.events({ fromSeq: afterSeq + 1, follow: true, signal })) return true;
  return false;
}

async function readChunk(
  engine: Engine,
  session: Session,
  afterSeq: number,
  eventsMax: number,
): Promise<Chunk> {
  const { store } = internalsOf(engine);
  const range = { fromSeq: afterSeq + 1, limit: eventsMax };
  const { events, next } = await readEventsPage(store, session.id, range);
  return { events, seq: events.at(-1)?.seq ?? afterSeq, isUpToDate: next === null };
}

interface Live {
  readonly session: Session;
  readonly afterSeq: number;
  readonly cursor: string | null;
  readonly limits: Limits;
}

/** Each chunk is followed by where it ends. The client reconnects when the time is over. */
async function writeEvents(sink: Sink, engine: Engine, live: Live, signal: AbortSignal): Promise<void> {
  const { world } = internalsOf(engine);
  const { session, limits } = live;
  let { afterSeq, cursor } = live;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const { events, seq, isUpToDate } = await readChunk(engine, session, afterSeq, limits.eventsMax);
    afterSeq = seq;
    cursor = cursorAt(world.now(), isFirst ? cursor : null);
    const upToDate = isUpToDate ? { upToDate: true } : {};
    const control = { streamNextOffset: offsetOf(seq), streamCursor: cursor, ...upToDate };
    await sink.drained();
    // JSON has no line breaks, so no text can end its frame.
    if (events.length > 0) sink.write(`event: data\ndata: ${JSON.stringify(events)}\n\n`);
    if (events.length > 0 || isFirst) sink.write(`event: control\ndata: ${JSON.stringify(control)}\n\n`);
    if (isUpToDate) await waitFor(session, afterSeq, signal);
  }
}
