/** Requests to `/a2a`, in both bindings: each is authorized before its body is read. */
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { extendedCard, publicCard } from "./card.ts";
import { A2aError, errorForms, invalid, type ErrorForms } from "./errors.ts";
import { taskId, taskPlace } from "./ids.ts";
import { fieldsOf, lengthOf, readSendRequest, textOf, type Fields } from "./message.ts";
import type { StreamResponse } from "./project.ts";
import { framed, streamFrames } from "../stream-frames.ts";
import type { PushCalls } from "../push-calls.ts";
import { deletePush, getPush, listPush, readPushConfig, setPush } from "./push-config.ts";
import { takeMessage } from "./send.ts";
import { cancelTask, findTask, followTask, keepAlive, listTasks, readTask } from "./tasks.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;
type Responses = AsyncGenerator<StreamResponse | typeof keepAlive, void>;

/** What one method answers with: an object, or a stream. */
type Answer = { readonly result: object | null } | { readonly stream: (signal: AbortSignal) => Responses };

/** A request of either binding. */
interface Call {
  readonly given: MountRequest;
  readonly caller: Caller;
  readonly params: Fields;
  /** Null: no push notifications. */
  readonly push: PushCalls | null;
}

const httpType = { "content-type": "application/a2a+json" };

/** The card at `/.well-known/agent-card.json`, for anyone. */
export const makePublicCard =
  (pushes: boolean) =>
  async (given: MountRequest): Promise<void> => {
    const { method = "GET" } = given.request;
    if (given.path !== "/" || (method !== "GET" && method !== "HEAD"))
      throw new ProblemError(makeProblem("no-route", "no such route", { hint: "GET the agent card" }));
    given.send(200, publicCard(given.url, pushes));
  };

/** Answers requests of clients. */
export const makeA2aHandler = (push: PushCalls | null) => (given: MountRequest) => answerA2a(given, push);

async function answerA2a(given: MountRequest, push: PushCalls | null): Promise<void> {
  const segments = given.path.split("/").slice(1).filter(Boolean).map(decoded);
  const { method = "GET" } = given.request;
  if (segments.some((one) => one === null)) return sendHttpError(given, invalid("the path is not valid"));
  const path = segments.join("/");
  if (method === "POST" && segments.length <= 1 && !path.includes(":")) return answerRpc(given, path, push);
  try {
    await answerHttp(given, { path, method, push });
  } catch (error) {
    sendHttpError(given, error);
  }
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

// --- HTTP+JSON

const routes: readonly [method: string, path: RegExp, name: string][] = [
  ["POST", /^message:send$/, "SendMessage"],
  ["POST", /^message:stream$/, "SendStreamingMessage"],
  ["GET", /^tasks$/, "ListTasks"],
  ["GET", /^tasks\/([^/:]+)$/, "GetTask"],
  ["POST", /^tasks\/([^/:]+):cancel$/, "CancelTask"],
  ["GET", /^tasks\/([^/:]+):subscribe$/, "SubscribeToTask"],
  ["POST", /^tasks\/([^/:]+):subscribe$/, "SubscribeToTask"],
  ["GET", /^extendedAgentCard$/, "GetExtendedAgentCard"],
  ["GET", /^\.well-known\/agent-card\.json$/, "GetExtendedAgentCard"],
  ["POST", /^tasks\/([^/:]+)\/pushNotificationConfigs$/, "CreateTaskPushNotificationConfig"],
  ["GET", /^tasks\/([^/:]+)\/pushNotificationConfigs$/, "ListTaskPushNotificationConfigs"],
  ["GET", /^tasks\/([^/:]+)\/pushNotificationConfigs\/([^/]+)$/, "GetTaskPushNotificationConfig"],
  ["DELETE", /^tasks\/([^/:]+)\/pushNotificationConfigs\/([^/]+)$/, "DeleteTaskPushNotificationConfig"],
];

interface Route {
  readonly name: string;
  readonly tenant: string | null;
  readonly id: string;
  /** The id of a push notification. */
  readonly config: string;
}

/** The method of a path, which may begin with a tenant. */
function routeOf(path: string, method: string): Route | null {
  const [first = "", ...rest] = path.split("/");
  for (const [tenant, one] of [[null, path] as const, [first, rest.join("/")] as const])
    for (const [verb, pattern, name] of routes) {
      const found = verb === method ? pattern.exec(one) : null;
      if (found !== null) return { name, tenant, id: found[1] ?? "", config: found[2] ?? "" };
    }
  return null;
}

interface HttpCall {
  readonly path: string;
  readonly method: string;
  readonly push: PushCalls | null;
}

async function answerHttp(given: MountRequest, { path, method, push }: HttpCall): Promise<void> {
  const route = routeOf(path, method);
  if (route === null) {
    const hint = "see /.well-known/agent-card.json for the bindings";
    throw new ProblemError(makeProblem("no-route", "no such route", { hint }));
  }
  const { name, tenant, id, config } = route;
  const session = taskPlace(id)?.session;
  const caller = await given.authorize({ scope: "read", ...(session === undefined ? {} : { session }) });
  // A card is read to learn the version.
  if (name !== "GetExtendedAgentCard") checkVersion(given);
  const hasBody = name.startsWith("Send") || name.startsWith("Create");
  const body = hasBody ? fieldsOf(await readJson(given)) : Object.fromEntries(given.query);
  // Of a task's push notifications, `id` is the one that is meant.
  const ofTask = name.includes("Push") ? { taskId: id, ...(config === "" ? {} : { id: config }) } : { id };
  const params = { ...body, ...(tenant === null ? {} : { tenant }), ...(id === "" ? {} : ofTask) };
  const answer = await methods[name]?.({ given, caller, params, push });
  if (answer === undefined) throw new ProblemError(makeProblem("no-route", "no such route"));
  if ("result" in answer) return given.send(200, answer.result, httpType);
  await stream(given, caller, answer.stream, {
    frame: (response) => `data: ${JSON.stringify(response)}\n\n`,
    failed: ({ http }) => `event: error\ndata: ${JSON.stringify(http)}\n\n`,
  });
}

function sendHttpError(given: MountRequest, error: unknown): void {
  const { status, http } = errorForms(error, given.problemOf);
  if (given.response.headersSent) given.response.end();
  else given.send(status, http, { ...headersOf(given, error), ...httpType });
}

/** WWW-Authenticate, Retry-After. */
const headersOf = (given: MountRequest, error: unknown): Readonly<Record<string, string>> =>
  error instanceof A2aError ? {} : { ...given.problemHeaders(given.problemOf(error)) };

// --- JSON-RPC

async function answerRpc(given: MountRequest, agent: string, push: PushCalls | null): Promise<void> {
  let id: unknown = null;
  try {
    const caller = await given.authorize({ scope: "read" });
    const request = fieldsOf(await readJson(given));
    id = idOf(request);
    checkVersion(given);
    const { method, params = {} } = request;
    const handler =
      typeof method === "string" && Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handler === undefined)
      return sendRpc(given, id, { error: { code: -32601, message: "no such method" } });
    if (typeof params !== "object" || params === null || Array.isArray(params))
      throw invalid("params: expected an object");
    const tenant = agent === "" ? {} : { tenant: agent };
    const answer = await handler({ given, caller, params: { ...fieldsOf(params), ...tenant }, push });
    if ("result" in answer) return sendRpc(given, id, { result: answer.result });
    await stream(given, caller, answer.stream, {
      frame: (result) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`,
      failed: ({ rpc }) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, error: rpc })}\n\n`,
    });
  } catch (error) {
    const { rpc, rpcStatus } = errorForms(error, given.problemOf);
    if (given.response.headersSent) given.response.end();
    else sendRpc(given, id, { error: rpc }, { status: rpcStatus, headers: headersOf(given, error) });
  }
}

