/**
 * The server: the whole engine over HTTP. Plain node:http and the table of operations; its options decide
 * which engines it opens and who has access.
 */
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { withoutTokens } from "../../core/workspace/access-token.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { firstError } from "../../core/first-error.ts";
import type { OperationId } from "../../call/operations.ts";
import { describeApi } from "../../protocol/openapi.ts";
import { mePath, type Me } from "../../protocol/me.ts";
import { makeProblem, type Problem, type ProblemCode } from "../../protocol/problem.ts";
import type { Deps } from "../../runtime/deps.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import { answerCall, type ServerContext } from "./operation-request.ts";
import { makeArrivals, type Arrivals } from "./request-timeout.ts";
import { isProblem, type Caller, type Authorizer } from "../auth/authorize.ts";
import { rateHeaders } from "../auth/rate-limit.ts";
import { docsFileAt, isDocs, isVisit, makePageSender, pageFileAt } from "./console-files.ts";
import type { PageFiles } from "./console-files.ts";
import { cookieName } from "./cookie.ts";
import { makeGather } from "./batch.ts";
import { checkHead } from "./request-head.ts";
import { makeHub, type Hub } from "../stream/hub.ts";
import { makeMounts, type Mount, type Mounts } from "./mount.ts";
import { makeKeptAnswers } from "./stored-response.ts";
import { safetyHeaders } from "./cross-origin.ts";
import { hooksPath } from "./webhooks-in.ts";
import { apiPage } from "./api-page.ts";
import { problemOf, ProblemError, reportOnce } from "./problem.ts";
import { checkRelayAddress, makeRelay, relayAddress } from "../stream/relay.ts";
import { relayPath } from "../stream/relay-proof.ts";
import { sendJson, sendProblem, sendText, type Headers } from "./reply.ts";
import { findRoute, parseTarget, type RequestTarget } from "./router.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { LocalTranscripts } from "../../transcripts/local-transcripts.ts";

/** One completed request. Never a token, never a body. */
export interface CompletedRequest {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationId | null;
  readonly status: number;
  readonly ms: number;
  readonly tenant: string | null;
  readonly actor: string | null;
}

/** Another handler for its own path: webhooks, metrics. True when it has answered. */
export type SideRoute = (
  request: IncomingMessage,
  response: ServerResponse,
  asked: { readonly target: RequestTarget; readonly headers: Headers; readonly authorizer: Authorizer },
) => Promise<boolean>;

export interface ServeOptions {
  /** Defaults to 127.0.0.1, and a port that the system chooses. */
  readonly host?: string;
  readonly port?: number;
  readonly world: Pick<World, "now" | "steady" | "sleep" | "defer" | "random">;
  /** Of the program, for /openapi.json. */
  readonly version: string;
  /** The authorizer; made once the port is known. */
  readonly authorizer: (bound: { readonly host: string; readonly port: number }) => Authorizer;
  /** Engines whose sessions run here from the start: other servers get their deltas. */
  readonly engines?: readonly Engine[];
  /** The URL of this server for other servers of the store; defaults to where it listens. */
  readonly relayAddress?: string;
  /**
   * True allows callers to name other stores: to send a message there, or to move sessions. The server opens
   * them as its own user. Defaults to false.
   */
  readonly otherStores?: boolean;
  /** True allows webhooks at addresses of this machine and of private networks. Defaults to false. */
  readonly privateHooks?: boolean;
  /** The sessions of other tools that callers may import. By default only those that they upload. */
  readonly transcripts?: LocalTranscripts;
  /** The files of the console. Without them `/` is the API page, which is always at `/api`. */
  readonly page?: PageFiles;
  /** The docs site at `/docs`, read at its first request. Null: it was not built. */
  readonly docs?: () => Promise<PageFiles | null>;
  /** True when requests can be served now, for /readyz. Always by default. */
  readonly isReady?: () => Promise<boolean>;
  readonly besides?: readonly SideRoute[];
  /** Other protocols, each below its prefix. */
  readonly mounts?: readonly Mount[];
  readonly onRequest?: (completed: CompletedRequest) => void;
  /** Called when a stream begins and ends. */
  readonly streaming?: (change: 1 | -1, tenant: string) => void;
  /** Receives errors that only a bug of the program, or of the store, explains. */
  readonly trouble?: (error: unknown) => void;
}

const uploadsOnly = ({ now }: Pick<World, "now">): LocalTranscripts =>
  new LocalTranscripts({ from: null, machine: { home: "", env: {} }, now });

export interface RunningServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** `http://127.0.0.1:8700` */
  readonly url: string;
  /** Ends streams, finishes requests in progress, and closes. Engines stay open. May be called twice. */
  stop(): Promise<void>;
}

