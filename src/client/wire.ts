/**
 * Requests to the server by the table of operations. Every write has an idempotency key, so that a request
 * with a lost response is retried and nothing is written twice.
 */
import { headerText } from "../protocol/header.ts";
import { limit, SkeinError } from "../protocol/library.ts";
import { meOperation } from "../protocol/me.ts";
import type { Operation } from "../call/operation.ts";
import { operationOf, type OperationId } from "../call/operations.ts";
import { encodeQuery } from "../protocol/query.ts";
import { makeFrameParser, type StreamFrame } from "./frames.ts";
import { brokenOff, errorIn, isPassing, ResponseLost, lostError, mayHaveArrived } from "./client-error.ts";
import type { ClientWorld } from "./world.ts";

export interface WireOptions {
  /** The URL of the server, without a trailing slash. */
  readonly url: string;
  /** None in a logged-in page. */
  readonly token: string | undefined;
  readonly world: ClientWorld;
}

export interface WireRequest {
  /** Of the path. */
  readonly session?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** The caller's idempotency key; without one the call gets a new one. */
  readonly key?: string | undefined;
  /** The expected position of the session. */
  readonly expectSeq?: number | undefined;
  /** For a binary body. */
  readonly body?: Blob | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
  /** The last position that the reader of a stream has. */
  readonly lastId?: string | null;
  /** Called when a stream makes progress, or has been up for a while. */
  readonly alive?: () => void;
}

export interface Wire {
  readonly world: ClientWorld;
  /** Resolves to the JSON response; undefined if there is none. */
  call(id: OperationId, asked?: WireRequest): Promise<unknown>;
  me(): Promise<unknown>;
  /** The response bytes, as they arrive. */
  bytes(id: OperationId, asked?: WireRequest): AsyncGenerator<Uint8Array>;
  /** A stream, as long as its connection lasts. Throws `ResponseLost` on a disconnect. */
  frames(id: OperationId, asked?: WireRequest): AsyncGenerator<StreamFrame>;
  /** Aborts everything in progress; later requests are refused. */
  close(): void;
}

/** Attempts of a request before it fails. */
const triesMax = 8;
const firstWaitMs = 100;
const waitMsMax = 5_000;
/** A stream that is silent for so long counts as dropped: the server's keep-alives are more frequent. */
const silenceMs = limit.streamBeatMs * 3;

/** Exponential, with jitter. */
export const waitBefore = (tries: number, { chance }: ClientWorld): number =>
  Math.min(waitMsMax, firstWaitMs * 2 ** tries) * (0.5 + chance() / 2);

