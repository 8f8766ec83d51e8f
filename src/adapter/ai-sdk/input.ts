/** What a chat client sends: requests, and user messages as input of a session. */
import type { UIMessage } from "ai";
import { SkeinError } from "../../core/error.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { ChatRequest } from "./chat.ts";

/** Reads the body of a POST: of the default transport, or `{ id, message }` of a custom one. */
export function readChatRequest(body: unknown): ChatRequest {
  const { id, messages, message, trigger = "submit-message", messageId } = fieldsOf(body);
  if (typeof id !== "string" || id === "") throw invalid("id: expected a text");
  if (trigger !== "submit-message" && trigger !== "regenerate-message")
    throw invalid('trigger: expected "submit-message" or "regenerate-message"');
  const list: unknown = messages ?? (message === undefined ? [] : [message]);
  if (!Array.isArray(list)) throw invalid("messages: expected a list");
  const last: unknown = list.at(-1);
  if (trigger === "submit-message" || last !== undefined) checkMessage(last);
  return {
    id,
    messages: list.filter(isMessage),
    trigger,
    ...(typeof messageId === "string" ? { messageId } : {}),
  };
}

/** The blocks of a user message. Its files are stored. */
export async function inputBlocks(engine: Engine, { parts }: UIMessage): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const part of parts) {
    if (part.type === "text" && part.text !== "") blocks.push({ type: "text", text: part.text });
    if (part.type !== "file") continue;
    const { mediaType, bytes } = readDataUrl(part.url);
    const blob = await engine.putBlob(bytes);
    const name = part.filename === undefined ? {} : { name: part.filename };
    const type = mediaType.startsWith("image/") ? "image" : "file";
    blocks.push(type === "image" ? { type, blob, mediaType } : { type, blob, mediaType, ...name });
  }
  if (blocks.length === 0) throw invalid("messages: the message has no text and no file");
  return blocks;
}

function readDataUrl(url: string): { readonly mediaType: string; readonly bytes: Uint8Array } {
  const [, mediaType, base64, content] = /^data:([^;,]+)(?:;[^;,]+)*?(;base64)?,([^]*)$/.exec(url) ?? [];
  if (mediaType === undefined || content === undefined) {
    throw new SkeinError("invalid", "chat: messages: file: expected a data URL", {
      hint: "nothing is downloaded: send the file itself",
    });
  }
  const bytes =
    base64 === undefined ? Buffer.from(decodeURIComponent(content)) : Buffer.from(content, "base64");
  return { mediaType: mediaType.toLowerCase(), bytes };
}

function checkMessage(message: unknown): void {
  if (!isMessage(message)) throw invalid("messages: expected a message with id, role and parts");
  const wrong = message.parts.find(
    (part) =>
      (part.type === "text" && typeof part.text !== "string") ||
      (part.type === "file" && typeof part.url !== "string"),
  );
  if (wrong !== undefined) throw invalid(`messages: a part of type ${wrong.type} is not valid`);
}

function isMessage(value: unknown): value is UIMessage {
  const { id, role, parts } = fieldsOf(value);
  const isPart = (part: unknown): boolean => typeof fieldsOf(part)["type"] === "string";
  return typeof id === "string" && typeof role === "string" && Array.isArray(parts) && parts.every(isPart);
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const invalid = (what: string): SkeinError => new SkeinError("invalid", `chat: ${what}`);