/** How long a stop waits for requests in progress. */
const stopGraceMs = 5_000;
const stopLookMs = 10;
/** How often timeouts are checked. */
const lookMs = 1_000;

export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", world } = options;
  const stopping = new AbortController();
  const server = createServer({
    maxHeaderSize: limit.requestHeaderBytesMax,
    // How long a body may take depends on its kind: request-timeout.ts.
    requestTimeout: 0,
    headersTimeout: limit.requestMs,
    connectionsCheckingInterval: lookMs,
    keepAliveTimeout: 65_000,
    // A missing one is rejected below, as a problem.
    requireHostHeader: false,
  });
  server.maxConnections = limit.connectionsMax;
  server.on("clientError", refuseRaw);
  server.listen({ host, port: options.port ?? 0 });
  await listening(server, host, options.port);
  const { port } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  const url = `http://${name}:${port}`;
  const hubs = makeHubs(options.trouble ?? ignore);
  const { relayAddress: given } = options;
  const authorizer = orClosed(server, () => options.authorizer({ host, port }));
  const usual = relayAddress({ host, url });
  const address = orClosed(server, () => (given === undefined ? usual : checkRelayAddress(given)));
  const relay = makeRelay({
    address,
    hubOf: hubs.of,
    stopping: stopping.signal,
    random: world.random,
  });
  for (const engine of options.engines ?? []) relay.addEngine(engine);
  const arrivals = makeArrivals(() => world.steady?.() ?? world.now());
  void lookOn(arrivals, world, stopping.signal);
  const serverContext: ServerContext = {
    authorizer,
    arrivals,
    kept: makeKeptAnswers(),
    gather: makeGather(world.defer),
    hubOf: hubs.of,
    otherStores: options.otherStores ?? false,
    privateHooks: options.privateHooks ?? false,
    transcripts: options.transcripts ?? uploadsOnly(world),
    relay,
    stopping: stopping.signal,
    trouble: reportOnce(options.trouble ?? ignore, () => world.steady?.() ?? world.now()),
    streaming: options.streaming ?? ignore,
  };
  const mounts = makeMounts(serverContext, options.mounts ?? []);
  const listener = makeListener(serverContext, { ...options, port, mounts });
  server.on("request", listener);
  // Other expectations are not a reason to reject a request.
  server.on("checkExpectation", listener);
  let stopped: Promise<void> | null = null;

  async function stop(): Promise<void> {
    stopping.abort();
    const unrelayed = relay.stop();
    hubs.stop();
    const closed = new AbortController();
    server.close(() => closed.abort());
    // Connections become idle one by one, as their requests end.
    for (let waitedMs = 0; !closed.signal.aborted; waitedMs += stopLookMs) {
      if (waitedMs < stopGraceMs) server.closeIdleConnections();
      else server.closeAllConnections();
      await world.sleep(stopLookMs);
    }
    await unrelayed;
    // What a mount records after its response: the caller may close the store next.
    const waited = new AbortController();
    await Promise.race([mounts.settled(), world.sleep(stopGraceMs, waited.signal)]);
    waited.abort();
  }

  const stopOnce = (): Promise<void> => (stopped ??= stop());
  return {
    host,
    port,
    url,
    stop: stopOnce,
    [Symbol.asyncDispose]: stopOnce,
  };
}

const ignore = (): void => undefined;

/** A server that failed to start stops listening: otherwise it would keep the process alive. */
function orClosed<T>(server: Server, work: () => T): T {
  try {
    return work();
  } catch (error) {
    server.close();
    throw error;
  }
}

async function listening(server: Server, host: string, port: number | undefined): Promise<void> {
  try {
    await once(server, "listening");
  } catch (error) {
    const { code } = error as { readonly code?: string };
    const why = code === "EADDRINUSE" ? "something else listens there already" : (error as Error).message;
    throw new SkeinError("unavailable", `listening on ${host}:${port ?? 0} failed: ${why}`, {
      hint: code === "EADDRINUSE" ? "use another port, or 0 for any free port" : undefined,
      cause: error,
    });
  }
}

/** One for each store, made with its first stream. */
function makeHubs(trouble: (error: unknown) => void) {
  const hubs = new Map<Deps["store"], Hub>();
  let isOver = false;
  return {
    of(engine: Engine): Hub {
      const { store } = internalsOf(engine);
      const hub = hubs.get(store) ?? makeHub(engine, trouble);
      hubs.set(store, hub);
      // A request may still arrive over an open connection.
      if (isOver) hub.stop();
      return hub;
    },
    stop(): void {
      isOver = true;
      for (const hub of hubs.values()) hub.stop();
      hubs.clear();
    },
  };
}

