/** One request to an operation: authenticates, reads, calls, responds. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { SkeinError } from "../../core/error.ts";
import { isSessionId, isSessionName, quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { firstError } from "../../core/first-error.ts";
import { textInHeader } from "../../protocol/header.ts";
import type { OperationId } from "../../call/operations.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { hasGoneOn, type RequestScope } from "../../runtime/log/request-scope.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isReused } from "../../runtime/log/same-change.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Arrivals } from "./request-timeout.ts";
import { isProblem, type Caller, type Authorizer } from "../auth/authorize.ts";
import { readBytes, readParams, readText } from "./body.ts";
import { handle, needAlso, type OperationCall, type Handlers } from "./invocation.ts";
import { engineHandlers } from "./engine-handlers.ts";
import type { Gather } from "./batch.ts";
import type { Hub } from "../stream/hub.ts";
import { reusedProblem, type KeptAnswers } from "./stored-response.ts";
import { problemOf, ProblemError } from "./problem.ts";
import type { Relay } from "../stream/relay.ts";
import { sendBytes, sendJson, sendText, type Headers } from "./reply.ts";
import type { Route, RequestTarget } from "./router.ts";
import { sessionHandlers } from "./session-handlers.ts";
import { openSink, problemFrame } from "../stream/sink.ts";
import { endWithToken } from "../auth/token-expiry.ts";
import { streamed, streamOpeners, wantsStream, type StreamId, type StreamDeps } from "../stream/streams.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { LocalTranscripts } from "../../transcripts/local-transcripts.ts";

export interface ServerContext {
  readonly authorizer: Authorizer;
  readonly arrivals: Arrivals;
  readonly kept: KeptAnswers;
  readonly gather: Gather;
  hubOf(engine: Engine): Hub;
  /** True when callers may name other stores. */
  readonly otherStores: boolean;
  readonly privateHooks: boolean;
  readonly transcripts: LocalTranscripts;
  readonly relay: Pick<Relay, "addEngine" | "answer">;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  /** Receives errors that only a bug of the program, or of the store, explains. */
  readonly trouble: (error: unknown) => void;
  /** Called when a stream begins and ends. */
  readonly streaming: (change: 1 | -1, tenant: string) => void;
}

export interface RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: RequestTarget;
  readonly headers: Headers;
  /** Called with the caller, once authenticated. */
  readonly onAuthenticated: (who: Caller) => void;
}

const handlers: Handlers = { ...engineHandlers, ...sessionHandlers };

/** Resolves when it is answered. Rejects with the error, before anything is sent. */
export async function answerCall(
  serverContext: ServerContext,
  requestContext: RequestContext,
  route: Route,
): Promise<void> {
  const { request, target } = requestContext;
  const { operation, session } = route;
  const who = await serverContext.authorizer.authorize(request, { operation, session });
  if (isProblem(who)) throw new ProblemError(who);
  requestContext.onAuthenticated(who);
  serverContext.relay.addEngine(who.engine);
  if (session !== "" && !isSessionName(session)) throw noSession(session);
  checkAccept(request, route);
  if (operation.takes === "bytes") serverContext.arrivals.pace(request);
  const text = operation.takes === "json" ? await readText(request) : "";
  const params = readParams(operation, target.query, text);
  if (operation.method !== "GET") await serverContext.gather.join();
  const asked = isPlain(request) ? nothing : await askedOf(serverContext, who, { route, request, text });
  if (asked.same === true) serverContext.kept.check(keptName(who, request), route.session);
  const engine = internalsOf(who.engine).forRequest(asked);
  const key = keyIn(request);
  const call: OperationCall = {
    engine,
    scopes: who.scopes,
    id: route.session,
    session: () => sessionOf(engine, route),
    otherStores: serverContext.otherStores,
    privateHooks: serverContext.privateHooks,
    transcripts: serverContext.transcripts,
    keyed: operation.keyed && key !== undefined ? { key } : {},
    gone: () => goneSignal(requestContext.response),
    bytes: () => readBytes(request),
  };
  try {
    await perform(serverContext, requestContext, { route, call, params, who, text, asked });
  } catch (error) {
    throw askedError(error, asked);
  }
}

/** The error for the caller, where their key or expected position caused it. */
function askedError(error: unknown, asked: RequestScope): unknown {
  if (isReused(error)) return reusedProblem();
  if (!hasGoneOn(error, asked)) return error;
  const { message, hint } = error as SkeinError;
  return new ProblemError(makeProblem("precondition-failed", message, { hint, field: "If-Match" }));
}

