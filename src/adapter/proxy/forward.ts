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
import type { WireAnswerReader } from "./wire.ts";

/** Of one connection only, or between this server and its client. */
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
  // Of this origin, where the console has its login.
  "cookie",
  "set-cookie",
]);
const isOwn = (name: string): boolean => name.startsWith("x-skein-") || name.startsWith("access-control-");

/** Without headers that one connection alone has: the usual ones, and those that it names. */
function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || dropped.has(name) || named.has(name) || isOwn(name)
      ? []
      : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}

/** A longer response is passed on whole, and read no further. */
const readBytesMax = 33_554_432;
const eventCharsMax = 8_388_608;

const agents = {
  "http:": new HttpAgent({ keepAlive: true }),
  "https:": new HttpsAgent({ keepAlive: true }),
};

export interface ForwardRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Response headers that the server adds. */
  readonly added: Readonly<Record<string, string>>;
  readonly reader: WireAnswerReader | null;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  readonly clock: () => number;
  /** Called with the status, before the client has it. */
  readonly began: (status: number) => void;
}

export interface ForwardResult {
  /** Null: no response came. */
  readonly status: number | null;
  readonly received: string;
  readonly bytes: number;
  readonly firstByteMs: number | null;
  /** Since the last byte. */
  readonly silentMs: number;
  readonly error: { readonly kind: string; readonly message: string } | null;
}

/** Resolves when the response is over. Sends nothing to the client if none began. */
export async function forward(response: ServerResponse, given: ForwardRequest): Promise<ForwardResult> {
  const startedMs = given.clock();
  let heardMs = startedMs;
  const digest = createHash("sha256");
  let [bytes, firstByteMs, status] = [0, null as number | null, null as number | null];
  const done = (error: ForwardResult["error"]): ForwardResult => ({
    status,
    bytes,
    firstByteMs,
    silentMs: Math.max(0, given.clock() - heardMs),
    error,
    received: digest.digest("hex"),
  });
  // Clients leave after the last event of a stream, before its connection ends: then nothing is missing.
  const left = (): ForwardResult => done(given.reader?.answer().isWhole === true ? null : cutOff);
  // Nothing has been sent, so that it costs nothing.
  if (given.gone.aborted) return done({ kind: "unreachable", message: cutOff.message });
  const upstream = send(given);
  const stop = (): void => void upstream.destroy(new Error("the client disconnected"));
  given.gone.addEventListener("abort", stop, { once: true });
  try {
    const [answer] = (await once(upstream, "response")) as [IncomingMessage];
    status = answer.statusCode ?? 502;
    given.began(status);
    const { "content-length": length } = answer.headers;
    response.writeHead(status, answer.statusMessage, {
      ...passedOn(answer.headers),
      ...(length === undefined ? {} : { "content-length": length }),
      ...given.added,
    });
    response.flushHeaders();
    const read = makeReader(given.reader, answer.headers["content-type"] ?? "");
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      heardMs = given.clock();
      firstByteMs ??= heardMs - startedMs;
      const isRoom = response.write(chunk);
      digest.update(chunk);
      bytes += chunk.length;
      read.chunk(chunk);
      if (!isRoom) await once(response, "drain", { signal: given.gone }).catch(() => null);
      if (given.gone.aborted) break;
    }
    read.end();
    if (given.gone.aborted) return left();
    if (!answer.complete) throw new Error("the provider cut the response off");
    response.end();
    return done(null);
  } catch (error) {
    if (given.gone.aborted) return left();
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

function send({ url, method, headers, body }: ForwardRequest): ClientRequest {
  const isPlain = url.protocol === "http:";
  const request = (isPlain ? httpRequest : httpsRequest)(url, {
    method,
    agent: agents[isPlain ? "http:" : "https:"],
    headers: {
      ...passedOn(headers),
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

/**
 * Reads a response as it passes: a stream event by event, anything else as one JSON. What it cannot read, it
 * leaves: the client gets its bytes all the same.
 */
function makeReader(reader: WireAnswerReader | null, type: string) {
  const decoder = new StringDecoder("utf8");
  const isStream = /^text\/event-stream\b/.test(type);
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isReadable = reader !== null;
  /** The part of a line that came, and the data of an event. */
  let [line, data] = ["", [] as string[]];
  let dataChars = 0;
  /** The line before ended with a CR, whose LF may follow. */
  let isAfterReturn = false;

  function take(text: string): void {
    const ended = isAfterReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") isAfterReturn = text.endsWith("\r");
    const lines = ended.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? "";
    for (const part of lines) {
      takeLine(line + part);
      line = "";
    }
    // Of an event that is too long nothing is kept.
    line = line.length + rest.length > eventCharsMax ? "" : line + rest;
  }

  function takeLine(whole: string): void {
    if (whole === "") {
      if (data.length > 0 && dataChars <= eventCharsMax) reader?.event(parsedOrText(data.join("\n")));
      [data, dataChars] = [[], 0];
    } else if (whole.startsWith("data:")) {
      dataChars += whole.length;
      if (dataChars <= eventCharsMax) data.push(whole.slice(5).replace(/^ /, ""));
    }
  }

  function read(work: () => void): void {
    if (!isReadable || bytes > readBytesMax) return;
    try {
      work();
    } catch {
      isReadable = false;
    }
  }

  return {
    chunk(chunk: Buffer): void {
      bytes += chunk.length;
      read(() => (isStream ? take(decoder.write(chunk)) : void chunks.push(chunk)));
      if (bytes > readBytesMax) chunks.length = 0;
    },
    end(): void {
      read(() => {
        if (isStream) return take(`${decoder.end()}\n\n`);
        const whole = parsedOrText(Buffer.concat(chunks).toString("utf8"));
        if (typeof whole !== "string") reader?.body(whole);
      });
    },
  };
}

function parsedOrText(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}
