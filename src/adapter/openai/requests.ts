/** Requests to `/openai/v1`: each is authorized before its body is read. Errors are in OpenAI's shape. */
import { SkeinError } from "../../core/error.ts";
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { runInBackground } from "../session-run.ts";
import { framed, streamFrames } from "../stream-frames.ts";
import {
  addItems,
  conversationObject,
  createConversation,
  deleteItem,
  findConversation,
  findItem,
  listItems,
  updateConversation,
} from "./conversations.ts";
import { conversationSession, responsePlace } from "./ids.ts";
import { invalid, isFields, type Fields } from "./input.ts";
import { listOf, pageOf } from "./items.ts";
import { ResponseProjection } from "./project.ts";
import { readResponseRequest } from "./request.ts";
import {
  cancelResponse,
  createResponse,
  findResponse,
  inputItems,
  keepAlive,
  responseObject,
  streamResponse,
  type PlacedResponse,
} from "./responses.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;

/** Answers one request of the client. */
export async function answerOpenai(given: MountRequest): Promise<void> {
  try {
    await route(given);
  } catch (error) {
    sendError(given, error);
  }
}

async function route(given: MountRequest): Promise<void> {
  const { method = "GET" } = given.request;
  const [version, kind, id, part, item, ...rest] = given.path.split("/").slice(1).map(decoded);
  const depth = [kind, id, part, item].filter((one) => one !== undefined).length;
  const name = `${method} ${kind ?? ""} ${depth}${part === undefined ? "" : ` ${part}`}`;
  const handler = version === "v1" && rest.length === 0 ? routes[name] : undefined;
  if (handler === undefined) {
    throw new ProblemError(
      makeProblem("no-route", `Invalid URL (${method} ${given.path})`, {
        hint: "conversations and responses are served, below /openai/v1",
      }),
    );
  }
  await handler(given, { id: id ?? "", item: item ?? "" });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid("path", "not valid percent encoding");
  }
}

type Handler = (given: MountRequest, place: { readonly id: string; readonly item: string }) => Promise<void>;

const routes: Readonly<Record<string, Handler>> = {
  "POST conversations 1": async (given) => {
    const { engine } = await given.authorize({ scope: "write" });
    const session = await createConversation(engine, await bodyOf(given), keyOf(given));
    given.send(200, await conversationObject(session));
  },
  "GET conversations 2": async (given, { id }) => {
    const session = await conversation(given, id, "read");
    given.send(200, await conversationObject(session));
  },
  "POST conversations 2": async (given, { id }) => {
    const session = await conversation(given, id, "write");
    await updateConversation(session, await bodyOf(given));
    given.send(200, await conversationObject(session));
  },
  "DELETE conversations 2": async (given, { id }) => {
    const { engine } = await authorize(given, id, "admin");
    const session = await findConversation(engine, id);
    await engine.delete(session.id, { reason: "the conversation was deleted" });
    given.send(200, { id, object: "conversation.deleted", deleted: true });
  },
  "GET conversations 3 items": async (given, { id }) => {
    const session = await conversation(given, id, "read");
    const items = (await listItems(session)).map(({ item }) => item);
    given.send(200, pageOf(items, paging(given)));
  },
  "POST conversations 3 items": async (given, { id }) => {
    const session = await conversation(given, id, "write");
    const added = await addItems(session, await bodyOf(given), keyOf(given));
    given.send(200, listOf(added.map(({ item }) => item)));
  },
  "GET conversations 4 items": async (given, { id, item }) => {
    const session = await conversation(given, id, "read");
    given.send(200, (await findItem(session, item)).item);
  },
  "DELETE conversations 4 items": async (given, { id, item }) => {
    const session = await conversation(given, id, "admin");
    await deleteItem(session, item);
    given.send(200, await conversationObject(session));
  },
  "POST responses 1": postResponse,
  "GET responses 2": async (given, { id }) => {
    const caller = await authorize(given, id, "read");
    const placed = await findResponse(caller.engine, id);
    if (given.query.get("stream") !== "true") return given.send(200, await responseObject(placed));
    const after = Number(given.query.get("starting_after") ?? -1);
    if (!Number.isSafeInteger(after)) throw invalid("starting_after", "expected an integer");
    await streamed(given, caller, placed, { after });
  },
  "POST responses 3 cancel": async (given, { id }) => {
    const { engine } = await authorize(given, id, "write");
    const placed = await findResponse(engine, id);
    await cancelResponse(placed);
    given.send(200, await responseObject(placed));
  },
  "DELETE responses 2": async (given, { id }) => {
    const { engine } = await authorize(given, id, "admin");
    await findResponse(engine, id);
    throw new SkeinError("refused", "a response cannot be deleted without its conversation", {
      hint: "delete the conversation conv_…, or items of it",
    });
  },
  "GET responses 3 input_items": async (given, { id }) => {
    const { engine } = await authorize(given, id, "read");
    const items = await inputItems(await findResponse(engine, id));
    given.send(200, pageOf(items, paging(given)));
  },
};

