/** Requests to `/streams/v1/stream/{name}`: create, append, close, fork and delete. */
import { SkeinError } from "../../core/error.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { isJson, mediaTypeOf, messagesIn, piecesOf, type AppendPiece } from "./named-data.ts";
import {
  contentTypeIn,
  decodeName,
  isClosing,
  offsetOf,
  producerIn,
  readCreateHeaders,
  streamSeqIn,
  type CreateHeaders,
} from "./named-headers.ts";
import { headNamed, readNamed, type ReadLimits } from "./named-read.ts";
import { isSame, judgeProducer, type Producer, type StreamFork, type StreamSettings } from "./named-state.ts";
import type { NamedStream, NamedStreams, StreamAppend } from "./named-streams.ts";
import { reply } from "./reply.ts";

const bodyBytesMax = 16 * 1_048_576;

type Headers = Readonly<Record<string, string>>;

/** Answers a request whose path begins with `/v1/stream/`. */
export function makeNamedHandler(limits: ReadLimits, streams: NamedStreams) {
  return async (given: MountRequest): Promise<void> => {
    const name = decodeName(given.path.slice("/v1/stream/".length));
    // Reserved by the protocol: a stream of that name would hide what a client asks for.
    if (/^__ds(\/|$)/.test(name)) throw new StreamError(404, "__ds: reserved by the protocol");
    const { method = "GET" } = given.request;
    if (method === "GET" || method === "HEAD") {
      const caller = await given.authorize({ scope: "read" });
      const stream = await there(streams, caller.engine, name);
      if (method === "HEAD") return headNamed(given, stream);
      return readNamed(given, caller, { streams, stream, name, limits });
    }
    if (method === "PUT") return put(given, streams, name);
    if (method === "POST") return post(given, streams, name);
    if (method !== "DELETE")
      throw new ProblemError(makeProblem("wrong-method", `streams: ${method} is not allowed`));
    const { engine } = await given.authorize({ scope: "admin" });
    await streams.delete(engine, await there(streams, engine, name));
    reply(given, 204, {});
  };
}

/** The stream, or the error of one that is not there. */
async function there(streams: NamedStreams, engine: Engine, name: string): Promise<NamedStream> {
  const stream = await streams.find(engine, name);
  if (stream === null) throw noStream();
  if (stream.state.isDeleted) throw new StreamError(410, "the stream was deleted");
  return stream;
}

const noStream = (): SkeinError => new SkeinError("not-found", "streams: no such stream");

/** An error with headers of the protocol. */
export class StreamError extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers: Headers = {}) {
    super(`streams: ${message}`);
    this.name = "StreamError";
    this.status = status;
    this.headers = headers;
  }
}

const conflict = (message: string, headers: Headers = {}): StreamError =>
  new StreamError(409, message, headers);

/** What every response says of the stream. */
const tailHeaders = ({ state }: NamedStream): Headers => ({
  "stream-next-offset": offsetOf(state.tailSeq),
  ...(state.isClosed ? { "stream-closed": "true" } : {}),
});

async function put(given: MountRequest, streams: NamedStreams, name: string): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const asked = readCreateHeaders(given.request.headers);
  given.allowSlowBody();
  const bytes = await given.readBytes(bodyBytesMax);
  const found = await streams.find(engine, name);
  if (found?.state.isDeleted === true) throw conflict("the stream was deleted, and has forks");
  const { settings, prefix } = await settingsOf(streams, engine, asked, found);
  if (found !== null) return created(given, found, { settings, isNew: false });
  const type = settings.contentType;
  const isEmpty = bytes.length === 0 || (isJson(type) && messagesIn(bytes).length === 0);
  const write = (pieces: readonly AppendPiece[]): StreamAppend => ({
    pieces,
    closes: false,
    producer: null,
    streamSeq: null,
  });
  const data = [
    ...(prefix.length === 0 ? [] : [write(prefix)]),
    ...(isEmpty ? [] : [write(piecesOf(bytes, type))]),
  ];
  const stream = await streams.create(engine, name, { settings, data });
  if (stream !== null) return created(given, stream, { settings, isNew: true });
  // Another request created it.
  created(given, await there(streams, engine, name), { settings, isNew: false });
}

interface OpenedStream {
  readonly settings: StreamSettings;
  readonly isNew: boolean;
}

function created(given: MountRequest, stream: NamedStream, { settings, isNew }: OpenedStream): void {
  const { isClosed } = stream.state;
  if (!isNew && !isSame({ ...stream.settings, isClosed }, settings))
    throw conflict("the stream exists with another configuration");
  const location = `${given.url}/streams${given.path}`;
  const headers = { "content-type": stream.settings.contentType, ...tailHeaders(stream) };
  reply(given, isNew ? 201 : 200, { ...headers, ...(isNew ? { location } : {}) });
}

