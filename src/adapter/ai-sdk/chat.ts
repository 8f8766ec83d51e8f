/**
 * A chat on a session: what each request of the AI SDK's chat client does. The log is the truth; of the
 * client's messages only what is new counts: its last user message, approvals and tool outputs.
 */
import type { UIMessage, UIMessageChunk } from "ai";
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { includes } from "../../core/range.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { OpenOptions } from "../../core/session/commands.ts";
import type { State } from "../../core/state.ts";
import { isOf } from "../../core/transcript.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { safeJson } from "../../runtime/log/redact.ts";
import { openOnce } from "../open-once.ts";
import { isAtRest, makeRoom, runIfActive, runInBackground } from "../session-run.ts";
import { messageSeq, sha256, toolCallSeq } from "./ids.ts";
import { inputBlocks } from "./input.ts";
import { isToolPart } from "./message.ts";
import { makeFiles, type MessagesOptions } from "./messages.ts";
import { streamTurn, type keepAlive, type TurnTarget } from "./turn-stream.ts";
import { followSession } from "./updates.ts";

/** What a new chat is opened with. */
export type ChatOpening = Omit<OpenOptions, "from" | "objective"> & { readonly objective?: string };

/** The body of a POST of the chat client. */
export interface ChatRequest {
  readonly id: string;
  readonly messages: readonly UIMessage[];
  readonly trigger: "submit-message" | "regenerate-message";
  readonly messageId?: string | undefined;
}

/** Who may do what with a chat. Each throws when the caller may not. */
export interface ChatRights {
  /** Before calls are allowed. */
  approve?(): void;
  /** Before tool outputs are taken. */
  settle?(): void;
}

type Chunks = AsyncGenerator<UIMessageChunk | typeof keepAlive, void>;

/** The options of every stream of a chat. */
export interface StreamOptions extends MessagesOptions {
  readonly signal: AbortSignal;
  readonly errorText?: ((error: unknown) => string) | undefined;
}

const chatLabel = "ai-sdk.chat";

/** The session of a chat: by its own id, or by the chat's id, which may be any text. Null: there is none. */
export async function findChat(engine: Engine, chatId: string): Promise<Session | null> {
  if (isSessionId(chatId)) {
    return engine.session(chatId).catch((error: unknown) => {
      if (error instanceof SkeinError && error.code === "not-found") return null;
      throw error;
    });
  }
  const { rows } = await engine.sessions({ labels: { [chatLabel]: sha256(chatId) }, limit: 1 });
  return rows[0] === undefined ? null : engine.session(rows[0].session);
}

/** The session of a chat. The first call for a chat opens it; two at once open one session. */
export async function openChat(engine: Engine, chatId: string, opening: ChatOpening = {}): Promise<Session> {
  if (typeof chatId !== "string" || chatId === "" || chatId.length > 1_000) {
    throw new SkeinError("invalid", "chat: id: expected a text of 1 to 1,000 characters");
  }
  const found = await findChat(engine, chatId);
  if (found !== null) return found;
  if (isSessionId(chatId)) throw new SkeinError("not-found", `chat: there is no session ${chatId}`);
  const digest = sha256(chatId);
  const { objective = "Chat with the user.", labels = {}, ...rest } = opening;
  const given = { ...rest, objective, labels: { ...labels, [chatLabel]: digest } };
  return openOnce(`${chatLabel}:${digest}`, (key) => engine.open({ ...given, key }));
}

/** Takes a POST, and returns the stream of the turn that it is about. Rejects before anything is streamed. */
export async function postChat(
  engine: Engine,
  session: Session,
  request: ChatRequest,
  { rights = {}, ...options }: StreamOptions & { readonly rights?: ChatRights },
): Promise<Chunks> {
  const last = request.messages.at(-1);
  if (request.trigger === "regenerate-message") return regenerate(engine, session, request, options);
  if (last?.role === "assistant") return continueTurn(engine, session, last, { rights, ...options });
  if (last?.role !== "user") {
    throw new SkeinError("invalid", "chat: messages: expected a user message at the end", {
      hint: "send the whole list, or only the last message",
    });
  }
  return submit(engine, session, { id: last.id, blocks: await inputBlocks(engine, last) }, options);
}