const rawDetails: Partial<Record<ProblemCode, string>> = {
  "header-too-large": `the headers of a request have at most ${limit.requestHeaderBytesMax} bytes`,
  "timed-out": `no whole head of a request onAuthenticated within ${limit.requestMs / 1_000} seconds`,
};

/** Bytes that are not a valid request. */
function refuseRaw(error: Error & { readonly code?: string }, socket: Socket): void {
  const codes: Readonly<Record<string, ProblemCode>> = {
    HPE_HEADER_OVERFLOW: "header-too-large",
    ERR_HTTP_REQUEST_TIMEOUT: "timed-out",
  };
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const code = codes[error.code ?? ""] ?? "invalid";
  const problem = makeProblem(code, rawDetails[code] ?? "malformed request");
  const text = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ""}`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(text)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** Keeps checking until the server stops: then connections are closed. */
async function lookOn(
  arrivals: Pick<Arrivals, "look">,
  { sleep }: Pick<World, "sleep">,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    await sleep(lookMs, stopping);
    arrivals.look();
  }
}

interface ListenerOptions {
  readonly port: number;
  readonly mounts: Mounts;
}

function makeListener(
  serverContext: ServerContext,
  { port, mounts, ...options }: Omit<ServeOptions, "mounts"> & ListenerOptions,
) {
  const safe = safetyHeaders();
  const description = JSON.stringify(describeApi({ version: options.version, cookie: cookieName(port) }));
  const sendPageFile = makePageSender();
  let docsFiles: Promise<PageFiles | null> | undefined;
  const { gate } = serverContext.authorizer;
  const clock = (): number => options.world.steady?.() ?? options.world.now();

  async function plain(
    request: IncomingMessage,
    response: ServerResponse,
    { target, headers }: { readonly target: RequestTarget; readonly headers: Headers },
  ): Promise<boolean> {
    const { path } = target;
    if (request.method === "OPTIONS") {
      const flight = gate.preflight(request);
      if (isProblem(flight)) throw new ProblemError(flight);
      const allow = request.headers.origin === undefined ? { allow: allowedAt(path) } : {};
      sendText(response, flight.status, "", { ...headers, ...flight.headers, ...allow });
      return true;
    }
    if (path === mePath) return me(request, response, headers);
    if (loginPaths.includes(path)) return logged(request, response, { path, headers });
    if (isDocs(path)) return docs(request, response, { path, headers });
    const file = apiPage.get(path);
    const isOther = file !== undefined || readPaths.includes(path);
    const shown = !isOther && isVisit(request, path) ? "/" : path;
    const page = options.page && (pageFileAt(options.page, path) ?? pageFileAt(options.page, shown));
    if (page === undefined && !isOther) return false;
    checkReads(request);
    if (page !== undefined) await sendPageFile(request, response, { file: page, headers });
    else if (file !== undefined)
      sendText(response, 200, file.text, { ...headers, "content-type": file.type });
    else if (path === "/openapi.json") sendJson(response, description, headers);
    else await health(response, path, headers);
    return true;
  }

  /** The docs site. Its links are relative, so that `/docs` itself leads to `/docs/`. */
  async function docs(
    request: IncomingMessage,
    response: ServerResponse,
    { path, headers }: { readonly path: string; readonly headers: Headers },
  ): Promise<boolean> {
    const files = (await (docsFiles ??= options.docs?.())) ?? null;
    if (files === null) return false;
    checkReads(request);
    if (path === "/docs") {
      sendText(response, 308, "", { ...headers, location: "docs/" });
      return true;
    }
    const found = docsFileAt(files, path);
    const isPage = /\btext\/html\b/.test(request.headers.accept ?? "");
    const file = found ?? (isPage ? files.get("/404.html") : undefined);
    if (file === undefined) return false;
    await sendPageFile(request, response, { file, headers, status: found === undefined ? 404 : 200 });
    return true;
  }

  /** The methods of a path. */
  function allowedAt(path: string): string {
    if (loginPaths.includes(path)) return "POST, OPTIONS";
    const isFile =
      apiPage.has(path) || isDocs(path) || (options.page && pageFileAt(options.page, path)) !== undefined;
    if (isFile || path === mePath || readPaths.includes(path)) return "GET, HEAD, OPTIONS";
    const found = findRoute("OPTIONS", path) as Problem;
    if (found.code !== "wrong-method") throw new ProblemError(found);
    return `${String(found["allow"])}, OPTIONS`;
  }

  async function me(request: IncomingMessage, response: ServerResponse, headers: Headers): Promise<boolean> {
    checkReads(request);
    const who = await serverContext.authorizer.authorize(request, { operation: { scope: null } });
    if (isProblem(who)) throw new ProblemError(who);
    const { actor, tenant, scopes, expiresAt, rate } = who;
    const { version } = options;
    const answered: Me = { actor, tenant, scopes: [...scopes], expiresAt, version };
    sendJson(response, JSON.stringify(answered), { ...headers, ...rateHeaders(rate) });
    return true;
  }

  async function health(response: ServerResponse, path: string, headers: Headers): Promise<void> {
    const isReady = path === "/healthz" || ((await options.isReady?.()) ?? true);
    const isUp = isReady && !serverContext.stopping.aborted;
    if (!isUp) throw new ProblemError(makeProblem("unavailable", "the server is starting or stopping"));
    sendJson(response, JSON.stringify({ status: "ok" }), headers);
  }

  async function logged(
    request: IncomingMessage,
    response: ServerResponse,
    { path, headers }: { readonly path: string; readonly headers: Headers },
  ): Promise<boolean> {
    if (request.method !== "POST")
      throw new ProblemError({ ...makeProblem("wrong-method", "allowed methods: POST"), allow: "POST" });
    const { login, logout } = serverContext.authorizer;
    const done = path === "/v1/login" ? await login(request) : logout(request);
    if (isProblem(done)) throw new ProblemError(done);
    sendText(response, 204, "", { ...headers, "set-cookie": done.setCookie });
    return true;
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    { completed, headers }: { completed: Mutable<CompletedRequest>; headers: Record<string, string> },
  ): Promise<void> {
    const problem = checkHead(request) ?? gate.check(request);
    const target = parseTarget(request.url ?? "/");
    if (isProblem(target)) throw new ProblemError(target);
    if (options.onRequest !== undefined) completed.path = shownPath(target.path);
    // Monitoring and other servers may use any host name.
    const isByAnyName = target.path === "/healthz" || target.path === relayPath;
    if (problem !== null && (!isByAnyName || problem.code === "invalid")) throw new ProblemError(problem);
    if (serverContext.relay.answer(request, response, { target, headers })) return;
    for (const beside of options.besides ?? [])
      if (await beside(request, response, { target, headers, authorizer: serverContext.authorizer })) return;
    const onAuthenticated = ({ tenant, actor, rate }: Caller): void => {
      [completed.tenant, completed.actor] = [tenant, actor];
      Object.assign(headers, rateHeaders(rate));
    };
    const context = { request, response, target, headers, onAuthenticated };
    if (await mounts.answer(context)) return;
    if (await plain(request, response, { target, headers })) return;
    const route = findRoute(request.method ?? "GET", target.path);
    if (isProblem(route)) throw new ProblemError(route);
    completed.operation = route.id;
    await answerCall(serverContext, context, route);
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const startedMs = clock();
    const completed: Mutable<CompletedRequest> = { ...unknownRequest, method: request.method ?? "" };
    serverContext.arrivals.begin(request, (problem) => {
      if (response.headersSent) return void request.socket.destroy();
      const headers = { ...safe, ...gate.corsHeaders(request), connection: "close" };
      return sendProblem(request, response, problem, headers);
    });
    request.on("error", ignore);
    response.on("error", ignore);
    const headers: Record<string, string> = { ...safe, ...gate.corsHeaders(request) };
    answer(request, response, { completed, headers })
      .catch((error: unknown) => {
        // The client of an aborted request waits for no response.
        if (request.destroyed && !request.complete) return response.destroy();
        const problem = problemOf(firstError(error), serverContext.trouble);
        if (response.headersSent) return response.destroy();
        return sendProblem(request, response, problem, headers);
      })
      .catch(serverContext.trouble)
      .finally(() => {
        serverContext.arrivals.end(request);
        options.onRequest?.({ ...completed, status: response.statusCode, ms: clock() - startedMs });
      });
  };
}

function checkReads({ method }: IncomingMessage): void {
  if (method === "GET" || method === "HEAD") return;
  throw new ProblemError({ ...makeProblem("wrong-method", "allowed methods: GET"), allow: "GET, HEAD" });
}

const loginPaths: readonly string[] = ["/v1/login", "/v1/logout"];
const readPaths: readonly string[] = ["/openapi.json", "/healthz", "/readyz"];

/** Tokens of webhooks stand in the path. */
const shownPath = (path: string): string =>
  withoutTokens(path.startsWith(hooksPath) ? `${hooksPath}…` : path);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const unknownRequest: CompletedRequest = {
  method: "",
  path: "",
  operation: null,
  status: 0,
  ms: 0,
  tenant: null,
  actor: null,
};