const noSession = (given: string): ProblemError =>
  new ProblemError(
    makeProblem("invalid", `expected a session id, got ${quote(given)}`, {
      hint: 'a session id is "ses_" and 26 characters; a unique suffix is accepted',
      field: "id",
    }),
  );

interface PreparedCall {
  readonly asked: RequestScope;
  readonly route: Route;
  readonly call: OperationCall;
  readonly params: Readonly<Record<string, unknown>>;
  readonly who: Caller;
  readonly text: string;
}

async function perform(
  serverContext: ServerContext,
  requestContext: RequestContext,
  performance: PreparedCall,
): Promise<void> {
  const { request, response, headers } = requestContext;
  const { route, call, params, who, text } = performance;
  const { id, operation } = route;
  needAlso(call, operation, params);
  const isAsked = operation.gives === "stream" || (request.method !== "HEAD" && wantsStream(request, params));
  if (isStreamed(id) && isAsked) return stream(serverContext, requestContext, { ...performance, id });
  const answer = (): Promise<unknown> => handle(handlers[id], operation, call, params);
  if (operation.gives === "bytes") {
    const chunks = (await answer()) as AsyncIterable<Uint8Array>;
    const type = operation.call === "records" ? "application/x-ndjson" : "application/octet-stream";
    return sendBytes(response, chunks, { ...headers, "content-type": type });
  }
  const key = keyIn(request);
  const isKept = key !== undefined && operation.method !== "GET" && !operation.keyed;
  let value: unknown;
  if (isKept) {
    const name = keptName(who, request);
    const asked = { digest: digestOf(route, call.engine, text), session: route.session };
    const work = async (): Promise<string> => JSON.stringify((await answer()) ?? null);
    value = JSON.parse(await serverContext.kept.once(name, asked, work));
  } else value = (await answer()) ?? null;
  if (operation.gives === "nothing") return sendText(response, 204, "", headers);
  if (isStreamed(id) && wantsStream(request, params)) return headOfStream(response, headers);
  sendJson(response, JSON.stringify(value), headers, placeHeaders(value as ExpectedHead));
}

/** A stream is for GET; HEAD returns its headers, and opens nothing. */
const headOfStream = (response: ServerResponse, headers: Headers): void => {
  const own = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };
  response.writeHead(200, { ...headers, ...own }).end();
};

const keptName = ({ tenant, actor }: Caller, request: IncomingMessage): string =>
  [tenant, actor, keyIn(request)].join("\n");

/** The write itself looks up its session; other sessions, and id suffixes, are looked up beforehand. */
async function sessionOf(engine: Engine, { operation, session }: Route): Promise<Session> {
  if (!operation.keyed || !isSessionId(session)) return engine.session(session);
  return internalsOf(engine).sessionAt(session);
}

const isStreamed = (id: OperationId): id is StreamId => streamed.some((one) => one === id);

async function stream(
  serverContext: ServerContext,
  { request, response, headers }: RequestContext,
  { call, params, who, id, asked }: PreparedCall & { readonly id: StreamId },
): Promise<void> {
  const given: StreamDeps = {
    hub: serverContext.hubOf(call.engine),
    lastEventId: lastEventIdIn(request),
    problemOf: (error) => problemOf(askedError(firstError(error), asked), serverContext.trouble),
  };
  const run = await streamOpeners[id](call, params as never, given);
  const sink = openSink(response, headers, serverContext.stopping);
  const unwatch = endWithToken(who, given.hub, sink.end);
  serverContext.streaming(1, who.tenant);
  try {
    await run(sink);
  } catch (error) {
    sink.write(problemFrame(given.problemOf(error)));
  } finally {
    serverContext.streaming(-1, who.tenant);
    unwatch();
    sink.end();
  }
}

type ExpectedHead = Readonly<Record<"headSeq" | "session" | "seq" | "hash", unknown>> | null;

/** The response to a change has the session's new position; a new resource has its URL. */
function placeHeaders(value: ExpectedHead): Headers {
  if (typeof value?.headSeq === "number") return { etag: `"${value.headSeq}"` };
  if (typeof value?.hash === "string" && typeof value.seq === "number") return { etag: `"${value.seq}"` };
  const isMade = typeof value?.session === "string" && Object.keys(value).length === 1;
  return isMade ? { location: `/v1/sessions/${value.session}` } : {};
}

const nothing: RequestScope = {};

/** Most callers give neither key nor expected position. */
const isPlain = ({ headers }: IncomingMessage): boolean =>
  headers["idempotency-key"] === undefined && headers["if-match"] === undefined;