/** The stream of the turn in progress, from its beginning; null when nothing is running. */
export async function resumeChat(
  engine: Engine,
  session: Session,
  options: StreamOptions & { readonly run: boolean },
): Promise<Chunks | null> {
  const { standing } = await session.fold();
  const { turn, status, inbox } = standing;
  if (status !== "running" && status !== "open") return null;
  if (turn === null && inbox.waiting.length === 0) return null;
  // The process that ran it may be gone: then the turn continues here.
  const run = options.run ? runInBackground(session) : undefined;
  const fromSeq = turn?.startedSeq ?? inbox.fromSeq;
  return chunksFrom(engine, session, { fromSeq }, { ...options, run });
}

/** Ends the turn in progress. */
export async function stopChat(session: Session, reason = "stopped by the user"): Promise<void> {
  await session.interrupt({ reason });
}

interface ChatRunOptions extends StreamOptions {
  readonly run?: Promise<object | null> | undefined;
}

async function* chunksFrom(
  engine: Engine,
  session: Session,
  { fromSeq, ...target }: TurnTarget & { readonly fromSeq: number },
  { signal, run, errorText, ...given }: ChatRunOptions,
): Chunks {
  const files = makeFiles({ blob: (hash) => engine.blob(hash), ...given });
  const updates = followSession(engine, session, { fromSeq, signal, run });
  const more = errorText === undefined ? {} : { errorText };
  const atRest = (): Promise<boolean> => isAtRest(engine, session);
  yield* streamTurn(
    { session: session.id, updates, urlOf: files.urlOf, learn: files.learn, atRest, ...more },
    target,
  );
}

interface UserInput {
  readonly id: string;
  readonly blocks: readonly ContentBlock[];
}

/**
 * A user message goes to the end; or, when its id has an input already, there. The same content again is the
 * same input, asked once. Other content is an edit, which rewinds the session to before that input.
 */
async function submit(
  engine: Engine,
  session: Session,
  { id, blocks }: UserInput,
  options: StreamOptions,
): Promise<Chunks> {
  const { world } = internalsOf(engine);
  const key = keyOf(id);
  const known = await inputSeqOf(engine, session, id);
  if (known === null) {
    await makeRoom(session, suspended);
    const run = session.ask(blocks, { key });
    const { seq } = await run.started;
    return chunksFrom(engine, session, { fromSeq: seq, inputSeq: seq }, { ...options, run: run.result });
  }
  const current = await inputAt(session, known);
  if (current !== null && JSON.stringify(current.blocks) === JSON.stringify(safeJson(world, blocks)))
    return submitted(engine, session, current.seq, options);
  const { seq: rewoundSeq } = await session.rewind(known - 1, { reason: "the message was edited" });
  const more = { key: `${key}:${rewoundSeq}`, expect: { seq: (await session.head()).seq } };
  const { seq } = await session.append([{ type: "input.received", blocks }], more);
  return submitted(engine, session, seq, options);
}

/** The turn of an input that is in the log. */
function submitted(engine: Engine, session: Session, seq: number, options: StreamOptions): Chunks {
  const run = runInBackground(session);
  return chunksFrom(engine, session, { fromSeq: seq, inputSeq: seq }, { ...options, run });
}

const keyOf = (id: string): string => `ai-sdk:${sha256(id)}`;

/** The position of a user message's input, by an id of the server or of the client. */
async function inputSeqOf(engine: Engine, session: Session, id: string): Promise<number | null> {
  const { writer } = internalsOf(engine);
  return messageSeq(session.id, id) ?? (await writer.keyed(session.id, keyOf(id))) ?? null;
}

/** The input at a position; or, when it was rewound, the one that took its place. */
async function inputAt(
  session: Session,
  fromSeq: number,
): Promise<{ readonly seq: number; readonly blocks: readonly ContentBlock[] } | null> {
  const { mind, seq: toSeq } = await session.fold();
  for await (const event of session.events({ fromSeq, toSeq, types: ["input.received"] })) {
    if (!isOf(event, "input.received") || includes(mind.lost, event.seq)) continue;
    return { seq: event.seq, blocks: event.content?.blocks ?? [] };
  }
  return null;
}

function suspended(why: string): SkeinError {
  const hints: Readonly<Record<string, string>> = {
    approval: "approve or deny its tool calls first",
    tool: "bring the outputs of its tool calls first",
  };
  const hint = hints[why] ?? "answer what it waits for, or activate it";
  return new SkeinError("refused", `chat: the session is suspended (${why})`, { hint });
}

