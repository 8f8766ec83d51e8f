/**
 * Another protocol, served below its prefix: `/mcp`, `/openai`. A mount passes the same gate, tokens, tenants
 * and limits as the calls below `/v1`; only paths, bodies and the shape of errors differ. Its code loads with
 * its first request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { SkeinError } from "../../core/error.ts";
import { firstError } from "../../core/first-error.ts";
import type { TokenScope } from "../../core/workspace/access-token.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";
import { isProblem, problemHeaders, type Caller } from "../auth/authorize.ts";
import { endWithToken } from "../auth/token-expiry.ts";
import { openSink, type Sink } from "../stream/sink.ts";
import { readBytesUpTo, readText } from "./body.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { FeedFollower } from "../outbound/feed-follow.ts";
import type { Gate } from "./cross-origin.ts";
import type { ServerContext } from "./operation-request.ts";
import { problemOf, ProblemError } from "./problem.ts";
import { sendText, type Headers } from "./reply.ts";
import type { RequestTarget } from "./router.ts";

/** A protocol and where it is served. */
export interface Mount {
  /** The first segment of its paths: `/mcp`. It owns this path and all below it. */
  readonly prefix: string;
  /** Optional packages that it needs: the error names them when one is missing. */
  readonly packages?: readonly string[];
  /** Methods and request headers that pages of allowed origins may use besides the usual ones. */
  readonly cors?: { readonly methods?: readonly string[]; readonly headers?: readonly string[] };
  /** Called once, with the first request. */
  load(): Promise<MountHandler>;
  /** What it does without a request, such as calls to other servers. Begins with the server. */
  readonly follow?: (engine: Engine, trouble: (error: unknown) => void) => Promise<FeedFollower>;
}

/** Answers one request. An error that it throws is sent as a problem: handle those of the protocol inside. */
export type MountHandler = (request: MountRequest) => Promise<void>;

/** What a caller of a mount must be allowed. */
export interface MountAccess {
  /** Null: any valid token. */
  readonly scope: TokenScope | null;
  /** The one session that the request is about. A token for one session has no access without it. */
  readonly session?: string;
  /** Where the protocol has the token, if not in the header `Authorization`. */
  readonly token?: string;
}

/** One request to a mount. */
export interface MountRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The path after the prefix, not decoded; `/` when there is none. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Send them with every response: safety and CORS. */
  readonly headers: Headers;
  /** The server's own URL, as the caller named it: `http://127.0.0.1:7717`. */
  readonly url: string;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  /** The caller, or an error before anything is looked up. Call it before the body is read. */
  authorize(access: MountAccess): Promise<Caller>;
  /**
   * The engine of a tenant, for a token of the protocol's own, which `check` accepts or not. The error is
   * that of an invalid token.
   */
  admit(tenant: string, check: (engine: Engine) => Promise<boolean>): Promise<Engine>;
  /** The whole body, of any type, up to a length. */
  readBytes(max: number): Promise<Buffer>;
  /** The JSON body. `{}` when there is none. */
  readJson(): Promise<unknown>;
  /** The body may take long, as long as it keeps the pace of uploads. */
  allowSlowBody(): void;
  /** The public form of any error; unexpected ones go to the operator. */
  problemOf(error: unknown): Problem;
  /** Headers that go with a problem: WWW-Authenticate, Retry-After. */
  problemHeaders(problem: Problem): Headers;
  /** Sends JSON. */
  send(status: number, body: unknown, more?: Headers): void;
  /**
   * Streams server-sent events until `run` ends, the client disconnects, the token expires or the server
   * stops. `run` must watch `sink.signal`, and wait for `drained` while the sink is full.
   */
  stream(caller: Caller, run: (sink: Sink) => Promise<void>, more?: Headers): Promise<void>;
}

interface MountedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: RequestTarget;
  readonly headers: Headers;
  readonly onAuthenticated: (who: Caller) => void;
}

/** The mounts of a server. */
export interface Mounts {
  /** Finds the mount of a path and answers by it. False when the path is of no mount. */
  answer(given: MountedRequest): Promise<boolean>;
  /** Resolves when all requests in progress are over, with what they record after their response. */
  settled(): Promise<unknown>;
}

