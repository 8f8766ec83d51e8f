/** The messages of a session, from the log alone: what a page gets when it opens. */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { importedAnswer, importedCall, importedInput } from "../../core/history/transcript.ts";
import { includes } from "../../core/range.ts";
import { isOf } from "../../core/transcript.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { AnswerSegment } from "../answer-segment.ts";
import { argumentsOf, inputText, keptSegments, resultOf, saidIn } from "./answer.ts";
import { messageId, resultId, toolCallId } from "./ids.ts";

/** A message of the protocol. */
export interface ThreadMessage {
  readonly id: string;
  readonly role: "user" | "assistant" | "reasoning" | "tool";
  readonly content?: string;
  readonly toolCallId?: string;
  readonly error?: string;
  toolCalls?: {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** Types of the events that runs and messages are made of. */
export const threadTypes: readonly string[] = [
  "input.received message.received turn.started turn.ended input.imported answer.imported call.imported",
  "model.requested model.responded model.failed tool.requested tool.approved tool.denied tool.settled",
  "session.suspended session.activated session.rewound lease.taken lease.released",
  "item.recorded item.retracted",
].flatMap((line) => line.split(" "));

/** The client's ids of messages that it sent, by the ids that they have otherwise. */
export type ClientIds = ReadonlyMap<string, string>;

/** The messages up to a position, by default all. Inputs that wait for a turn are at the end. */
export async function threadMessages(
  session: Session,
  { upToSeq, ids }: { readonly upToSeq: number | null; readonly ids: ClientIds },
): Promise<readonly ThreadMessage[]> {
  const { mind, seq } = await session.fold();
  const list = new MessageList(session.id, ids);
  for await (const event of session.events({ toSeq: upToSeq ?? seq, types: threadTypes }))
    if (!includes(mind.lost, event.seq)) list.add(event);
  return list.messages({ queued: upToSeq === null });
}

type Input = EventOf<"input.received"> | EventOf<"message.received">;

/** Collects events of the current path into messages. Pure. */
export class MessageList {
  readonly #session: string;
  readonly #list: ThreadMessage[] = [];
  readonly #inputs = new Map<number, Input>();
  readonly #compactions = new Set<number>();
  readonly #open = new Set<number>();
  readonly #ids: ClientIds;
  #parentId = "";

  constructor(session: string, ids: ClientIds = new Map()) {
    this.#session = session;
    this.#ids = ids;
  }

  messages({ queued = true }: { readonly queued?: boolean } = {}): readonly ThreadMessage[] {
    const waiting = queued ? [...this.#inputs.values()].map((input) => this.#user(input)) : [];
    return [...this.#list, ...waiting];
  }

  add(event: SessionEvent): void {
    if (isOf(event, "input.received", "message.received")) this.#inputs.set(event.seq, event);
    else if (isOf(event, "turn.started")) this.#take(event.body.inputs);
    else if (isOf(event, "model.requested")) {
      if (event.body.purpose === "compaction") this.#compactions.add(event.seq);
      else this.#take(event.body.inputs);
    } else if (isOf(event, "model.responded")) this.#answer(event.cause, saidIn(event));
    else if (isOf(event, "model.failed")) {
      const kept = keptSegments(event);
      if (kept.length > 0) this.#answer(event.cause, kept);
    } else if (isOf(event, "tool.requested")) this.#call(event);
    else if (isOf(event, "tool.settled")) this.#settle(event);
    else this.#imported(event);
  }

  #user(input: Input): ThreadMessage {
    const id = this.#idOf(messageId(this.#session, input.seq));
    return { id, role: "user", content: inputText(input) };
  }

  #idOf(id: string): string {
    return this.#ids.get(id) ?? id;
  }

  #take(inputs: readonly (readonly [number, number])[]): void {
    for (const [seq] of inputs) {
      const input = this.#inputs.get(seq);
      this.#inputs.delete(seq);
      if (input !== undefined) this.#list.push(this.#user(input));
    }
  }

  #answer(requestSeq: number | null, said: readonly AnswerSegment[]): void {
    if (requestSeq === null || this.#compactions.has(requestSeq)) return;
    for (const [place, { type, text }] of said.entries()) {
      const id = messageId(this.#session, requestSeq, place);
      this.#list.push({ id, role: type === "text" ? "assistant" : "reasoning", content: text });
    }
    this.#parentId = parentOf(this.#session, requestSeq, said);
  }

  #call(event: EventOf<"tool.requested">): void {
    const { seq, body } = event;
    const id = toolCallId(seq);
    this.#open.add(seq);
    const parentId = this.#parentId === "" ? id : this.#parentId;
    const found = this.#list.find((message) => message.id === parentId);
    const parent: ThreadMessage = found ?? { id: parentId, role: "assistant" };
    if (found === undefined) this.#list.push(parent);
    const called = { name: body.tool, arguments: argumentsOf(event) };
    (parent.toolCalls ??= []).push({ id, type: "function", function: called });
  }

  #settle(event: EventOf<"tool.settled">): void {
    const seq = event.cause ?? 0;
    if (event.body.late === true || !this.#open.delete(seq)) return;
    const toolCall = toolCallId(seq);
    const { content } = resultOf(event);
    const id = this.#idOf(resultId(this.#session, seq));
    let place = this.#list.findIndex(({ toolCalls }) => toolCalls?.some((call) => call.id === toolCall)) + 1;
    while (this.#list[place]?.role === "tool") place += 1;
    this.#list.splice(place, 0, { id, role: "tool", toolCallId: toolCall, content });
  }

  #imported(event: SessionEvent): void {
    if (isOf(event, "input.imported")) this.#list.push(this.#user(importedInput(event)));
    if (isOf(event, "answer.imported")) this.#answer(event.seq, saidIn(importedAnswer(event)));
    if (!isOf(event, "call.imported")) return;
    const { request, settled } = importedCall(event);
    this.#call(request);
    this.#settle({ ...settled, cause: request.seq });
  }
}

/** The message that the calls of an answer belong to: its last text, or one of their own. */
export function parentOf(session: string, requestSeq: number, said: readonly AnswerSegment[]): string {
  const last = said.findLastIndex(({ type }) => type === "text");
  return messageId(session, requestSeq, last === -1 ? said.length : last);
}