const sendRpc = (
  given: MountRequest,
  id: unknown,
  outcome: { readonly result: unknown } | { readonly error: object },
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): void => given.send(status, { jsonrpc: "2.0", id, ...outcome }, headers);

function idOf(request: Fields): string | number | null {
  const { jsonrpc, id = null } = request;
  if (jsonrpc !== "2.0") throw invalid('jsonrpc: expected "2.0"');
  if (typeof id === "string" || (typeof id === "number" && Number.isInteger(id)) || id === null) return id;
  throw invalid("id: expected a text or an integer");
}

// --- both

async function readJson(given: MountRequest): Promise<unknown> {
  const [type = ""] = (given.request.headers["content-type"] ?? "").split(";");
  if (!["application/json", "application/a2a+json"].includes(type.trim().toLowerCase())) {
    const message = "expected Content-Type: application/json";
    throw new A2aError("CONTENT_TYPE_NOT_SUPPORTED", message);
  }
  const bytes = await given.readBytes(limit.requestBodyBytesMax);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch {
    throw invalid("the request body is not valid JSON");
  }
}

/** Absent: an older protocol, by the specification. */
function checkVersion({ request, query }: MountRequest): void {
  const asked = request.headers["a2a-version"] ?? query.get("A2A-Version") ?? "";
  if (/^1(\.\d{1,3}){0,2}$/.test(String(asked).trim())) return;
  throw new A2aError(
    "VERSION_NOT_SUPPORTED",
    `A2A-Version: expected 1.0, got ${JSON.stringify(String(asked).slice(0, 20))}`,
  );
}

const need =
  ({ scopes }: Caller) =>
  (scope: TokenScope, what: string): void => {
    if (allows(scopes, scope)) return;
    throw new ProblemError(makeProblem("forbidden", `${what} needs a token with the scope ${scope}`));
  };

