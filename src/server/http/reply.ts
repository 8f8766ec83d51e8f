/** Writes responses: JSON, problems, bytes; each with the headers that keep a browser safe. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import type { Socket } from "node:net";
import { limit } from "../../core/limit.ts";
import type { Problem } from "../../protocol/problem.ts";
import { problemHeaders } from "../auth/authorize.ts";

export type Headers = Readonly<Record<string, string>>;

/** Beyond this, the rest of an unwanted body is not awaited. */
const drainBytesMax = 8_388_608;

export function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) });
  endWith(response, text);
}

/** Ends a response. The system takes nearly all at once, and they need no watch. */
export function endWith(response: ServerResponse, rest?: string | Uint8Array): void {
  response.end(rest);
  if (response.socket?.writableLength !== 0) endUnread(response);
}

/**
 * Closes a response that the client does not read: it would stay in memory indefinitely. The system reports
 * progress only in large pieces, a megabyte or more: a client that reads some kilobytes a second is not cut.
 * Earlier progress counts too, so that it may take twice as long.
 */
function endUnread(response: ServerResponse): void {
  response.setTimeout(limit.unreadMs, (socket?: Socket) => {
    // With nothing to read, the client is the one who waits.
    if (socket !== undefined && socket.writableLength > 0) socket.destroy();
  });
}

/** `place`: the session's current position, or the URL of what was made. */
export function sendJson(
  response: ServerResponse,
  text: string,
  headers: Headers,
  place: Headers = nowhere,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, {
    ...headers,
    ...place,
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(text),
  });
  endWith(response, text);
}

const nowhere: Headers = {};

export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
  headers: Headers,
): void {
  const allow = problem["allow"];
  const isLong = Number(request.headers["content-length"] ?? 0) > drainBytesMax;
  sendText(response, problem.status, JSON.stringify(problem), {
    ...headers,
    ...problemHeaders(problem),
    ...(typeof allow === "string" ? { allow } : {}),
    ...(isLong && !request.complete ? { connection: "close" } : {}),
    "content-type": "application/problem+json",
    "cache-control": "no-store",
  });
  // Discards the rest of the body, so that the client reads the response and the connection stays.
  if (!request.complete && !isLong) request.resume();
}

/** Bytes in chunks, no faster than the client reads. An error in the middle closes the connection. */
export async function sendBytes(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  headers: Headers,
): Promise<void> {
  const pieces = chunks[Symbol.asyncIterator]();
  // A refusal comes before anything is sent.
  let piece = await pieces.next();
  response.writeHead(200, { ...headers, "cache-control": "no-store" });
  endUnread(response);
  const isHead = response.req.method === "HEAD";
  try {
    for (; piece.done !== true; piece = await pieces.next()) {
      if (response.destroyed) return;
      if (isHead) break;
      if (response.write(piece.value)) continue;
      const waiting = new AbortController();
      const either = ["drain", "close"].map((name) => once(response, name, { signal: waiting.signal }));
      await Promise.race(either).catch(() => null);
      waiting.abort();
    }
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}
