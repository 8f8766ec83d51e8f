/** Builds a UI message from chunks, as the client of the AI SDK does. Pure. */
import type { DynamicToolUIPart, UIMessage, UIMessageChunk } from "ai";
import type { TurnMetadata } from "./project.ts";

/** A message of a chat on a session. Assistant messages have the metadata of their turn. */
export type ChatMessage = UIMessage<TurnMetadata | UserMetadata>;

/** The metadata of a user message. */
export interface UserMetadata {
  readonly session: string;
  /** The position of the input. */
  readonly seq: number;
  readonly createdAt: number;
  /** Absent: a user. */
  readonly from?: string;
  /** True: no turn has consumed it yet. */
  readonly queued?: boolean;
}

type Part = UIMessage["parts"][number];
type ToolPart = Extract<Part, { readonly toolCallId: string }>;

export const isToolPart = (part: Part): part is ToolPart => "toolCallId" in part;

/** Builds the assistant message of the chunks of one turn. */
export function buildMessage(chunks: Iterable<UIMessageChunk>): ChatMessage {
  const message: UIMessage = { id: "", role: "assistant", parts: [] };
  for (const chunk of chunks) addChunk(message, chunk);
  return message as ChatMessage;
}

function addChunk(message: UIMessage, chunk: UIMessageChunk): void {
  const { parts } = message;
  const { type } = chunk;
  if (type === "start" || type === "finish") {
    message.metadata = chunk.messageMetadata ?? message.metadata;
    if (type === "start") message.id = chunk.messageId ?? message.id;
  } else if (type === "start-step") parts.push({ type: "step-start" });
  else if (type === "reset-step") parts.splice(parts.findLastIndex((part) => part.type === "step-start") + 1);
  else if (type === "text-start") parts.push({ type: "text", text: "", state: "streaming" });
  else if (type === "reasoning-start")
    parts.push({ type: "reasoning", id: chunk.id, text: "", state: "streaming" });
  else if (isSpoken(chunk)) addText(parts, chunk);
  else if (type === "file") parts.push({ type, mediaType: chunk.mediaType, url: chunk.url });
  else if (type === "steering-message") parts.push({ type, id: chunk.id, parts: chunk.parts });
  else if (type === "tool-input-available") parts.push(toolPart(chunk));
  else addToCall(parts, chunk);
}

type TextChunk = Extract<UIMessageChunk, { type: `${"text" | "reasoning"}-${"delta" | "end"}` }>;

const isSpoken = (chunk: UIMessageChunk): chunk is TextChunk =>
  /^(text|reasoning)-(delta|end)$/.test(chunk.type);

/** One part is open at a time, and it is the last one of its kind. */
function addText(parts: Part[], chunk: TextChunk): void {
  const open = parts.findLast((part) => "state" in part && part.state === "streaming");
  if (open?.type !== "text" && open?.type !== "reasoning") return;
  if ("delta" in chunk) open.text += chunk.delta;
  else open.state = "done";
}

function toolPart(chunk: Extract<UIMessageChunk, { type: "tool-input-available" }>): ToolPart {
  const { toolCallId, toolName, input, dynamic, providerExecuted } = chunk;
  const ran = providerExecuted === undefined ? {} : { providerExecuted };
  const call = { toolCallId, state: "input-available", input, ...ran } as const;
  return dynamic === true
    ? { type: "dynamic-tool", toolName, ...call }
    : { type: `tool-${toolName}`, ...call };
}

/** A tool part is a union by its state; each change makes another member of it. */
function addToCall(parts: Part[], chunk: UIMessageChunk): void {
  const id = "toolCallId" in chunk ? chunk.toolCallId : "approvalId" in chunk ? chunk.approvalId : null;
  const place = parts.findLastIndex((part) => isToolPart(part) && part.toolCallId === id);
  const part = parts[place];
  if (id === null || part === undefined || !isToolPart(part)) return;
  parts[place] = { ...part, ...changed(part, chunk) } as DynamicToolUIPart;
}

function changed(part: ToolPart, chunk: UIMessageChunk): object {
  if (chunk.type === "tool-approval-request") {
    const automatic = chunk.isAutomatic === true ? { isAutomatic: true } : {};
    return { state: "approval-requested", approval: { id: chunk.approvalId, ...automatic } };
  }
  if (chunk.type === "tool-approval-response") {
    const { approved, reason } = chunk;
    const given = { ...part.approval, id: chunk.approvalId, approved };
    return { state: "approval-responded", approval: reason === undefined ? given : { ...given, reason } };
  }
  if (chunk.type === "tool-output-available") return { state: "output-available", output: chunk.output };
  if (chunk.type === "tool-output-error") return { state: "output-error", errorText: chunk.errorText };
  return chunk.type === "tool-output-denied" ? { state: "output-denied" } : {};
}
