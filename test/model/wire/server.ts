/**
 * A server on loopback that speaks a provider's streaming format, by a script: what it answers, and how it
 * fails. For tests of drivers, and of whatever runs on top of them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicWire } from "./anthropic.ts";
import { compatibleWire } from "./compatible.ts";
import type { WireAnswer, WireFormat, WireStatus, WireTrouble } from "./format.ts";
import { googleWire } from "./google.ts";
import { openaiWire } from "./openai.ts";

export const wires = {
  anthropic: anthropicWire,
  openai: openaiWire,
  compatible: compatibleWire,
  google: googleWire,
} as const satisfies Readonly<Record<string, WireFormat>>;
export type WireName = keyof typeof wires;

export type WireReply =
  | { readonly reply: "answer"; readonly answer: WireAnswer }
  /** An error in the provider's own words. */
  | {
      readonly reply: "trouble";
      readonly trouble: WireTrouble;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | ({ readonly reply: "status" } & WireStatus)
  /** The first events of an answer; then the connection breaks, or the stream ends, or nothing comes. */
  | {
      readonly reply: "cut" | "end" | "hang";
      readonly answer: WireAnswer;
      readonly events: number;
      /** Called when the other side has hung up, or the connection is broken. */
      readonly onClose?: () => void;
    }
  /** Not even headers come. */
  | { readonly reply: "silence" }
  /** A stream of exactly this text; when `onClose` is given it stays open until the other side hangs up. */
  | { readonly reply: "stream"; readonly texts: readonly string[]; readonly onClose?: () => void };

export interface WireRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as it came. */
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type WireScript = readonly WireReply[] | ((request: WireRequest, number: number) => WireReply);

export interface WireServer {
  /** What to give a driver as the provider's address. */
  readonly url: string;
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Replies in the order of the script, one a request; past its end a status 400 says that there is none. */
export async function startWire(provider: WireName, script: WireScript): Promise<WireServer> {
  const format: WireFormat = wires[provider];
  const requests: WireRequest[] = [];
  const server = createServer((incoming, response) => {
    void readRequest(incoming).then((request) => {
      requests.push(request);
      return give(format, replyTo(format, script, request, requests.length), response);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}${format.base}`, requests, close, [Symbol.asyncDispose]: close };
}

async function readRequest(incoming: IncomingMessage): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const body = JSON.parse(text) as WireRequest["body"];
  return { path: incoming.url ?? "", headers: incoming.headers, text, body };
}

function replyTo(format: WireFormat, script: WireScript, request: WireRequest, number: number): WireReply {
  if (!format.path.test(request.path)) {
    return { reply: "status", status: 404, body: `this wire has no ${request.path}` };
  }
  const reply = typeof script === "function" ? script(request, number) : script[number - 1];
  return reply ?? { reply: "status", status: 400, body: `nothing is scripted for request ${number}` };
}

async function give(format: WireFormat, reply: WireReply, response: ServerResponse): Promise<void> {
  switch (reply.reply) {
    case "answer":
      return stream(response, format.events(reply.answer), "end");
    case "trouble": {
      const { status, headers, body } = format.troubles[reply.trouble];
      return giveStatus(response, { status, body, headers: { ...headers, ...reply.headers } });
    }
    case "status":
      return giveStatus(response, reply);
    case "cut":
    case "end":
    case "hang":
      if (reply.onClose !== undefined) response.once("close", reply.onClose);
      return stream(response, format.events(reply.answer).slice(0, reply.events), reply.reply);
    case "silence":
      return;
    case "stream":
      if (reply.onClose !== undefined) response.once("close", reply.onClose);
      return stream(response, reply.texts, reply.onClose === undefined ? "end" : "hang");
  }
}

function giveStatus(response: ServerResponse, { status, headers = {}, body }: WireStatus): void {
  const isText = typeof body === "string";
  response.writeHead(status, { "content-type": isText ? "text/plain" : "application/json", ...headers });
  response.end(isText ? body : JSON.stringify(body));
}

async function stream(
  response: ServerResponse,
  texts: readonly string[],
  then: "end" | "cut" | "hang",
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  for (const text of texts) await new Promise((resolve) => void response.write(text, resolve));
  if (then === "end") response.end();
  if (then === "cut") response.destroy();
}
