/** A server on a port of its own, over a store that goes with it, and how a program asks it. */
import assert from "node:assert/strict";
import type { Redactor } from "../../src/core/secret/redactor.ts";
import type { TokenScope } from "../../src/core/workspace/access-token.ts";
import { operationOf, type OperationId } from "../../src/call/operations.ts";
import { encodeQuery } from "../../src/protocol/query.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { OpenStore } from "../../src/runtime/deps.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve, type ServeOptions, type RunningServer } from "../../src/server/http/server.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { workspace } from "../runtime/place.ts";
import { scripted, type Line } from "../runtime/turn/scripted.ts";

export interface Served extends AsyncDisposable {
  readonly engine: Engine;
  readonly server: RunningServer;
  readonly token: string;
  readonly troubles: unknown[];
  /** Asks for an operation as a client would; what is not JSON comes back as a text. */
  call(id: OperationId, given?: Given): Promise<Answered>;
  /** Any request at all. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The same store behind another server, as after a restart. */
  again(): Promise<RunningServer>;
}

export interface Given {
  readonly id?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly bytes?: Uint8Array;
  readonly token?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface ServedOptions {
  readonly lines?: readonly Line[];
  readonly store?: Store;
  readonly scopes?: readonly TokenScope[];
  readonly besides?: ServeOptions["besides"];
  readonly mounts?: ServeOptions["mounts"];
  readonly origins?: readonly string[];
  readonly onRequest?: ServeOptions["onRequest"];
  readonly streaming?: ServeOptions["streaming"];
  readonly isReady?: ServeOptions["isReady"];
  readonly page?: ServeOptions["page"];
  readonly docs?: ServeOptions["docs"];
  /** What the server has instead of the real world's. */
  readonly world?: Partial<ServeOptions["world"]>;
  readonly otherStores?: boolean;
  readonly privateHooks?: boolean;
  readonly transcripts?: ServeOptions["transcripts"];
  readonly openStore?: OpenStore;
  /** The engine's; by default one that knows no registered secret. */
  readonly redactor?: Redactor;
}

const often = { perSecond: 1e9, burst: 1e9 };

export async function served(options: ServedOptions = {}): Promise<Served> {
  const world = { ...realWorld(), ...(options.redactor === undefined ? {} : { redactor: options.redactor }) };
  const store = options.store ?? memoryStore({ world, workspace });
  const { models } = scripted(options.lines ?? ["Done."]);
  const tools = async () => makeToolSource({ world, tools: [] });
  const { openStore } = options;
  const opens = openStore === undefined ? {} : { openStore };
  const engine = new Engine({ store, world, models: async () => models, tools, ...opens });
  const { token } = await engine.addToken({ scopes: options.scopes ?? ["admin"] });
  const troubles: unknown[] = [];
  const again = (): Promise<RunningServer> =>
    serve({
      world: { ...world, ...options.world },
      version: "0.0.0",
      authorizer: (bound) =>
        makeAuthorizer({
          ...bound,
          world,
          origins: options.origins ?? [],
          rate: often,
          tenants: async (tenant) => (tenant === "default" ? engine : null),
        }),
      trouble: (error) => troubles.push(error),
      ...(options.besides === undefined ? {} : { besides: options.besides }),
      ...(options.mounts === undefined ? {} : { mounts: options.mounts }),
      ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
      ...(options.streaming === undefined ? {} : { streaming: options.streaming }),
      ...(options.isReady === undefined ? {} : { isReady: options.isReady }),
      otherStores: options.otherStores ?? false,
      privateHooks: options.privateHooks ?? false,
      ...(options.transcripts === undefined ? {} : { transcripts: options.transcripts }),
      ...(options.page === undefined ? {} : { page: options.page }),
      ...(options.docs === undefined ? {} : { docs: options.docs }),
    });
  const server = await again();
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) },
    });
  return {
    engine,
    server,
    token,
    troubles,
    fetch: ask,
    again,
    call: (id, given = {}) => callWith(ask, id, given),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await engine.close();
    },
  };
}

async function callWith(ask: Served["fetch"], id: OperationId, given: Given): Promise<Answered> {
  const operation = operationOf(id);
  const { params = {}, headers = {}, bytes } = given;
  const path = operation.path.replace("{id}", encodeURIComponent(given.id ?? ""));
  const query = operation.takes === "json" ? "" : encodeQuery(operation, params);
  const isJson = operation.takes === "json";
  const body = isJson ? JSON.stringify(params) : bytes;
  const token = given.token === undefined ? {} : { authorization: `Bearer ${given.token}` };
  const response = await ask(`${path}${query}`, {
    method: operation.method,
    headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...token, ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  const isParsed = type.startsWith("application/json") || type.startsWith("application/problem+json");
  return { status: response.status, headers: response.headers, body: isParsed ? JSON.parse(text) : text };
}

/** What came back, where nothing may be wrong. */
export function fine({ status, body }: Answered): unknown {
  assert.ok(status < 300, `${status}: ${JSON.stringify(body)}`);
  return body;
}

export interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** The frames of a stream, as they come; comments are passed over. */
export async function* frames(response: Response): AsyncGenerator<Frame> {
  assert.equal(response.status, 200);
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const pieces = text.split("\n\n");
    text = pieces.pop() ?? "";
    for (const piece of pieces) {
      const fields = piece.split("\n").flatMap((line) => {
        const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, value]];
      });
      if (fields.length > 0) yield Object.fromEntries(fields) as Frame;
    }
  }
}
