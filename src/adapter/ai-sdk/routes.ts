/** Route handlers for a framework with web standards: a request in, a response out. */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { findChat, openChat, postChat, resumeChat, stopChat, type ChatOpening } from "./chat.ts";
import { readChatRequest } from "./input.ts";
import { uiMessages, type MessagesOptions } from "./messages.ts";
import { chunkResponse } from "./response.ts";
import { publicText } from "./turn-stream.ts";

/** Options of `chatRoutes`. */
export interface ChatRoutesOptions extends MessagesOptions {
  /** The engine, or how to open it. It is opened once. */
  readonly engine: Engine | (() => Promise<Engine>);
  /** What a new chat is opened with: its agent, model, bindings. `body` is the body of the request. */
  readonly open?: (chatId: string, body: unknown) => ChatOpening | Promise<ChatOpening>;
  /**
   * Called first, with the id of the chat. To refuse the request, return a response, or throw. Without it,
   * every client of the routes reaches every chat.
   */
  readonly authorize?: (
    request: Request,
    chatId: string,
  ) => Response | undefined | Promise<Response | undefined>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The text of an error for the client. Default: messages of the engine, and one text for all others. */
  readonly errorText?: (error: unknown) => string;
}

/** Handlers of the routes of a chat. */
export interface ChatRoutes {
  /** `POST {api}`: a message, an approval, a tool output. */
  POST(request: Request): Promise<Response>;
  /** `GET {api}/{id}/stream`: the answer in progress, or 204. `GET {api}/{id}`: the messages as JSON. */
  GET(request: Request): Promise<Response>;
  /** `DELETE {api}/{id}/stream`: ends the turn in progress. */
  DELETE(request: Request): Promise<Response>;
}

/**
 * The routes that `useChat` uses, on sessions of an engine.
 */
export function chatRoutes(options: ChatRoutesOptions): ChatRoutes {
  const { engine: given, authorize, headers, errorText = publicText } = options;
  let opened: Promise<Engine> | null = null;
  const engineOf = (): Promise<Engine> => {
    opened ??= typeof given === "function" ? given() : Promise.resolve(given);
    // A store that was not reachable may be later.
    opened.catch(() => (opened = null));
    return opened;
  };

  async function answer(work: () => Promise<Response>): Promise<Response> {
    try {
      return await work();
    } catch (error) {
      const status = error instanceof SkeinError ? makeProblem(error.code, error.message).status : 500;
      const type = { "content-type": "text/plain; charset=utf-8" };
      return new Response(errorText(error), { status, headers: { ...type } });
    }
  }

  const respond = (
    request: Request,
    chunks: Parameters<typeof chunkResponse>[0],
    stop: AbortController,
  ): Response => {
    request.signal.addEventListener("abort", () => stop.abort(), { once: true });
    return chunkResponse(chunks, { ...(headers === undefined ? {} : { headers }), stop: () => stop.abort() });
  };

  async function found(request: Request): Promise<{ engine: Engine; session: Session } | Response> {
    const { chatId } = chatOfPath(new URL(request.url).pathname);
    const refused = await authorize?.(request, chatId);
    if (refused !== undefined) return refused;
    const engine = await engineOf();
    const session = await findChat(engine, chatId);
    return session === null ? new Response(null, { status: 204 }) : { engine, session };
  }

  return {
    POST: (request) =>
      answer(async () => {
        const body = await readJson(request);
        const posted = readChatRequest(body);
        const refused = await authorize?.(request, posted.id);
        if (refused !== undefined) return refused;
        const engine = await engineOf();
        const opening = (await findChat(engine, posted.id)) ?? (await options.open?.(posted.id, body)) ?? {};
        const session = "fold" in opening ? opening : await openChat(engine, posted.id, opening);
        const stop = new AbortController();
        const chunks = await postChat(engine, session, posted, { ...options, signal: stop.signal });
        return respond(request, chunks, stop);
      }),
    GET: (request) =>
      answer(async () => {
        const chat = await found(request);
        if (chat instanceof Response) return chat;
        const { engine, session } = chat;
        const stop = new AbortController();
        if (!chatOfPath(new URL(request.url).pathname).isStream) {
          const blob = (hash: string): Promise<Uint8Array> => engine.blob(hash);
          return Response.json(await uiMessages(session, { blob, ...options }));
        }
        const chunks = await resumeChat(engine, session, { ...options, signal: stop.signal, run: true });
        return chunks === null ? new Response(null, { status: 204 }) : respond(request, chunks, stop);
      }),
    DELETE: (request) =>
      answer(async () => {
        const chat = await found(request);
        if (chat instanceof Response) return chat;
        if ((await chat.session.fold()).standing.turn !== null) await stopChat(chat.session);
        return new Response(null, { status: 204 });
      }),
  };
}

/** The chat of a path `…/{id}/stream` or `…/{id}`. */
export function chatOfPath(path: string): { readonly chatId: string; readonly isStream: boolean } {
  const parts = path.split("/").filter((part) => part !== "");
  const isStream = parts.at(-1) === "stream" && parts.length > 1;
  return { chatId: decode(parts.at(isStream ? -2 : -1) ?? ""), isStream };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new SkeinError("invalid", "chat: id: not a valid part of a URL");
  }
}

async function readJson(request: Request): Promise<unknown> {
  const text = await request.text();
  if (text.length > limit.blobBytesMax) throw new SkeinError("invalid", "chat: the body is too large");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new SkeinError("invalid", "chat: the body is not valid JSON");
  }
}