/** The caller's key and expected position, for the engine. */
async function askedOf(
  { kept }: Pick<ServerContext, "kept">,
  who: Caller,
  { route, request, text }: Pick<PreparedCall, "route" | "text"> & { readonly request: IncomingMessage },
): Promise<RequestScope> {
  const { operation, session } = route;
  if (operation.method === "GET") return {};
  const key = keyIn(request);
  // Where the library takes a key, it is that key; else it covers the whole request.
  const own =
    key === undefined || operation.keyed
      ? undefined
      : digest(who.engine, `${who.actor}\n${digestOf(route, who.engine, text)}\n${key}`);
  const madeMs = key === undefined ? undefined : timeInKey(key);
  const same = operation.keyed && key !== undefined;
  const seq = seqIn(request);
  if (own !== undefined && key !== undefined && isSessionId(session)) await checkUnused(who, session, key);
  if (seq === undefined) return { key: own, madeMs, same };
  if (session === "") {
    throw new ProblemError(
      makeProblem("invalid", "If-Match: only allowed for changes of one session", { field: "If-Match" }),
    );
  }
  // A session that this very call has deleted does not exist, and is recognized by its key.
  const id = isSessionId(session) ? session : (await who.engine.session(session)).id;
  const { store, writer } = internalsOf(who.engine);
  const stored = own ?? key;
  const expect = { session: id, seq, key: stored };
  // A cached response, or one in progress, is used.
  if (key !== undefined && kept.has(keptName(who, request), digestOf(route, who.engine, text)))
    return { key: own, madeMs, same, expect };
  const head = await store.head(id);
  const isDone = stored !== undefined && (await writer.keyed(id, stored)) !== undefined;
  if (head !== undefined && head.seq !== seq && !isDone) {
    throw new ProblemError(
      makeProblem("precondition-failed", `${id} is at ${head.seq}, not at ${seq}`, {
        hint: "read the new events, then retry",
        field: "If-Match",
      }),
    );
  }
  return { key: own, madeMs, same, expect };
}

/** A key that a call passes to the library itself stands in the log as it is. */
async function checkUnused({ engine }: Caller, session: SessionId, key: string): Promise<void> {
  if ((await internalsOf(engine).writer.keyed(session, key)) !== undefined) throw reusedProblem();
}

const digest = (engine: Engine, text: string): string => internalsOf(engine).world.digest("", text);
const digestOf = ({ id, session }: Route, engine: Engine, text: string): string =>
  digest(engine, `${id}\n${session}\n${text}`);

/** For a UUID of version 7: its first 48 bits are milliseconds since 1970. */
function timeInKey(key: string): number | undefined {
  const found = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(key);
  return found === null ? undefined : Number.parseInt(`${found[1]}${found[2]}`, 16);
}

function keyIn({ headers }: IncomingMessage): string | undefined {
  const given = headers["idempotency-key"];
  if (given === undefined) return undefined;
  const max = limit.idempotencyKeyCharsMax;
  const key = typeof given === "string" ? textInHeader(given) : null;
  if (key !== null && key.length > 0 && key.length <= max) return key;
  throw new ProblemError(
    makeProblem("invalid", `Idempotency-Key: expected 1 to ${max} characters`, { field: "Idempotency-Key" }),
  );
}

/** `"12"`; `*` is not an expectation, since a changed session always exists. */
function seqIn({ headers }: IncomingMessage): number | undefined {
  const text = headers["if-match"];
  if (text === undefined || text === "*") return undefined;
  const [, seq] = /^"?(\d{1,15})"?$/.exec(text) ?? [];
  if (seq !== undefined) return Number(seq);
  throw new ProblemError(
    makeProblem("invalid", "If-Match: expected a position", { field: "If-Match", hint: 'for example "12"' }),
  );
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  response.once("close", () => gone.abort());
  return gone.signal;
}

const lastEventIdIn = ({ headers }: IncomingMessage): string | undefined => {
  const id = headers["last-event-id"];
  return Array.isArray(id) ? id[0] : id;
};

/** An `Accept` header must include an available type. */
function checkAccept({ headers: { accept } }: IncomingMessage, { operation }: Route): void {
  if (accept === undefined || operation.gives === "nothing") return;
  const types = accept.split(",").map((one) => one.split(";")[0]?.trim().toLowerCase() ?? "");
  const given =
    operation.gives === "stream"
      ? ["text/event-stream", "text/*"]
      : operation.gives === "bytes"
        ? ["application/octet-stream", "application/x-ndjson", "application/*"]
        : ["application/json", "application/*", ...(operation.streams ? ["text/event-stream"] : [])];
  if (types.some((type) => type === "*/*" || given.includes(type))) return;
  throw new ProblemError(
    makeProblem("not-acceptable", `Accept: available as ${given[0]}`, { field: "Accept" }),
  );
}