/** The whole configuration that a PUT asks for, and of a fork what it begins with. */
async function settingsOf(
  streams: NamedStreams,
  engine: Engine,
  asked: CreateHeaders,
  found: NamedStream | null,
): Promise<{ readonly settings: StreamSettings; readonly prefix: readonly AppendPiece[] }> {
  const { fork, contentType, ...rest } = asked;
  if (fork === null) {
    const type = contentType ?? "application/octet-stream";
    return { settings: { ...rest, contentType: type, fork: null }, prefix: [] };
  }
  const source = await streams.find(engine, fork.name);
  if (source === null) throw new SkeinError("not-found", "streams: Stream-Forked-From: no such stream");
  if (source.state.isDeleted) throw conflict("Stream-Forked-From: the stream was deleted");
  const type = source.settings.contentType;
  if (contentType !== null && mediaTypeOf(contentType) !== mediaTypeOf(type))
    throw conflict(`Content-Type: expected ${type}, as the source has`);
  // Without an offset, a repeated PUT means the fork as it is.
  const known = found?.settings.fork?.source === source.session.id ? found.settings.fork.seq : null;
  const seq = fork.seq ?? known ?? source.state.tailSeq;
  if (seq > source.state.tailSeq)
    throw new SkeinError("invalid", "streams: Stream-Fork-Offset: beyond the end of the stream");
  const place: StreamFork = { source: source.session.id, seq, more: fork.more };
  const isInherited = rest.ttlSeconds === null && rest.expiresAtMs === null;
  const { ttlSeconds, expiresAtMs } = isInherited ? source.settings : rest;
  const settings = { contentType: type, ttlSeconds, expiresAtMs, isClosed: rest.isClosed, fork: place };
  const prefix = found === null ? await prefixOf(streams, source, place) : [];
  return { settings, prefix };
}

/** The part of the append after the fork that the fork has too. */
async function prefixOf(
  streams: NamedStreams,
  source: NamedStream,
  { seq, more }: StreamFork,
): Promise<readonly AppendPiece[]> {
  if (more === 0) return [];
  const type = source.settings.contentType;
  const whole = (await streams.next(source, seq)) ?? Buffer.alloc(0);
  const messages = isJson(type) && whole.length > 0 ? messagesIn(Buffer.from(`[${whole.toString()}]`)) : [];
  if (more > (isJson(type) ? messages.length : whole.length))
    throw new SkeinError("invalid", "streams: Stream-Fork-Sub-Offset: beyond the append after the offset");
  const part = isJson(type) ? Buffer.from(`[${messages.slice(0, more).join(",")}]`) : whole.subarray(0, more);
  return piecesOf(part, type);
}

async function post(given: MountRequest, streams: NamedStreams, name: string): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const { headers } = given.request;
  const producer = producerIn(headers);
  const streamSeq = streamSeqIn(headers);
  const closes = isClosing(headers);
  given.allowSlowBody();
  const bytes = await given.readBytes(bodyBytesMax);
  const check = (stream: NamedStream): { write: StreamAppend | null; result: Producer | null } => {
    if (stream.state.isDeleted) throw new StreamError(410, "the stream was deleted");
    const again = repeated(stream, { producer, closes, isEmpty: bytes.length === 0 });
    if (again !== null) return { write: null, result: again.producer };
    if (bytes.length === 0 && !closes) throw new SkeinError("invalid", "streams: the body is empty");
    const pieces = bytes.length === 0 ? [] : dataOf(stream, bytes, contentTypeIn(headers));
    checkOrder(stream, streamSeq);
    return { write: { pieces, closes, producer, streamSeq }, result: producer };
  };
  const done = await streams.append(engine, name, check);
  if (done === null) throw noStream();
  const { stream, result } = done;
  const isAccepted = result !== null && result === producer && bytes.length > 0;
  const by =
    result === null ? {} : { "producer-epoch": String(result.epoch), "producer-seq": String(result.seq) };
  reply(given, isAccepted ? 200 : 204, { ...tailHeaders(stream), ...by });
}

/** Whether the append was made before. Throws when it cannot be made; null: it is new. */
function repeated(
  stream: NamedStream,
  {
    producer,
    closes,
    isEmpty,
  }: { readonly producer: Producer | null; readonly closes: boolean; readonly isEmpty: boolean },
): { readonly producer: Producer | null } | null {
  const { state } = stream;
  if (state.isClosed) {
    const { closedBy } = state;
    const isSameClose =
      producer !== null &&
      closedBy?.id === producer.id &&
      closedBy.epoch === producer.epoch &&
      closedBy.seq === producer.seq;
    if (isSameClose) return { producer: { ...producer } };
    if (closes && isEmpty && producer === null) return { producer: null };
    throw conflict("the stream is closed", tailHeaders(stream));
  }
  if (producer === null) return null;
  const verdict = judgeProducer(state, producer);
  if (verdict.is === "new") return null;
  if (verdict.is === "duplicate") return { producer: verdict.highest };
  if (verdict.is === "stale")
    throw new StreamError(403, "Producer-Epoch: a newer epoch is at work", {
      "producer-epoch": String(verdict.epoch),
    });
  if (verdict.is === "not-zero")
    throw new SkeinError("invalid", "streams: Producer-Seq: expected 0 at the start of an epoch");
  throw conflict(`Producer-Seq: expected ${verdict.expected}`, {
    "producer-expected-seq": String(verdict.expected),
    "producer-received-seq": String(producer.seq),
  });
}

function dataOf(stream: NamedStream, bytes: Buffer, given: string | null): readonly AppendPiece[] {
  const { contentType } = stream.settings;
  if (given === null) throw new SkeinError("invalid", "streams: Content-Type is required");
  if (mediaTypeOf(given) !== mediaTypeOf(contentType))
    throw conflict(`Content-Type: expected ${contentType}, as the stream has`);
  const pieces = piecesOf(bytes, contentType);
  if (pieces.length === 0) throw new SkeinError("invalid", "streams: expected at least one message");
  return pieces;
}

function checkOrder({ state }: NamedStream, streamSeq: string | null): void {
  if (streamSeq === null || state.lastStreamSeq === null) return;
  if (Buffer.compare(Buffer.from(streamSeq), Buffer.from(state.lastStreamSeq)) > 0) return;
  throw conflict("Stream-Seq: expected a greater one than the last");
}
