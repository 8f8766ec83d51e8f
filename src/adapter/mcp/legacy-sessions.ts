/**
 * Sessions of the protocol up to 2025-11-25, in this process. They carry what a single request cannot: a
 * stream of notifications, subscriptions, and requests to the client. A request of a session that this
 * process does not know (another server had it, or this one was restarted) is answered without one, so that
 * tool calls go on.
 */
import {
  isInitializeRequest,
  legacyStatelessFallback,
  WebStandardStreamableHTTPServerTransport,
  type AuthInfo,
  type McpServer,
  type McpServerFactory,
} from "@modelcontextprotocol/server";
import type { World } from "../../runtime/world.ts";
import type { McpAccess } from "./access.ts";
import { makeEventStore } from "./legacy-events.ts";

export interface LegacySessions {
  answer(request: Request, asked: LegacyRequest): Promise<Response>;
  /** Ends all of them: the server stops. */
  stop(): void;
}

interface LegacyRequest {
  readonly authInfo: AuthInfo;
  readonly parsedBody?: unknown;
  readonly access: McpAccess;
  /** The id of the caller's token: a session belongs to one. */
  readonly token: string;
}

interface LegacySessionsOptions {
  readonly world: Pick<World, "now" | "steady" | "random">;
  /** A server for a session. */
  readonly lasting: (access: McpAccess) => McpServer;
  /** A server for one request. */
  readonly passing: McpServerFactory;
}

interface LegacySession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly token: string;
  usedMs: number;
  /** Requests and streams in progress. */
  busy: number;
}

/** After a broken stream. */
const retryMs = 1_000;
const idleMs = 1_800_000;
const openMax = 1_000;
const openMaxOfToken = 100;
const closedMax = 1_000;

export function makeLegacySessions({ world, lasting, passing }: LegacySessionsOptions): LegacySessions {
  const open = new Map<string, LegacySession>();
  /** Ended by their clients: they must not be used again. */
  const closed = new Set<string>();
  const stateless = legacyStatelessFallback(passing);
  const clock = (): number => world.steady?.() ?? world.now();

  async function begin(request: Request, { access, token, ...asked }: LegacyRequest): Promise<Response> {
    makeRoom(token);
    const id = Buffer.from(world.random(24)).toString("base64url");
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void open.set(id, { transport, token, usedMs: clock(), busy: 0 }),
      onsessionclosed: () => end(id),
      eventStore: makeEventStore(),
      retryInterval: retryMs,
    });
    await lasting(access).connect(transport);
    return transport.handleRequest(request, asked);
  }

  function end(id: string): void {
    if (!open.delete(id)) return;
    closed.add(id);
    const [oldest] = closed;
    if (closed.size > closedMax && oldest !== undefined) closed.delete(oldest);
  }

  /** Idle sessions end, and the longest unused when there are too many. */
  function makeRoom(token: string): void {
    const nowMs = clock();
    const byUse = [...open].toSorted(([, a], [, b]) => a.usedMs - b.usedMs);
    for (const [id, one] of byUse) if (one.busy === 0 && nowMs - one.usedMs > idleMs) drop(id, one);
    const own = byUse.filter(([id, one]) => open.has(id) && one.token === token);
    if (own.length >= openMaxOfToken) for (const [id, one] of own.slice(0, 1)) drop(id, one);
    if (open.size >= openMax) for (const [id, one] of byUse.slice(0, 1)) drop(id, one);
  }

  function drop(id: string, { transport }: LegacySession): void {
    open.delete(id);
    void transport.close().catch(() => undefined);
  }

  return {
    async answer(request, asked) {
      const { parsedBody, token, authInfo } = asked;
      const id = request.headers.get("mcp-session-id");
      const messages: readonly unknown[] = Array.isArray(parsedBody) ? parsedBody : [parsedBody];
      if (id === null && messages.some((one) => isInitializeRequest(one))) return begin(request, asked);
      const known = id === null ? undefined : open.get(id);
      if (known?.token === token) return answerIn(known, request, { authInfo, parsedBody });
      const isClosed = id !== null && (closed.has(id) || known !== undefined || request.method !== "POST");
      if (isClosed) return noSession();
      // Without the id, the protocol has no session to look for.
      const headers = new Headers(request.headers);
      headers.delete("mcp-session-id");
      return stateless(new Request(request, { headers }), { authInfo, ...given(parsedBody) });
    },
    stop() {
      for (const [id, one] of open) drop(id, one);
    },
  };

  async function answerIn(
    session: LegacySession,
    request: Request,
    { authInfo, parsedBody }: Pick<LegacyRequest, "authInfo" | "parsedBody">,
  ): Promise<Response> {
    session.busy += 1;
    session.usedMs = clock();
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      session.busy -= 1;
      session.usedMs = clock();
    };
    try {
      const response = await session.transport.handleRequest(request, { authInfo, ...given(parsedBody) });
      if (response.body === null || !isStream(response)) over();
      else request.signal.addEventListener("abort", over, { once: true });
      return response;
    } catch (error) {
      over();
      throw error;
    }
  }
}

const given = (parsedBody: unknown) => (parsedBody === undefined ? {} : { parsedBody });

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") === true;

const noSession = (): Response =>
  Response.json(
    { jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found: initialize again" } },
    { status: 404 },
  );