async function postResponse(given: MountRequest): Promise<void> {
  const caller = await given.authorize({ scope: "write" });
  const need = (scope: TokenScope, what: string): void => {
    if (allows(caller.scopes, scope)) return;
    throw new ProblemError(makeProblem("forbidden", `${what} needs a token with the scope ${scope}`));
  };
  need("read", "a response");
  const request = readResponseRequest(await bodyOf(given));
  const placed = await createResponse(caller.engine, request, {
    key: keyOf(given),
    settle: () => need("settle", "the output of a function"),
  });
  const run = runInBackground(placed.session);
  if (request.isStream) return streamed(given, caller, placed, { run });
  const projection = new ResponseProjection(placed.record);
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, given.gone, given.stopping]);
  try {
    const events = streamResponse(caller.engine, placed, { signal, run, projection, isBrief: true });
    for await (const _ of events);
  } finally {
    ended.abort();
  }
  given.send(200, projection.response);
}

async function streamed(
  given: MountRequest,
  caller: Caller,
  placed: PlacedResponse,
  { after = -1, run }: { readonly after?: number; readonly run?: Promise<object | null> },
): Promise<void> {
  const frame = (event: StreamedEvent): string =>
    event === keepAlive ? ": keep-alive\n\n" : frameOf(event.type, event);
  const open = (signal: AbortSignal): AsyncIterable<string> =>
    framed(streamResponse(caller.engine, placed, { signal, after, run }), frame);
  await streamFrames(given, caller, open, {
    failed(error) {
      const { message, code } = errorBody(given.problemOf(error)).error;
      return frameOf("error", { type: "error", code, message, param: null });
    },
  });
}

type Streamed = ReturnType<typeof streamResponse>;
type StreamedEvent = Streamed extends AsyncIterable<infer Event> ? Event : never;

/** JSON has no line breaks, so no text can end its frame. */
const frameOf = (type: string, data: unknown): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

function authorize(given: MountRequest, id: string, scope: TokenScope): Promise<Caller> {
  const session = conversationSession(id) ?? responsePlace(id)?.session;
  return given.authorize({ scope, ...(session === undefined ? {} : { session }) });
}

async function conversation(given: MountRequest, id: string, scope: TokenScope) {
  const { engine } = await authorize(given, id, scope);
  return findConversation(engine, id);
}

async function bodyOf(given: MountRequest): Promise<Fields> {
  const body = await given.readJson();
  if (!isFields(body)) throw invalid("body", "expected a JSON object");
  return body;
}

function keyOf({ request }: MountRequest): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined || (typeof key === "string" && key !== "" && key.length <= 255)) return key ?? null;
  throw invalid("Idempotency-Key", "expected a text of at most 255 characters");
}

function paging({ query }: MountRequest) {
  const limit = Number(query.get("limit") ?? 20);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 100)
    throw invalid("limit", "expected an integer from 1 to 100");
  return { limit, order: query.get("order") ?? "desc", after: query.get("after") };
}

const types: Readonly<Record<number, string>> = {
  401: "invalid_request_error",
  403: "permission_error",
  429: "rate_limit_error",
};

function errorBody({ status, code, detail, hint, field }: Problem) {
  const type = types[status] ?? (status >= 500 ? "server_error" : "invalid_request_error");
  const message = hint === undefined ? detail : `${detail} (${hint})`;
  return { error: { message, type, param: field ?? null, code: code.replaceAll("-", "_") } };
}

/** The client tries again after 409 by itself: only where that may help. */
function sendError(given: MountRequest, error: unknown): void {
  const problem = given.problemOf(error);
  if (given.response.headersSent) {
    given.response.end();
    return;
  }
  const isFinal = problem.status === 409;
  given.send(problem.status, errorBody(problem), {
    ...given.problemHeaders(problem),
    ...(isFinal ? { "x-should-retry": "false" } : {}),
  });
}
