/**
 * MCP over HTTP. A request of the later era stands alone; one of the legacy era may belong to a session of
 * the protocol (legacy-sessions.ts). Each is authorized by itself, before its body is read.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  type AuthInfo,
  type McpHttpHandler,
  type McpRequestContext,
  type McpServer,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { MountHandler, MountRequest } from "../../server/http/mount.ts";
import type { Sink } from "../../server/stream/sink.ts";
import type { McpAccess } from "./access.ts";
import { makeLegacySessions, type LegacySessions } from "./legacy-sessions.ts";
import { makeServer, type Extension } from "./server.ts";
import { makeUpdates, type Updates } from "./updates.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;
type Store = ReturnType<typeof internalsOf>["store"];

/** What all callers of one store share. */
interface StoreHandlers {
  readonly modern: McpHttpHandler;
  readonly legacy: LegacySessions;
}

const bodyBytesMax = 4_194_304;
const codes = { parse: -32_700, request: -32_600, server: -32_000 } as const;

export function makeMcpHandler({ extension }: { readonly extension?: Extension | undefined }): MountHandler {
  const shared = new Map<Store, StoreHandlers>();

  function sharedOf({ engine }: Caller, given: MountRequest): StoreHandlers {
    const { store } = internalsOf(engine);
    const known = shared.get(store);
    if (known !== undefined) return known;
    const trouble = (error: unknown): void => void given.problemOf(error);
    const updates = makeUpdates(engine, trouble);
    const bus = makeBus(updates);
    const make = ({ era, authInfo: caller }: McpRequestContext): McpServer =>
      makeServer(accessIn(caller), { era, extension, publish: bus.publish });
    const modern = createMcpHandler(make, { legacy: "reject", bus });
    const legacy = makeLegacySessions({
      world: internalsOf(engine).world,
      lasting: (access) => makeServer(access, { era: "legacy", updates, extension }),
      passing: make,
    });
    const made = { modern, legacy };
    shared.set(store, made);
    const stop = (): void => {
      legacy.stop();
      void modern.close();
      shared.delete(store);
    };
    given.stopping.addEventListener("abort", stop, { once: true });
    return made;
  }

  return async (given) => {
    try {
      const caller = await given.authorize({ scope: null });
      if (given.path !== "/") return reject(given, 404, codes.request, "no such route");
      const { modern, legacy } = sharedOf(caller, given);
      const body = given.request.method === "POST" ? await readMessage(given) : {};
      if (body === null) return reject(given, 400, codes.parse, "Parse error: the body is not valid JSON");
      const request = asRequest(given, body);
      const auth = authOf(caller, given);
      const asked = { authInfo: auth, ...("message" in body ? { parsedBody: body.message } : {}) };
      const isLegacy = await isLegacyRequest(request, asked.parsedBody);
      const response = isLegacy
        ? await legacy.answer(request, { ...asked, access: accessIn(auth), token: caller.token })
        : await modern.fetch(request, asked);
      await send(given, caller, response);
    } catch (error) {
      if (given.response.headersSent) throw error;
      const problem = given.problemOf(error);
      const { status, detail, code, hint } = problem;
      reject(given, status, codes.server, detail, { code, hint, headers: given.problemHeaders(problem) });
    }
  };
}

/** Who asks, for the servers that are made for the request. The token itself goes no further. */
function authOf({ engine, scopes, session, token }: Caller, given: MountRequest): AuthInfo {
  const access: McpAccess = { engine, scopes, session, problemOf: (error) => given.problemOf(error) };
  return { token: "", clientId: token, scopes: [...scopes], extra: { access } };
}

const accessIn = (auth: AuthInfo | undefined): McpAccess => {
  const access = auth?.extra?.["access"];
  if (access === undefined) throw new Error("a request without a caller");
  return access as McpAccess;
};

interface Message {
  readonly text?: string;
  readonly message?: unknown;
}

/** Null when the body is not JSON. */
async function readMessage(given: MountRequest): Promise<Message | null> {
  const text = (await given.readBytes(bodyBytesMax)).toString("utf8");
  try {
    return { text, message: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

function asRequest({ request, url, path, gone, stopping }: MountRequest, { text }: Message): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    // Code that needs the caller gets it from the authorizer.
    if (value === undefined || name === "authorization" || name === "cookie") continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  return new Request(new URL(`/mcp${path === "/" ? "" : path}`, url), {
    method: request.method ?? "GET",
    headers,
    signal: AbortSignal.any([gone, stopping]),
    ...(text === undefined ? {} : { body: text }),
  });
}

async function send(given: MountRequest, caller: Caller, answer: Response): Promise<void> {
  const { headers, body, status } = answer;
  if (headers.get("content-type")?.startsWith("text/event-stream") === true && body !== null) {
    const session = headers.get("mcp-session-id");
    const more = session === null ? {} : { "mcp-session-id": session };
    return given.stream(caller, (sink) => pump(body, sink), more);
  }
  const text = await answer.text();
  const own = { ...given.headers, ...Object.fromEntries(headers), "cache-control": "no-store" };
  given.response.writeHead(status, { ...own, "content-length": String(Buffer.byteLength(text)) });
  given.response.end(text);
}

/** Ends with the answer, or when its reader is gone. */
async function pump(body: ReadableStream<Uint8Array>, sink: Sink): Promise<void> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  sink.signal.addEventListener("abort", stop, { once: true });
  if (sink.signal.aborted) stop();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      sink.write(decoder.decode(value, { stream: true }));
      if (sink.isFull) await sink.drained();
    }
  } finally {
    sink.signal.removeEventListener("abort", stop);
  }
}

interface Rejection {
  readonly code?: string;
  readonly hint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error of JSON-RPC, before the request itself could be read. */
function reject(
  given: MountRequest,
  status: number,
  rpcCode: number,
  message: string,
  { code, hint, headers = {} }: Rejection = {},
): void {
  const data = code === undefined ? {} : { data: { code, ...(hint === undefined ? {} : { hint }) } };
  given.send(status, { jsonrpc: "2.0", id: null, error: { code: rpcCode, message, ...data } }, headers);
}

/** Changes of the store, and what servers publish themselves. */
function makeBus(updates: Updates): ServerEventBus {
  const listeners = new Set<(event: ServerEvent) => void>();
  return {
    publish(event) {
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      const stop = updates.subscribe((uri) =>
        listener(uri === null ? { kind: "resources_list_changed" } : { kind: "resource_updated", uri }),
      );
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}
