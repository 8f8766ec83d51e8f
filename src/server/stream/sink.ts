/** The destination of a stream of server-sent events. It never holds more than what the socket was given. */
import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Problem } from "../../protocol/problem.ts";
import { endWith } from "../http/reply.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface Sink {
  /** Aborted when the client disconnects, or the server stops. */
  readonly signal: AbortSignal;
  /** True when the reader is behind: then write nothing until `drained`. */
  readonly isFull: boolean;
  write(frame: string): void;
  /** The same for a frame of many streams: it is encoded once for all of them. */
  share(frame: SharedFrame): void;
  /** Resolves when there is room again, or the client has disconnected. */
  drained(): Promise<void>;
  end(): void;
}

/** A frame for many streams, and its form in a chunked response. */
export class SharedFrame {
  readonly text: string;
  #chunk: Buffer | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get chunk(): Buffer {
    this.#chunk ??= Buffer.from(`${Buffer.byteLength(this.text).toString(16)}\r\n${this.text}\r\n`);
    return this.#chunk;
  }
}

/**
 * The id of an event in the stream of its session: its position, and the first digits of its hash, so that a
 * reconnecting reader never gets the events of another history.
 */
export const eventId = ({ seq, hash }: Pick<SessionEvent, "seq" | "hash">): string =>
  `${seq}.${hash.slice(0, 16)}`;

/** An event in a stream. */
export const eventFrame = (event: SessionEvent, id: string | number): string =>
  `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
/** A comment, which readers ignore. */
export const heartbeatFrame = ": beat\n\n";
export const problemFrame = (problem: Problem): string =>
  `event: problem\ndata: ${JSON.stringify(problem)}\n\n`;

/** How long a reader waits before it reconnects. */
const retryMs = 1_000;

export function openSink(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  stopping: AbortSignal,
): Sink {
  const over = new AbortController();
  const stop = (): void => over.abort();
  stopping.addEventListener("abort", stop, { once: true });
  response.once("close", () => {
    stopping.removeEventListener("abort", stop);
    stop();
  });
  if (stopping.aborted || response.destroyed) stop();
  // A client of an older version reads until the connection ends.
  const isChunked = response.req.httpVersion === "1.1";
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    ...headers,
    "x-accel-buffering": "no",
    ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
  });
  response.write(`retry: ${retryMs}\n\n`);
  // Nothing more is written until the reader has taken what there is: it may take its time, until the end.
  response.setTimeout(0);
  return {
    signal: over.signal,
    get isFull() {
      return isFull(response);
    },
    write(frame) {
      if (!over.signal.aborted) response.write(frame);
    },
    share(frame) {
      if (over.signal.aborted) return;
      const { socket } = response;
      // It has none while an earlier request on the connection is not answered; and writes of this turn still
      // wait in the response, where they must not be overtaken.
      if (!isChunked || socket === null || response.writableCorked > 0) response.write(frame.text);
      else writeTogether(socket, frame.chunk);
    },
    async drained() {
      while (isFull(response) && !over.signal.aborted)
        await once(response.socket ?? response, "drain", { signal: over.signal }).catch(() => null);
    },
    end() {
      stop();
      endWith(response);
    },
  };
}

const isFull = (response: ServerResponse): boolean =>
  response.writableNeedDrain || response.socket?.writableNeedDrain === true;

/** Frames of one turn go out in one write. */
function writeTogether(socket: Socket, chunk: Buffer): void {
  if (socket.writableCorked === 0) {
    socket.cork();
    process.nextTick(uncork, socket);
  }
  socket.write(chunk);
}

const uncork = (socket: Socket): void => socket.uncork();
