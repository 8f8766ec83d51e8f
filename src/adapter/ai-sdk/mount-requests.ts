/** Requests to `/ai-sdk`: each is authorized before its body is read. */
import { SkeinError } from "../../core/error.ts";
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { framed, streamFrames } from "../stream-frames.ts";
import { findChat, openChat, postChat, resumeChat, stopChat, type ChatOpening } from "./chat.ts";
import { readChatRequest } from "./input.ts";
import { uiMessages } from "./messages.ts";
import { chunkFrame, doneFrame, streamHeaders } from "./response.ts";
import { chatOfPath } from "./routes.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;
type Chunks = Awaited<ReturnType<typeof postChat>>;

/** Answers one request of the chat client. */
export async function answerChat(given: MountRequest): Promise<void> {
  const { method = "GET" } = given.request;
  try {
    if (given.path === "/chat" && method === "POST") return await post(given);
    const { chatId, isStream } = chatOfPath(given.path);
    if (!/^\/chat\/[^/]+(\/stream)?$/.test(given.path)) throw noRoute();
    if (method === "GET") return await (isStream ? resume(given, chatId) : messages(given, chatId));
    if (method === "DELETE" && isStream) return await stop(given, chatId);
    throw new ProblemError(makeProblem("wrong-method", `${method} is not allowed here`));
  } catch (error) {
    sendError(given, error);
  }
}

const noRoute = (): ProblemError =>
  new ProblemError(
    makeProblem("no-route", "no such route", {
      hint: "POST /ai-sdk/chat; GET or DELETE /ai-sdk/chat/{id}/stream; GET /ai-sdk/chat/{id}",
    }),
  );

/** The client shows the body of a response as the message of its error. */
function sendError(given: MountRequest, error: unknown): void {
  const problem = given.problemOf(error);
  if (given.response.headersSent) {
    given.response.end();
    return;
  }
  const { detail, hint, status } = problem;
  given.response.writeHead(status, {
    ...given.headers,
    ...given.problemHeaders(problem),
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
  });
  given.response.end(hint === undefined ? detail : `${detail} (${hint})`);
}

async function post(given: MountRequest): Promise<void> {
  const caller = await given.authorize({ scope: "write" });
  const need = (scope: TokenScope, what: string): void => {
    if (allows(caller.scopes, scope)) return;
    throw new ProblemError(makeProblem("forbidden", `${what} needs a token with the scope ${scope}`));
  };
  need("read", "a chat");
  const body = await given.readJson();
  const posted = readChatRequest(body);
  const { engine } = caller;
  const session = await openChat(engine, posted.id, openingOf(body));
  const rights = {
    approve: () => need("operate", "allowing a call"),
    settle: () => need("settle", "the output of a tool"),
  };
  await streamed(given, caller, (signal, errorText) =>
    postChat(engine, session, posted, { rights, signal, errorText }),
  );
}

/** What the transport's `body` says of a new chat. */
function openingOf(body: unknown): ChatOpening {
  const fields = body as Readonly<Record<string, unknown>>;
  const given = ["agent", "model", "objective", "name"].flatMap((name) => {
    const value = fields[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(given);
}

async function resume(given: MountRequest, chatId: string): Promise<void> {
  const caller = await reader(given, chatId);
  const session = await findChat(caller.engine, chatId);
  await streamed(given, caller, async (signal, errorText) =>
    session === null ? null : resumeChat(caller.engine, session, { signal, errorText, run: false }),
  );
}

async function messages(given: MountRequest, chatId: string): Promise<void> {
  const { engine } = await reader(given, chatId);
  const session = await findChat(engine, chatId);
  if (session === null) throw new SkeinError("not-found", "chat: there is no such chat");
  given.send(200, await uiMessages(session, { blob: (hash) => engine.blob(hash) }));
}

async function stop(given: MountRequest, chatId: string): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const session = await findChat(engine, chatId);
  if (session !== null && (await session.fold()).standing.turn !== null) await stopChat(session);
  noContent(given);
}

const reader = (given: MountRequest, chatId: string): Promise<Caller> =>
  given.authorize({ scope: "read", ...(chatId.startsWith("ses_") ? { session: chatId } : {}) });

function noContent({ response, headers }: MountRequest): void {
  response.writeHead(204, { ...headers, "cache-control": "no-store" });
  response.end();
}

/** What is wrong with a request is found before the stream begins. */
async function streamed(
  given: MountRequest,
  caller: Caller,
  open: (signal: AbortSignal, errorText: (error: unknown) => string) => Promise<Chunks | null>,
): Promise<void> {
  const errorText = (error: unknown): string => given.problemOf(error).detail;
  const { "content-type": _, connection: __, ...headers } = streamHeaders;
  const isOpen = await streamFrames(
    given,
    caller,
    async (signal) => {
      const chunks = await open(signal, errorText);
      return chunks === null ? null : framesOf(chunks);
    },
    { headers },
  );
  if (!isOpen) noContent(given);
}

async function* framesOf(chunks: Chunks): AsyncGenerator<string> {
  yield* framed(chunks, chunkFrame);
  yield doneFrame;
}
