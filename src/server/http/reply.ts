/** Writing answers: JSON, problems, bytes; each with the headers that keep a browser safe. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { once } from "node:events";
import type { Socket } from "node:net";
import { limit } from "../../core/limit.ts";
import type { Problem } from "../../protocol/problem.ts";
import { problemHeaders } from "../auth/authorize.ts";

export type Headers = Readonly<Record<string, string>>;

/** Past this, what is left of a body that nobody wants is not waited for. */
const drainBytesMax = 8_388_608;

export function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) });
  endWith(response, text);
}

/** Ends an answer. Nearly all are taken by the system at once, and need no watching. */
export function endWith(response: ServerResponse, rest?: string | Uint8Array): void {
  response.end(rest);
  if (response.socket?.writableLength !== 0) endUnread(response);
}

/**
 * Breaks an answer off of which nobody takes anything for a while: it would stay in memory as long as they
 * like. The system tells of what was taken in large pieces only, a megabyte or more: whoever takes some
 * kilobytes a second is not cut. What it took before counts too, so that it may be twice as long.
 */
function endUnread(response: ServerResponse): void {
  response.setTimeout(limit.unreadMs, (socket?: Socket) => {
    // Without anything to take it is the caller who waits.
    if (socket !== undefined && socket.writableLength > 0) socket.destroy();
  });
}

/** `place`: where the session is now, or what was made. */
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
  // What is left of the body is passed over, so that the answer is read and the connection stays.
  if (!request.complete && !isLong) request.resume();
}

/** Bytes in pieces, no faster than they are read. An error in the middle cuts the connection. */
export async function sendBytes(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
  headers: Headers,
): Promise<void> {
  const pieces = chunks[Symbol.asyncIterator]();
  // What is refused is refused before anything is sent.
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
