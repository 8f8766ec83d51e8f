/**
 * One connection to another server of the same store, which sends its deltas. It connects only to the address
 * in the store: it follows no redirects, and passes on no token.
 */
import { request as requestPlain, type IncomingMessage } from "node:http";
import { request as requestSecure } from "node:https";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Deps } from "../../runtime/deps.ts";
import type { ModelDelta, LivePart } from "../../runtime/turn/live.ts";
import type { World } from "../../runtime/world.ts";
import { proofHeader, proofOf, relayPath, type RelaySubject } from "./relay-proof.ts";

/** Another server, as announced in the store. */
export type Server = Awaited<ReturnType<Deps["store"]["servers"]>>[number];

export interface RelayConnection {
  /** The secret of that server. */
  readonly secret: string;
  /** True when the other one accepted it. */
  readonly wasOpen: boolean;
  /** Resolves when it has ended, for any reason. */
  readonly over: Promise<void>;
  stop(): void;
}

export interface RelayConnectionOptions {
  readonly world: Pick<World, "hashBytes">;
  readonly server: Server;
  readonly asked: RelaySubject;
  /** By the store's clock. */
  readonly atMs: number;
  readonly heard: (part: LivePart) => void;
}

/** A connection silent for longer is lost. */
const silenceMs = 3 * limit.streamBeatMs;
/** A part is an answer at most, each character of which may be spelled with six. */
const frameCharsMax = 8 * limit.liveAnswerCharsMax;

export function connectRelay(options: RelayConnectionOptions): RelayConnection {
  const { world, server, asked, atMs, heard } = options;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let wasOpen = false;
  const url = addressOf(server.address, asked);
  if (url === null) {
    resolve();
    return { secret: server.secret, wasOpen, over, stop: () => undefined };
  }
  const headers = {
    accept: "text/event-stream",
    "user-agent": "skein",
    [proofHeader]: proofOf(world, server.secret, asked, atMs),
  };
  const given = { headers, agent: false, timeout: silenceMs, maxHeaderSize: limit.requestHeaderBytesMax };
  const call = (url.protocol === "https:" ? requestSecure : requestPlain)(url, given);
  call.on("error", () => undefined);
  call.on("timeout", () => call.destroy());
  call.on("close", () => resolve());
  call.on("response", (response) => {
    wasOpen = response.statusCode === 200;
    if (wasOpen) readParts(response, heard);
    else call.destroy();
  });
  call.end();
  return {
    secret: server.secret,
    get wasOpen() {
      return wasOpen;
    },
    over,
    stop: () => call.destroy(),
  };
}

/** Null when the announced address is invalid. */
function addressOf(address: string, { session }: RelaySubject): URL | null {
  const url = URL.parse(`${address.replace(/\/$/, "")}${relayPath}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (session !== null) url.searchParams.set("session", session);
  return url;
}

function readParts(response: IncomingMessage, heard: (part: LivePart) => void): void {
  let text = "";
  response.setEncoding("utf8");
  response.on("error", () => undefined);
  response.on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      const part = frame.startsWith("data: ") ? parsePart(frame.slice(6)) : null;
      if (part !== null) heard(part);
    }
    if (text.length > frameCharsMax) response.destroy();
  });
}

/** Null for an invalid part. */
export function parsePart(text: string): LivePart | null {
  try {
    const { session = "" as SessionId, requestSeq, after, deltas } = JSON.parse(text) as Partial<LivePart>;
    if (!isSessionId(session) || !isCount(requestSeq) || !isCount(after)) return null;
    if (!Array.isArray(deltas) || !deltas.every(isDelta)) return null;
    return { session, requestSeq, after, deltas };
  } catch {
    return null;
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isDelta(value: unknown): value is ModelDelta {
  const { type, text, tool } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "tool-call") return typeof tool === "string";
  return (type === "text" || type === "reasoning") && typeof text === "string";
}
