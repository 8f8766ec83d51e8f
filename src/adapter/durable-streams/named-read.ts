/** Reads of named streams: catch-up, long-poll and SSE. */
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import type { Sink } from "../../server/stream/sink.ts";
import { isText } from "./named-data.ts";
import { offsetOf, seqOfOffset } from "./named-headers.ts";
import { recordTypes } from "./named-state.ts";
import type { NamedStream, NamedStreams } from "./named-streams.ts";
import { cursorAt, readParameters } from "./offset.ts";
import { reply } from "./reply.ts";
import { withTimeout } from "./timeout.ts";

/** How long a live read lasts. */
export interface ReadLimits {
  readonly longPollMs: number;
  readonly sseMs: number;
}

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;

interface NamedRead {
  readonly streams: NamedStreams;
  readonly stream: NamedStream;
  readonly name: string;
  readonly limits: ReadLimits;
}

const changes: readonly string[] = [recordTypes.data, recordTypes.closed, recordTypes.deleted];

/** What there is of a stream. It does not keep it alive. */
export function headNamed(given: MountRequest, { state, settings }: NamedStream): void {
  const { contentType, ttlSeconds, expiresAtMs } = settings;
  reply(given, 200, {
    "content-type": contentType,
    "stream-next-offset": offsetOf(state.tailSeq),
    ...(ttlSeconds === null ? {} : { "stream-ttl": String(ttlSeconds) }),
    ...(expiresAtMs === null ? {} : { "stream-expires-at": new Date(expiresAtMs).toISOString() }),
    ...(state.isClosed ? { "stream-closed": "true" } : {}),
  });
}

export async function readNamed(given: MountRequest, caller: Caller, read: NamedRead): Promise<void> {
  const { streams, limits, name } = read;
  let { stream } = read;
  const { engine } = caller;
  const { offset, live, cursor } = readParameters(given.query);
  const asked = seqOfOffset(offset ?? "-1");
  const afterSeq = asked ?? stream.state.tailSeq;
  await streams.touch(engine, stream);
  if (live === "sse") return follow(given, caller, { ...read, afterSeq, cursor });
  const nowMs = (): number => internalsOf(engine).world.now();
  if (live === "long-poll" && afterSeq >= stream.state.tailSeq) {
    const signal = AbortSignal.any([given.gone, given.stopping]);
    const waiting = stream;
    if (!stream.state.isClosed)
      await withTimeout(engine, limits.longPollMs, signal, (until) => waitFor(waiting, until));
    if (given.gone.aborted) return;
    // The token may have been revoked meanwhile.
    await given.authorize({ scope: "read" });
    const now = await streams.find(engine, name);
    if (now === null || now.state.isDeleted) return reply(given, 404, {});
    stream = now;
    if (afterSeq >= stream.state.tailSeq)
      return reply(given, 204, {
        "stream-next-offset": offsetOf(afterSeq),
        "stream-up-to-date": "true",
        "stream-cursor": cursorAt(nowMs(), cursor),
        ...(stream.state.isClosed ? { "stream-closed": "true" } : {}),
      });
  }
  const chunk = await streams.read(stream, afterSeq);
  const isEnd = chunk.isUpToDate && stream.state.isClosed;
  const tag = `${offsetOf(afterSeq)}-${offsetOf(chunk.seq)}${isEnd ? "-c" : ""}`;
  const etag = `"${stream.session.id.slice(-12)}-${tag}"`;
  const headers = {
    "content-type": stream.settings.contentType,
    "stream-next-offset": offsetOf(chunk.seq),
    "cross-origin-resource-policy": given.headers["cross-origin-resource-policy"] ?? "same-origin",
    ...(chunk.isUpToDate ? { "stream-up-to-date": "true" } : {}),
    ...(isEnd ? { "stream-closed": "true" } : {}),
    ...(live === null ? {} : { "stream-cursor": cursorAt(nowMs(), cursor) }),
    ...(live === null && asked !== null ? { etag, "cache-control": "private, no-cache" } : {}),
  };
  if ("etag" in headers && given.request.headers["if-none-match"] === etag) return reply(given, 304, headers);
  reply(given, 200, headers, chunk.bytes);
}

/** Resolves when the stream changes, or the signal comes first. */
async function waitFor({ session, state }: NamedStream, signal: AbortSignal): Promise<void> {
  const range = { fromSeq: state.seq + 1, types: changes, follow: true, signal };
  for await (const _ of session.events(range)) return;
}

interface Follow extends NamedRead {
  readonly afterSeq: number;
  readonly cursor: string | null;
}

async function follow(given: MountRequest, caller: Caller, read: Follow): Promise<void> {
  const { engine } = caller;
  const isBinary = !isText(read.stream.settings.contentType);
  const encoding = isBinary ? { "stream-sse-data-encoding": "base64" } : {};
  const write = (sink: Sink): Promise<void> =>
    withTimeout(engine, read.limits.sseMs, sink.signal, (until) =>
      writeEvents(sink, engine, { ...read, isBinary }, until),
    );
  // Event streams are UTF-8 by their standard; no-store is the stricter of the two.
  const type = { "content-type": "text/event-stream", "cache-control": "no-cache, no-store" };
  return given.stream(caller, write, { ...given.headers, ...type, ...encoding });
}

async function writeEvents(
  sink: Sink,
  engine: Engine,
  { streams, name, ...read }: Follow & { readonly isBinary: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { world } = internalsOf(engine);
  let { stream, afterSeq } = read;
  let { cursor } = read;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const { bytes, seq, isUpToDate } = await streams.read(stream, afterSeq);
    const isChanged = seq > afterSeq;
    afterSeq = seq;
    cursor = cursorAt(world.now(), isFirst ? cursor : null);
    const isEnd = isUpToDate && stream.state.isClosed;
    const control = {
      streamNextOffset: offsetOf(seq),
      ...(isEnd ? { streamClosed: true } : { streamCursor: cursor }),
      ...(isUpToDate ? { upToDate: true } : {}),
    };
    await sink.drained();
    if (isChanged)
      sink.write(`event: data\n${linesOf(read.isBinary ? bytes.toString("base64") : bytes.toString())}\n\n`);
    if (isChanged || isFirst || isEnd) sink.write(`event: control\ndata:${JSON.stringify(control)}\n\n`);
    if (isEnd) return;
    if (isUpToDate) await waitFor(stream, signal);
    if (signal.aborted) return;
    const now = await streams.find(engine, name);
    if (now === null || now.state.isDeleted) return;
    stream = now;
  }
}

/** Each kind of line end begins a new line of the event, so that no text ends its frame. */
const linesOf = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => `data:${line}`)
    .join("\n");
