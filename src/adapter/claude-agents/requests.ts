/** Requests to `/anthropic`: each is authorized before its body is read. */
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { isSessionId } from "../../core/ids.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { World } from "../../runtime/world.ts";
import type { MountHandler, MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { agentObject, makeAgents } from "./agents.ts";
import { boundBy, environmentObject, makeEnvironments } from "./environments.ts";
import { errorResponse, newRequestId } from "./errors.ts";
import { listEvents } from "./event-list.ts";
import { openEventStream } from "./event-stream.ts";
import { threadId } from "./ids.ts";
import { receiveEvents, runInBackground } from "./receive.ts";
import {
  archiveSession,
  createSession,
  listSessions,
  sessionObject,
  sessionOf,
  threadObject,
  updateSession,
} from "./sessions.ts";
import { acknowledgeWork, beatWork, pollWork, retrieveWork, stopWork } from "./work.ts";
import { fieldsOf, invalid, limitOf, listIn, listOf, type Fields } from "./values.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;

interface RouteRequest {
  readonly given: MountRequest;
  readonly caller: Caller;
  readonly ids: readonly string[];
  readonly requestId: string;
  body(): Promise<Fields>;
  need(scope: TokenScope, what: string): void;
}

interface Route {
  readonly method: string;
  /** Segments of the path after the version; `{}` is an id. */
  readonly path: readonly string[];
  /** Null: any token of the session; the answer depends on the body. */
  readonly scope: TokenScope | null;
  /** The object to send; undefined: the route has answered. */
  readonly run: (request: RouteRequest) => Promise<Fields | undefined>;
}

const route = (method: string, pattern: string, scope: TokenScope | null, run: Route["run"]): Route => ({
  method,
  path: pattern.split("/"),
  scope,
  run,
});

const agentsOf = ({ caller }: RouteRequest) => makeAgents(caller.engine);
const environmentsOf = ({ caller }: RouteRequest) =>
  makeEnvironments(caller.engine, internalsOf(caller.engine).world);
const first = ({ ids }: RouteRequest): string => ids[0] ?? "";
const second = ({ ids }: RouteRequest): string => ids[1] ?? "";
const ownSession = (request: RouteRequest) => sessionOf(request.caller.engine, first(request));

const routes: readonly Route[] = [
  route("POST", "agents", "operate", async (to) => agentObject(await agentsOf(to).create(await to.body()))),
  route("GET", "agents", "read", async (to) => {
    const all = await agentsOf(to).list();
    const isShown = to.given.query.get("include_archived") === "true";
    return pageOf(to, all.filter(({ archivedAt }) => isShown || archivedAt === null).map(agentObject));
  }),
  route("GET", "agents/{}", "read", async (to) => {
    const version = to.given.query.get("version");
    return agentObject(await agentsOf(to).find(first(to), version === null ? undefined : Number(version)));
  }),
  route("POST", "agents/{}", "operate", async (to) =>
    agentObject(await agentsOf(to).update(first(to), await to.body())),
  ),
  route("POST", "agents/{}/archive", "operate", async (to) =>
    agentObject(await agentsOf(to).archive(first(to), internalsOf(to.caller.engine).world.now())),
  ),
  route("GET", "agents/{}/versions", "read", async (to) =>
    pageOf(to, (await agentsOf(to).versions(first(to))).map(agentObject)),
  ),
  route("POST", "environments", "operate", async (to) => {
    const environment = await environmentsOf(to).create(await to.body());
    boundBy(environment);
    return environmentObject(environment);
  }),
  route("GET", "environments", "read", async (to) => {
    const all = await environmentsOf(to).list();
    const isShown = to.given.query.get("include_archived") === "true";
    return pageOf(to, all.filter(({ archivedAt }) => isShown || archivedAt === null).map(environmentObject));
  }),
  route("GET", "environments/{}", "read", async (to) =>
    environmentObject(await environmentsOf(to).find(first(to))),
  ),
  route("POST", "environments/{}", "operate", async (to) =>
    environmentObject(await environmentsOf(to).update(first(to), await to.body())),
  ),
  route("POST", "environments/{}/archive", "operate", async (to) =>
    environmentObject(await environmentsOf(to).archive(first(to))),
  ),
  route("DELETE", "environments/{}", "operate", (to) => environmentsOf(to).delete(first(to))),
  route("GET", "environments/{}/work/poll", "write", async (to) => {
    const { id } = await environmentsOf(to).find(first(to));
    const signal = AbortSignal.any([to.given.gone, to.given.stopping]);
    const work = await pollWork(to.caller.engine, id, to.given.query, signal);
    to.given.send(200, work, { "request-id": to.requestId });
    return undefined;
  }),
  route("GET", "environments/{}/work/{}", "read", (to) => retrieveWork(to.caller.engine, second(to))),
  route("POST", "environments/{}/work/{}/ack", "write", (to) =>
    acknowledgeWork(to.caller.engine, second(to)),
  ),
  route("POST", "environments/{}/work/{}/heartbeat", "write", heartbeat),
  route("POST", "environments/{}/work/{}/stop", "write", async (to) =>
    stopWork(to.caller.engine, second(to), await to.body()),
  ),
  route("POST", "sessions", "write", openSession),
  route("GET", "sessions", "read", (to) => listSessions(to.caller.engine, to.given.query)),
  route("GET", "sessions/{}", "read", async (to) => sessionObject(await ownSession(to))),
  route("POST", "sessions/{}", "write", async (to) => {
    const session = await ownSession(to);
    const shown = await updateSession(session, await to.body());
    // A larger budget lets a turn continue.
    runInBackground(session);
    return shown;
  }),
  route("DELETE", "sessions/{}", "admin", async (to) => {
    const session = await ownSession(to);
    await to.caller.engine.delete(session.id, { reason: "deleted by the client" });
    return { id: session.id, type: "session_deleted" };
  }),
  route("POST", "sessions/{}/archive", "write", async (to) => archiveSession(await ownSession(to))),
  route("POST", "sessions/{}/events", null, postEvents),
  route("GET", "sessions/{}/events", "read", async (to) => listEvents(await ownSession(to), to.given.query)),
  route("GET", "sessions/{}/events/stream", "read", streamEvents),
  route("GET", "sessions/{}/threads", "read", async (to) =>
    pageOf(to, [await threadObject(await ownSession(to))]),
  ),
  route("GET", "sessions/{}/threads/{}", "read", async (to) => threadObject(await ownThread(to))),
  route("GET", "sessions/{}/threads/{}/events", "read", async (to) =>
    listEvents(await ownThread(to), to.given.query),
  ),
  route("GET", "sessions/{}/threads/{}/stream", "read", async (to) => {
    await ownThread(to);
    return streamEvents(to);
  }),
  route("GET", "sessions/{}/resources", "read", async (to) => {
    await ownSession(to);
    return pageOf(to, []);
  }),
];

/** A heartbeat that another worker's came before is answered with 412 and what is there. */
async function heartbeat(to: RouteRequest): Promise<Fields | undefined> {
  const expected = to.given.query.get("expected_last_heartbeat");
  const { lost, body } = await beatWork(to.caller.engine, second(to), expected);
  if (!lost) return body;
  const message = "expected_last_heartbeat does not match: another worker may hold the work";
  const details = { error_code: "heartbeat_precondition_failed", current_state: body };
  const error = { type: "heartbeat_precondition_failed_error", message, details };
  to.given.send(412, { type: "error", error, request_id: to.requestId }, { "request-id": to.requestId });
  return undefined;
}

async function ownThread(to: RouteRequest) {
  const session = await ownSession(to);
  if (to.ids[1] !== threadId(session.id))
    throw new ProblemError(makeProblem("not-found", `there is no thread ${String(to.ids[1])}`));
  return session;
}

/** A page of a short list; the cursor is the number of entries before it. */
function pageOf({ given: { query } }: RouteRequest, all: readonly Fields[]): Fields {
  const limit = limitOf(query, 20, 100);
  const from = Number(query.get("page") ?? 0);
  if (!Number.isInteger(from) || from < 0) throw invalid("page: expected next_page of a page before");
  const end = from + limit;
  return { data: all.slice(from, end), next_page: end < all.length ? String(end) : null };
}

async function openSession(to: RouteRequest): Promise<Fields> {
  const body = await to.body();
  const { engine } = to.caller;
  const places = { agents: agentsOf(to), environments: environmentsOf(to) };
  const given = to.given.request.headers["idempotency-key"];
  const key = typeof given === "string" ? `claude-agents:${given}` : undefined;
  const events = body["initial_events"] === undefined ? [] : listOf(body["initial_events"], "initial_events");
  if (events.length > 50) throw invalid(`initial_events: expected at most 50, got ${events.length}`);
  if (events.some((event) => fieldsOf(event, "initial_events")["type"] !== "user.message"))
    throw invalid("initial_events: expected events of type user.message");
  const session = await createSession(engine, places, body, key);
  if (events.length > 0)
    await receiveEvents(engine, session, { events, key: "initial", isRetry: false, need: to.need });
  return sessionObject(session);
}

async function postEvents(to: RouteRequest): Promise<Fields> {
  const session = await ownSession(to);
  const { headers } = to.given.request;
  const { events } = await to.body();
  const list = listOf(events, "events");
  if (list.length === 0 || list.length > 100) throw invalid(`events: expected 1 to 100, got ${list.length}`);
  const key = headers["idempotency-key"];
  const data = await receiveEvents(to.caller.engine, session, {
    events: list,
    key: typeof key === "string" ? key : undefined,
    isRetry: Number(headers["x-stainless-retry-count"] ?? 0) >= 1,
    need: to.need,
  });
  return { data };
}

async function streamEvents(to: RouteRequest): Promise<undefined> {
  const session = await ownSession(to);
  const previews = listIn(to.given.query, "event_deltas") ?? [];
  const run = await openEventStream(to.caller.engine, session, previews);
  await to.given.stream(to.caller, run, { "request-id": to.requestId });
  return undefined;
}

/** Makes the handler of `/anthropic`. */
export const makeClaudeHandler =
  (world: Pick<World, "random">): MountHandler =>
  (given) =>
    answerClaude(given, newRequestId(world));

async function answerClaude(given: MountRequest, requestId: string): Promise<void> {
  try {
    const result = await runRoute(given, requestId);
    if (result !== undefined) given.send(200, result, { "request-id": requestId });
  } catch (error) {
    const problem = given.problemOf(error);
    if (given.response.headersSent) {
      given.response.end();
      return;
    }
    const { status, body, headers } = errorResponse(problem, requestId);
    given.send(status, body, { ...given.problemHeaders(problem), ...headers, "request-id": requestId });
  }
}

async function runRoute(given: MountRequest, requestId: string): Promise<Fields | undefined> {
  const { method = "GET", headers } = given.request;
  const segments = given.path.split("/").slice(2);
  const found = given.path.startsWith("/v1/") ? routes.filter(({ path }) => isPath(path, segments)) : [];
  const one = found.find((each) => each.method === method);
  const ids = segments.filter((_, place) => one?.path[place] === "{}").map(decodeId);
  const isOfSession = given.path.startsWith("/v1/sessions/") && isSessionId(ids[0] ?? "");
  // Older clients send the key by this header.
  const apiKey = headers.authorization === undefined ? headers["x-api-key"] : undefined;
  const caller = await given.authorize({
    scope: one?.scope ?? null,
    ...(isOfSession ? { session: ids[0] ?? "" } : {}),
    ...(typeof apiKey === "string" ? { token: apiKey } : {}),
  });
  if (one === undefined) throw noRoute(found.length > 0, method);
  return one.run({
    given,
    caller,
    ids,
    requestId,
    body: async () => fieldsOf(await given.readJson()),
    need(scope, what) {
      if (allows(caller.scopes, scope)) return;
      throw new ProblemError(makeProblem("forbidden", `${what} needs a token with the scope ${scope}`));
    },
  });
}

const isPath = (path: readonly string[], segments: readonly string[]): boolean =>
  path.length === segments.length &&
  path.every((word, place) => (word === "{}" ? segments[place] !== "" : word === segments[place]));

const noRoute = (isKnown: boolean, method: string): ProblemError =>
  new ProblemError(
    isKnown
      ? makeProblem("wrong-method", `${method} is not allowed here`)
      : makeProblem("no-route", "no such route", {
          hint: "docs/from-claude-agents.md lists what of the Managed Agents API is served",
        }),
  );

function decodeId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
