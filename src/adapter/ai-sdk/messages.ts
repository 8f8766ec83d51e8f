/** The transcript of a session as UI messages, from the log alone. */
import type { UIMessageChunk } from "ai";
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { importedAnswer, importedCall, importedInput } from "../../core/history/transcript.ts";
import { includes } from "../../core/range.ts";
import { isOf, transcriptTypes } from "../../core/transcript.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { messageId } from "./ids.ts";
import { buildMessage, type ChatMessage } from "./message.ts";
import { TurnProjection, userParts, type BlobBlock, type ChatProjectionOptions } from "./project.ts";

/** Types of the events that a projection reads. */
export const chatTypes: readonly string[] = [
  ...new Set([
    ...transcriptTypes,
    ...[
      "turn.ended model.failed transcript.compacted session.rewound",
      "session.suspended session.activated lease.taken lease.released",
    ].flatMap((line) => line.split(" ")),
  ]),
];

/** Options of `uiMessages`. */
export interface MessagesOptions {
  /** The URL of an image or file. Default: a data URL with its bytes, for up to 1 MiB. */
  readonly urlOf?: (block: BlobBlock) => string | null;
  /** The bytes of a blob, for data URLs: `(hash) => engine.blob(hash)`. Without it, files are left out. */
  readonly blob?: (hash: string) => Promise<Uint8Array>;
}

/**
 * The messages of a session, for `useChat({ messages })` and for rendering on the server. The same log gives
 * the same messages, whenever and wherever it is read.
 */
export async function uiMessages(session: Session, options: MessagesOptions = {}): Promise<ChatMessage[]> {
  const { mind, seq: toSeq } = await session.fold();
  const files = makeFiles(options);
  const transcript = makeTranscript({ session: session.id, urlOf: files.urlOf });
  for await (const event of session.events({ toSeq, types: chatTypes })) {
    if (includes(mind.lost, event.seq)) continue;
    await files.learn(event);
    transcript.add(event);
  }
  return transcript.messages();
}

interface ChatTranscript {
  add(event: SessionEvent): void;
  messages(): ChatMessage[];
}

/** Collects events of the current path into messages. Pure. */
function makeTranscript(options: ChatProjectionOptions): ChatTranscript {
  const { session, urlOf = () => null } = options;
  const done: ChatMessage[] = [];
  const inputs = new Map<number, EventOf<"input.received"> | EventOf<"message.received">>();
  let turn: { readonly projection: TurnProjection; readonly chunks: UIMessageChunk[] } | null = null;

  const user = (
    event: EventOf<"input.received"> | EventOf<"message.received">,
    queued: boolean,
  ): ChatMessage => {
    const from = event.type === "message.received" ? "session" : event.body.from;
    return {
      id: messageId(session, event.seq),
      role: "user",
      metadata: {
        session,
        seq: event.seq,
        createdAt: event.at,
        ...(from === undefined || from === "user" ? {} : { from }),
        ...(queued ? { queued } : {}),
      },
      parts: userParts(event, urlOf),
    };
  };
  const close = (): void => {
    if (turn === null) return;
    const { projection, chunks } = turn;
    if (!projection.isOver) chunks.push(...projection.pause());
    done.push(buildMessage(chunks));
    turn = null;
  };
  const take = (taken: readonly (readonly [number, number])[], show: boolean): void => {
    for (const [seq] of taken) {
      const input = inputs.get(seq);
      inputs.delete(seq);
      if (show && input !== undefined) done.push(user(input, false));
    }
  };
  const imported = (event: SessionEvent): void => {
    if (isOf(event, "input.imported")) done.push(user(importedInput(event), false));
    else done.push(...importedMessage(event, session, done.at(-1)));
  };

  return {
    add(event) {
      if (isOf(event, "input.received", "message.received")) inputs.set(event.seq, event);
      if (isOf(event, "turn.started")) {
        close();
        take(event.body.inputs, true);
        turn = { projection: new TurnProjection(options), chunks: [] };
      }
      if (event.type.endsWith(".imported")) imported(event);
      // A rewind inside a turn leaves its beginning; the turn is over, and nothing of it is missing.
      if (turn !== null) turn.chunks.push(...turn.projection.event(event));
      if (isOf(event, "model.requested")) take(event.body.inputs, false);
    },
    messages() {
      close();
      return [...done, ...[...inputs.values()].map((event) => user(event, true))];
    },
  };
}

/** An answer or a call of another tool's history. A call is added to the answer before it. */
function importedMessage(
  event: SessionEvent,
  session: string,
  last: ChatMessage | undefined,
): readonly ChatMessage[] {
  if (isOf(event, "answer.imported")) {
    const blocks = importedAnswer(event).content?.blocks ?? [];
    const parts = blocks.flatMap((block) =>
      block.type === "text" || block.type === "reasoning"
        ? [{ type: block.type, text: block.text, state: "done" as const }]
        : [],
    );
    return [{ id: messageId(session, event.seq), role: "assistant", parts }];
  }
  if (!isOf(event, "call.imported")) return [];
  const { request, settled } = importedCall(event);
  const result =
    settled.body.status === "ok"
      ? { state: "output-available" as const, output: settled.content?.output ?? "" }
      : { state: "output-error" as const, errorText: JSON.stringify(settled.content?.output ?? "failed") };
  const call = { toolCallId: `call_${event.seq}`, toolName: request.body.tool, providerExecuted: true };
  const part = { type: "dynamic-tool" as const, ...call, input: request.content?.input ?? null, ...result };
  if (last?.role !== "assistant")
    return [{ id: messageId(session, event.seq), role: "assistant", parts: [part] }];
  last.parts.push(part);
  return [];
}

const dataUrlBytesMax = 1_048_576;

/** Reads files as the events name them, so that the projection stays synchronous. */
export function makeFiles({ urlOf, blob }: MessagesOptions) {
  const known = new Map<string, string | null>();
  return {
    urlOf: (block: BlobBlock): string | null =>
      urlOf === undefined ? (known.get(block.blob) ?? null) : urlOf(block),
    /** Reads the images and files that an event shows. */
    async learn(event: SessionEvent): Promise<void> {
      if (urlOf !== undefined || blob === undefined) return;
      const { blocks = [] } = (event.content ?? {}) as { readonly blocks?: readonly unknown[] };
      for (const block of blocks as (BlobBlock & { type: string })[]) {
        const isShown = block.type === "image" || (block.type === "file" && event.type !== "tool.settled");
        if (!isShown || known.has(block.blob)) continue;
        const bytes = await blob(block.blob).catch(() => null);
        const fits = bytes !== null && bytes.length <= dataUrlBytesMax;
        const url = fits ? `data:${block.mediaType};base64,${Buffer.from(bytes).toString("base64")}` : null;
        known.set(block.blob, url);
      }
    },
  };
}