/** Runs a turn again: the message's, or the last one. */
async function regenerate(
  engine: Engine,
  session: Session,
  { messageId, messages }: ChatRequest,
  options: StreamOptions,
): Promise<Chunks> {
  const { mind } = await session.fold();
  const named = messageId ?? messages.findLast(({ role }) => role === "user")?.id;
  const seq = named === undefined ? null : await inputSeqOf(engine, session, named);
  const turn = await turnOf(session, seq);
  if (turn === null) throw new SkeinError("not-found", "chat: there is no turn to run again");
  // A turn that is gone was run again already: by this request, sent twice.
  const isGone = includes(mind.lost, turn);
  const current = isGone ? await turnOf(session, null) : turn;
  const from = current ?? turn;
  if (!isGone) await session.rewind(from - 1, { requeue: true, reason: "generated again" });
  const fromSeq = isGone ? from : (await session.head()).seq;
  return chunksFrom(engine, session, { fromSeq }, { ...options, run: runInBackground(session) });
}

/** Where the turn of a message began: of `turn.started` itself, or of an input. Null: the last turn. */
async function turnOf(session: Session, seq: number | null): Promise<number | null> {
  const { mind, seq: toSeq } = await session.fold();
  const types = ["turn.started"];
  if (seq === null) {
    for await (const event of session.events({ toSeq, types, reverse: true }))
      if (!includes(mind.lost, event.seq)) return event.seq;
    return null;
  }
  for await (const event of session.events({ fromSeq: seq, toSeq, types })) {
    if (event.seq === seq) return seq;
    if (isOf(event, "turn.started") && event.body.inputs.some(([input]) => input === seq)) return event.seq;
  }
  return null;
}

/** Takes the approvals and tool outputs of an assistant message, and continues its turn. */
async function continueTurn(
  engine: Engine,
  session: Session,
  message: UIMessage,
  { rights, ...options }: StreamOptions & { readonly rights: ChatRights },
): Promise<Chunks> {
  const { mind, standing } = await session.fold();
  const named = messageSeq(session.id, message.id);
  const turn = await turnOf(session, named);
  if (turn === null || includes(mind.lost, turn) || (named !== null && turn !== named)) {
    throw new SkeinError("not-found", "chat: messages: the last message is not in the session", {
      hint: "load the messages of the session again",
    });
  }
  await takeAnswers(session, { mind, standing }, message, rights);
  const { run } = await runIfActive(session);
  const afterSeq = shownSeq(session, message, turn);
  return chunksFrom(engine, session, { fromSeq: turn, afterSeq }, { ...options, run });
}

async function takeAnswers(
  session: Session,
  { mind }: Pick<State, "mind" | "standing">,
  message: UIMessage,
  rights: ChatRights,
): Promise<void> {
  const open = new Map([...mind.calls.entries()].map(([call, state]) => [state.seq, { call, ...state }]));
  for (const part of message.parts) {
    if (!isToolPart(part)) continue;
    const call = open.get(toolCallSeq(part.toolCallId) ?? 0);
    if (call === undefined) continue;
    if (part.state === "approval-responded" && call.phase === "asked") {
      const { approved, reason } = part.approval;
      if (approved) rights.approve?.();
      const because = reason === undefined || reason === "" ? {} : { reason: reason.slice(0, 2_000) };
      await session.answer({ allow: approved, calls: [call.call], ...because });
    } else if (call.deadlineMs !== undefined && call.phase !== "asked") {
      if (part.state !== "output-available" && part.state !== "output-error") continue;
      rights.settle?.();
      const isOk = part.state === "output-available";
      const output = isOk ? (part.output ?? null) : part.errorText;
      await session.settle(call.call, { status: isOk ? "ok" : "error", output });
    }
  }
}

/** The last position that a client's copy of a message shows. */
function shownSeq(session: Session, { metadata, parts }: UIMessage, turn: number): number {
  const { session: of, toSeq } = (metadata ?? {}) as Partial<Record<string, unknown>>;
  if (of === session.id && typeof toSeq === "number" && toSeq >= turn) return toSeq;
  const seqs = parts.flatMap((part) => (isToolPart(part) ? [toolCallSeq(part.toolCallId) ?? 0] : []));
  return Math.max(turn, ...seqs);
}