export function makeWire({ url, token, world }: WireOptions): Wire {
  const over = new AbortController();
  const closed = (): SkeinError => new SkeinError("unavailable", "the client is closed");

  function requestOf(
    operation: Operation,
    asked: WireRequest,
    accept: string,
  ): readonly [string, RequestInit] {
    const { params = {}, session = "", body } = asked;
    const path = operation.path.replace("{id}", encodeURIComponent(session));
    const isJson = operation.takes === "json";
    const headers: Record<string, string> = { accept, "skein-client": "1" };
    if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
    if (isJson) headers["content-type"] = "application/json";
    if (body !== undefined) headers["content-type"] = "application/octet-stream";
    if (operation.method !== "GET") headers["idempotency-key"] = headerText(asked.key ?? world.newKey());
    if (asked.expectSeq !== undefined) headers["if-match"] = `"${asked.expectSeq}"`;
    if (asked.lastId !== undefined && asked.lastId !== null) headers["last-event-id"] = asked.lastId;
    const streamed = body instanceof ReadableStream ? { duplex: "half" as const } : {};
    const sent = isJson ? JSON.stringify(params) : body;
    return [
      `${url}${path}${isJson ? "" : encodeQuery(operation, params)}`,
      {
        method: operation.method,
        headers,
        credentials: "same-origin",
        ...(sent === undefined ? {} : { body: sent, ...streamed }),
      },
    ];
  }

  /** One attempt. A network failure is `ResponseLost`; a refusal is the server's error. */
  async function attempt(request: readonly [string, RequestInit], signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await world.fetch(request[0], { ...request[1], signal });
    } catch (error) {
      throw new ResponseLost(error);
    }
    if (response.ok) return response;
    const problem = await errorIn(response);
    throw problem;
  }

  async function retrying<T>(
    operation: Operation,
    asked: WireRequest,
    use: (response: Response) => Promise<T>,
  ): Promise<T> {
    const request = requestOf(operation, asked, acceptOf(operation));
    const signal = bounded(asked.signal);
    const isReplayable = !(asked.body instanceof ReadableStream);
    let maybeDone = false;
    for (let tries = 0; ; tries += 1) {
      if (over.signal.aborted) throw closed();
      if (signal.aborted) throw brokenOff();
      try {
        return await use(await attempt(request, signal));
      } catch (error) {
        if (over.signal.aborted) throw closed();
        if (signal.aborted) throw brokenOff();
        const waitMs = isPassing(error);
        if (waitMs === null) throw error;
        maybeDone ||= operation.method !== "GET" && mayHaveArrived(error);
        if (!isReplayable || tries + 1 >= triesMax) throw lostError(url, operation, error, maybeDone);
        await world.sleep(Math.max(waitMs, waitBefore(tries, world)), signal);
      }
    }
  }

  const bounded = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);

  return {
    world,
    call: (id, asked = {}) => retrying(operationOf(id), asked, readJson),
    me: () => retrying(meOperation, {}, readJson),
    async *bytes(id, asked = {}) {
      const response = await retrying(operationOf(id), asked, async (got) => got);
      yield* chunksOf(response, (error) =>
        over.signal.aborted ? closed() : lostError(url, operationOf(id), error),
      );
    },
    async *frames(id, asked = {}) {
      const operation = operationOf(id);
      const dropped = new AbortController();
      const signal = AbortSignal.any([bounded(asked.signal), dropped.signal]);
      if (over.signal.aborted) throw closed();
      if (signal.aborted) throw brokenOff();
      try {
        const response = await attempt(requestOf(operation, asked, "text/event-stream"), signal);
        const parse = makeFrameParser();
        const decoder = new TextDecoder();
        const pieces = chunksOf(response, (error) => new ResponseLost(error));
        for await (const piece of watched(pieces, world, dropped)) {
          const text = decoder.decode(piece, { stream: true });
          const frames = parse(text);
          if (frames.length > 0 || text.includes(": beat")) asked.alive?.();
          yield* frames;
        }
      } catch (error) {
        if (over.signal.aborted) throw closed();
        if (asked.signal?.aborted === true) throw brokenOff();
        throw error;
      } finally {
        dropped.abort();
      }
    },
    close: () => over.abort(),
  };
}

const acceptOf = ({ gives }: Operation): string =>
  gives === "bytes" ? "application/octet-stream, application/x-ndjson" : "application/json";

async function readJson(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  let text: string;
  try {
    text = await response.text();
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ResponseLost(error);
  }
}

async function* chunksOf(response: Response, failed: (error: unknown) => Error): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const piece = await reader.read().catch((error: unknown) => {
        throw failed(error);
      });
      if (piece.done) return;
      yield piece.value as Uint8Array;
    }
  } finally {
    // A reader that stops early does not want the rest.
    await reader.cancel().catch(() => undefined);
  }
}

/** Drops a connection that is silent for too long. */
async function* watched(
  pieces: AsyncIterable<Uint8Array>,
  world: ClientWorld,
  dropped: AbortController,
): AsyncGenerator<Uint8Array> {
  const ended = new AbortController();
  let heard = true;
  void (async () => {
    for (; heard && !ended.signal.aborted; await world.sleep(silenceMs, ended.signal)) heard = false;
    dropped.abort();
  })();
  try {
    for await (const piece of pieces) {
      heard = true;
      yield piece;
    }
  } finally {
    ended.abort();
  }
}
