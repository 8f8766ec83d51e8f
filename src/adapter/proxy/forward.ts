/**
 * Passes a request on to a provider and its response back, byte for byte as it arrives. A second reader looks
 * at the same bytes and holds back nothing.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { StringDecoder } from "node:string_decoder";
import type { AnswerReader } from "./wire.ts";

/** Of one connection only, or Skein's own. */
const dropped: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "accept-encoding",
  "expect",
]);
const isOwn = (name: string): boolean => name.startsWith("x-skein-");

/** A longer response is passed on whole, and read no further. */
const readBytesMax = 33_554_432;
const frameCharsMax = 8_388_608;

const agents = {
  "http:": new HttpAgent({ keepAlive: true }),
  "https:": new HttpsAgent({ keepAlive: true }),
};

export interface Forwarding {
  readonly url: URL;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Response headers that the server adds. */
  readonly added: Readonly<Record<string, string>>;
  readonly reader: AnswerReader | null;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  readonly clock: () => number;
}

export interface Forwarded {
  /** Null: no response came. */
  readonly status: number | null;
  readonly received: string;
  readonly bytes: number;
  readonly firstByteMs: number | null;
  readonly error: { readonly kind: string; readonly message: string } | null;
}

/** Resolves when the response is over. Sends nothing to the client if none began. */
export async function forward(response: ServerResponse, given: Forwarding): Promise<Forwarded> {
  const startedMs = given.clock();
  const digest = createHash("sha256");
  let [bytes, firstByteMs, status] = [0, null as number | null, null as number | null];
  const done = (error: Forwarded["error"]): Forwarded => ({
    status,
    bytes,
    firstByteMs,
    error,
    received: digest.digest("hex"),
  });
  const upstream = send(given);
  const stop = (): void => void upstream.destroy(new Error("the client disconnected"));
  given.gone.addEventListener("abort", stop, { once: true });
  try {
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    status = answer.statusCode ?? 502;
    response.writeHead(status, answer.statusMessage, { ...passedOn(answer.headers), ...given.added });
    response.flushHeaders();
    const read = makeReader(given.reader, answer.headers["content-type"] ?? "");
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      firstByteMs ??= given.clock() - startedMs;
      const isRoom = response.write(chunk);
      digest.update(chunk);
      bytes += chunk.length;
      read.chunk(chunk);
      if (!isRoom) await once(response, "drain", { signal: given.gone }).catch(() => null);
      if (given.gone.aborted) break;
    }
    read.end();
    if (given.gone.aborted) return done(cutOff);
    if (!answer.complete) throw new Error("the provider cut the response off");
    response.end();
    return done(null);
  } catch (error) {
    if (given.gone.aborted) return done(cutOff);
    const { code = "", message } = error as Error & { readonly code?: string };
    const isUnreachable = status === null && unreachable.includes(code);
    // Nothing that looks complete: the client must see that the rest is missing.
    if (status !== null) response.destroy();
    return done({ kind: isUnreachable ? "unreachable" : "dropped", message: message.slice(0, 500) });
  } finally {
    given.gone.removeEventListener("abort", stop);
  }
}

const cutOff = { kind: "interrupted", message: "the client disconnected" } as const;
/** Codes of connections that were never made. */
const unreachable: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
];

function send({ url, method, headers, body }: Forwarding): ClientRequest {
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name) && !isOwn(name));
  const isPlain = url.protocol === "http:";
  const request = (isPlain ? httpRequest : httpsRequest)(url, {
    method,
    agent: agents[isPlain ? "http:" : "https:"],
    headers: {
      ...Object.fromEntries(kept),
      // As it comes, so that it can be read on the way.
      "accept-encoding": "identity",
      ...(body.length > 0 || method === "POST" ? { "content-length": body.length } : {}),
    },
  });
  // After the response began, its own error says what happened.
  request.on("error", () => undefined);
  request.end(body);
  return request;
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || (dropped.has(name) && name !== "content-length") ? [] : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}

/** Reads a response as it passes: a stream event by event, anything else as one JSON. */
function makeReader(reader: AnswerReader | null, type: string) {
  const decoder = new StringDecoder("utf8");
  const isStream = /^text\/event-stream\b/.test(type);
  const chunks: Buffer[] = [];
  let [text, bytes] = ["", 0];

  function frames(): void {
    for (let end = frameEnd(text); end !== null; end = frameEnd(text)) {
      const data = text
        .slice(0, end.at)
        .split(/\r\n|\r|\n/)
        .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).replace(/^ /, "")] : []))
        .join("\n");
      text = text.slice(end.at + end.length);
      if (data !== "") reader?.event(parsedOrText(data));
    }
  }

  return {
    chunk(chunk: Buffer): void {
      bytes += chunk.length;
      if (reader === null || bytes > readBytesMax) return;
      if (!isStream) return void chunks.push(chunk);
      text += decoder.write(chunk);
      frames();
      if (text.length > frameCharsMax) text = "";
    },
    end(): void {
      if (reader === null || bytes > readBytesMax) return;
      if (isStream) {
        text += `${decoder.end()}\n\n`;
        return frames();
      }
      const whole = parsedOrText(Buffer.concat(chunks).toString("utf8"));
      if (typeof whole !== "string") reader.body(whole);
    },
  };
}

function frameEnd(text: string): { readonly at: number; readonly length: number } | null {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text);
  return found === null ? null : { at: found.index, length: found[0].length };
}

function parsedOrText(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}
