/** Where a stream of server-sent events goes. It never holds more than what the socket was given. */
import type { ServerResponse } from "node:http";
import { once } from "node:events";
import type { Problem } from "../protocol/problem.ts";

export interface Sink {
  /** Aborted when nobody reads any more, or the server stops. */
  readonly signal: AbortSignal;
  /** Whether the reader is behind: then nothing should be written until `drained`. */
  readonly isFull: boolean;
  write(frame: string): void;
  /** Resolves when there is room again, or nobody reads any more. */
  drained(): Promise<void>;
  end(): void;
}

/** A comment, which readers pass over. */
export const beatFrame = ": beat\n\n";
export const problemFrame = (problem: Problem): string =>
  `event: problem\ndata: ${JSON.stringify(problem)}\n\n`;

/** How long a reader waits before it connects again. */
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
  response.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  response.write(`retry: ${retryMs}\n\n`);
  return {
    signal: over.signal,
    get isFull() {
      return response.writableNeedDrain;
    },
    write(frame) {
      if (!over.signal.aborted) response.write(frame);
    },
    async drained() {
      if (!response.writableNeedDrain || over.signal.aborted) return;
      await once(response, "drain", { signal: over.signal }).catch(() => null);
    },
    end() {
      stop();
      response.end();
    },
  };
}