function pushOf({ push }: Call): PushCalls {
  if (push !== null) return push;
  const message = "push notifications are not supported: the server was started without --push-secret";
  throw new A2aError("PUSH_NOTIFICATION_NOT_SUPPORTED", message);
}

const methods: Readonly<Record<string, (call: Call) => Promise<Answer>>> = {
  SendMessage: async (call) => {
    const { engine, sent, request } = await send(call);
    const { returnsAtOnce, historyLength } = request;
    if (!returnsAtOnce) {
      const signal = AbortSignal.any([call.given.gone, call.given.stopping]);
      for await (const _ of followTask(engine, sent.placed, { ...sent, signal, endsAtWait: true }));
    }
    return { result: { task: (await readTask(sent.placed)).task({ historyLength }) } };
  },
  SendStreamingMessage: async (call) => {
    const { engine, sent, request } = await send(call);
    const { historyLength } = request;
    return {
      stream: (signal) =>
        followTask(engine, sent.placed, { ...sent, signal, endsAtWait: true, historyLength }),
    };
  },
  GetTask: async ({ caller: { engine }, params }) => {
    const historyLength = lengthOf(params["historyLength"]);
    const task = await readTask(await findTask(engine, idIn(params)));
    return { result: task.task({ historyLength }) };
  },
  ListTasks: async ({ caller: { engine }, params }) => ({ result: await listTasks(engine, params) }),
  CancelTask: async ({ given, caller, params }) => {
    need(caller)("write", "canceling a task");
    const signal = AbortSignal.any([given.gone, given.stopping]);
    const placed = await findTask(caller.engine, idIn(params));
    return { result: await cancelTask(caller.engine, placed, signal) };
  },
  SubscribeToTask: async ({ caller: { engine }, params }) => {
    const placed = await findTask(engine, idIn(params));
    const { isOver, id } = await readTask(placed);
    if (isOver) throw new A2aError("UNSUPPORTED_OPERATION", `${id}: the task is over: get it instead`);
    return { stream: (signal) => followTask(engine, placed, { signal, endsAtWait: false }) };
  },
  GetExtendedAgentCard: async ({ given, caller: { engine }, params, push }) => {
    const agent = textOf("tenant", params["tenant"]) ?? null;
    return { result: await extendedCard(engine, { url: given.url, agent, pushes: push !== null }) };
  },
  CreateTaskPushNotificationConfig: async (call) => {
    const push = pushOf(call);
    const { engine } = call.caller;
    need(call.caller)("write", "a push notification");
    const config = readPushConfig(call.params, push);
    const placed = await findTask(engine, config.taskId);
    const { session } = placed;
    await readTask(placed);
    return { result: await setPush(engine, push, { session, config, fromSeq: (await session.head()).seq }) };
  },
  GetTaskPushNotificationConfig: async (call) => {
    pushOf(call);
    return { result: await getPush(call.caller.engine, call.params) };
  },
  ListTaskPushNotificationConfigs: async (call) => {
    pushOf(call);
    const { engine } = call.caller;
    return { result: { configs: await listPush(engine, call.params), nextPageToken: "" } };
  },
  DeleteTaskPushNotificationConfig: async (call) => {
    pushOf(call);
    need(call.caller)("write", "a push notification");
    await deletePush(call.caller.engine, call.params);
    return { result: {} };
  },
};

function idIn(params: Fields): string {
  const id = textOf("id", params["id"]);
  if (id !== undefined) return id;
  throw invalid("id: expected the id of a task");
}

async function send(call: Call) {
  const { caller, params } = call;
  const needs = need(caller);
  needs("write", "a message");
  const engine = internalsOf(caller.engine).forRequest({ need: needs });
  const request = readSendRequest(params);
  const config = request.push === null ? null : readPushConfig(request.push, pushOf(call));
  const sent = await takeMessage(engine, request, {
    approve: () => needs("operate", "allowing a call"),
    settle: () => needs("settle", "the result of a tool"),
  });
  if (config !== null) {
    const { session, inputSeq } = sent.placed;
    // A repeated message sets it once.
    const id = config.id === "" ? `message_${inputSeq}` : config.id;
    const own = { ...config, taskId: taskId(session.id, inputSeq), id };
    const push = { session, config: own, fromSeq: inputSeq };
    await setPush(engine, pushOf(call), push);
  }
  return { engine, sent, request };
}

interface Framing {
  readonly frame: (response: StreamResponse) => string;
  readonly failed: (error: ErrorForms) => string;
}

/** JSON has no line breaks, so no text can end its frame. */
async function stream(
  given: MountRequest,
  caller: Caller,
  open: (signal: AbortSignal) => Responses,
  { frame, failed }: Framing,
): Promise<void> {
  const frameOf = (response: StreamResponse | typeof keepAlive): string =>
    response === keepAlive ? ": keep-alive\n\n" : frame(response);
  await streamFrames(given, caller, (signal) => framed(open(signal), frameOf), {
    failed: (error) => failed(errorForms(error, given.problemOf)),
  });
}