/** Makes them. Each loads with its first request. */
export function makeMounts(server: ServerContext, mounts: readonly Mount[]): Mounts {
  const running = new Set<Promise<void>>();
  const loaded = new Map<Mount, Promise<MountHandler>>();

  function handlerOf(mount: Mount): Promise<MountHandler> {
    const known = loaded.get(mount);
    if (known !== undefined) return known;
    const loading = mount.load().catch((error: unknown) => {
      loaded.delete(mount);
      throw missingPackage(mount, error);
    });
    loaded.set(mount, loading);
    return loading;
  }

  return {
    async answer(given) {
      const { path } = given.target;
      const mount = mounts.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
      if (mount === undefined) return false;
      if (given.request.method === "OPTIONS" && given.request.headers.origin !== undefined)
        preflight(server.authorizer.gate, mount, given);
      else {
        const one = handlerOf(mount).then((handler) => handler(mountRequest(server, mount, given)));
        running.add(one);
        await one.finally(() => running.delete(one));
      }
      return true;
    },
    settled: () => Promise.allSettled(running),
  };
}

/** An optional package that is not installed: the operator can add it. */
function missingPackage({ prefix, packages = [] }: Mount, error: unknown): unknown {
  const { code } = error as { readonly code?: string };
  if (code !== "ERR_MODULE_NOT_FOUND" || packages.length === 0) return error;
  return new SkeinError("unavailable", `${prefix}: ${packages.join(", ")} is not installed`, {
    hint: `the operator can add it: npm install ${packages.join(" ")}`,
    cause: error,
  });
}

function preflight(gate: Gate, { cors = {} }: Mount, { request, response, headers }: MountedRequest): void {
  const flight = gate.preflight(request);
  if (isProblem(flight)) throw new ProblemError(flight);
  const more = Object.entries(flight.headers).map(([name, value]) => {
    const added = name === "access-control-allow-methods" ? cors.methods : undefined;
    const extra = name === "access-control-allow-headers" ? cors.headers : added;
    return [name, [value, ...(extra ?? [])].join(", ")];
  });
  sendText(response, flight.status, "", { ...headers, ...(Object.fromEntries(more) as Headers) });
}

function mountRequest(server: ServerContext, mount: Mount, given: MountedRequest): MountRequest {
  const { request, response, target, headers } = given;
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  response.once("close", () => gone.abort());
  const tell = (error: unknown): Problem => problemOf(firstError(error), server.trouble);
  return {
    request,
    response,
    headers,
    path: target.path.slice(mount.prefix.length) || "/",
    query: target.query,
    url: server.authorizer.gate.urlOf(request),
    stopping: server.stopping,
    gone: gone.signal,
    async authorize({ scope, session, token }) {
      const { method, socket } = request;
      const own = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const incoming = { method, socket, headers: { ...request.headers, ...own } };
      const who = await server.authorizer.authorize(incoming, {
        operation: { scope },
        ...(session === undefined ? {} : { session }),
      });
      if (isProblem(who)) throw new ProblemError(who);
      given.onAuthenticated(who);
      server.relay.addEngine(who.engine);
      return who;
    },
    async admit(tenant, check) {
      const engine = await server.authorizer.admit(request, tenant, check);
      if (isProblem(engine)) throw new ProblemError(engine);
      server.relay.addEngine(engine);
      return engine;
    },
    readBytes: (max) => readBytesUpTo(request, max),
    async readJson() {
      const text = await readText(request);
      if (text === "") return {};
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new ProblemError(makeProblem("invalid", "the request body is not valid JSON"));
      }
    },
    allowSlowBody: () => server.arrivals.pace(request),
    problemOf: tell,
    problemHeaders,
    send(status, body, more = {}) {
      const type = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
      sendText(response, status, JSON.stringify(body), { ...headers, ...type, ...more });
    },
    async stream(caller, run, more = {}) {
      const hub = server.hubOf(caller.engine);
      const sink = openSink(response, { ...headers, ...more }, server.stopping);
      const unwatch = endWithToken(caller, hub, sink.end);
      server.streaming(1, caller.tenant);
      try {
        await run(sink);
      } finally {
        server.streaming(-1, caller.tenant);
        unwatch();
        sink.end();
      }
    },
  };
}
