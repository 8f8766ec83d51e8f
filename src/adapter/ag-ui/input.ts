/** What a client sends: a run, and its messages as inputs and answers of a session. */
import { SkeinError } from "../../core/error.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { Engine } from "../../runtime/engine/engine.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A message of the client. */
export interface ClientMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCallId?: string;
  readonly error?: string;
}

/** A tool that the client executes. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Fields;
}

/** The answer to an interrupt. */
export interface ResumeEntry {
  readonly interruptId: string;
  readonly isResolved: boolean;
  readonly payload: unknown;
}

/** The body of a POST. */
export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly ClientMessage[];
  readonly tools: readonly ClientTool[];
  readonly context: readonly { readonly description: string; readonly value: string }[];
  readonly resume: readonly ResumeEntry[];
}

/** Reads the body of a POST. Fields that it does not know are ignored. */
export function readRunInput(body: unknown): RunInput {
  const { threadId, runId, messages, tools, context, resume } = fieldsOf(body);
  return {
    threadId: readId("threadId", threadId),
    runId: readId("runId", runId),
    messages: readList("messages", messages).map(readMessage),
    tools: readList("tools", tools).map(readTool),
    context: readList("context", context).map((entry) => {
      const { description, value } = fieldsOf(entry);
      if (typeof description !== "string" || typeof value !== "string")
        throw invalid("context: expected entries with description and value");
      return { description, value };
    }),
    resume: readList("resume", resume).map(readResume),
  };
}

/** The blocks of a user message. Its files are stored. */
export async function inputBlocks(engine: Engine, { content }: ClientMessage): Promise<ContentBlock[]> {
  if (typeof content === "string") {
    if (content === "") throw invalid("messages: the message is empty");
    return [{ type: "text", text: content }];
  }
  const blocks: ContentBlock[] = [];
  for (const part of readList("messages: content", content).map(fieldsOf)) {
    if (part["type"] === "text" && typeof part["text"] === "string") {
      if (part["text"] !== "") blocks.push({ type: "text", text: part["text"] });
    } else blocks.push(await fileBlock(engine, part));
  }
  if (blocks.length === 0) throw invalid("messages: the message is empty");
  return blocks;
}

async function fileBlock(engine: Engine, part: Fields): Promise<ContentBlock> {
  const { type, value, mimeType } = fieldsOf(part["source"]);
  if (type !== "data" || typeof value !== "string" || typeof mimeType !== "string") {
    throw invalid("messages: content: expected a text, or a file with a source of type data", {
      hint: "nothing is downloaded: send the file itself",
    });
  }
  const blob = await engine.putBlob(Buffer.from(value, "base64"));
  const mediaType = mimeType.toLowerCase();
  return { type: mediaType.startsWith("image/") ? "image" : "file", blob, mediaType };
}

function readMessage(value: unknown): ClientMessage {
  const { id, role, content, toolCallId, error } = fieldsOf(value);
  if (typeof id !== "string" || id === "" || typeof role !== "string")
    throw invalid("messages: expected messages with id and role");
  return {
    id,
    role,
    content,
    ...(typeof toolCallId === "string" ? { toolCallId } : {}),
    ...(typeof error === "string" ? { error } : {}),
  };
}

function readTool(value: unknown): ClientTool {
  const { name, description, parameters } = fieldsOf(value);
  if (typeof name !== "string" || typeof description !== "string")
    throw invalid("tools: expected tools with name and description");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw invalid("tools: name: expected 1 to 64 letters, digits, _ or -");
  return {
    name,
    description: description.trim() === "" ? name : description,
    parameters: { ...fieldsOf(parameters), type: "object" },
  };
}

function readResume(value: unknown): ResumeEntry {
  const { interruptId, status, payload } = fieldsOf(value);
  if (typeof interruptId !== "string") throw invalid("resume: interruptId: expected a text");
  if (status !== "resolved" && status !== "cancelled")
    throw invalid('resume: status: expected "resolved" or "cancelled"');
  return { interruptId, isResolved: status === "resolved", payload };
}

/** Whether the payload of an interrupt allows a call, and why. */
export function approvalOf({ isResolved, payload }: ResumeEntry): {
  readonly allow: boolean;
  readonly reason?: string;
} {
  const { approved, reason } = fieldsOf(payload);
  const because = typeof reason === "string" && reason !== "" ? { reason: reason.slice(0, 2_000) } : {};
  if (!isResolved) return { allow: false, ...because };
  const allow = typeof payload === "boolean" ? payload : approved;
  if (typeof allow !== "boolean") throw invalid("resume: payload: expected { approved: true } or false");
  return { allow, ...because };
}

/** The text of a payload for the model; undefined if there is none. */
export function payloadText({ payload }: ResumeEntry): string | undefined {
  const { text } = fieldsOf(payload);
  const given = typeof payload === "string" ? payload : text;
  return typeof given === "string" && given.trim() !== "" ? given : undefined;
}

function readId(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.length <= 1_000) return value;
  throw invalid(`${name}: expected a text of 1 to 1,000 characters`);
}

function readList(name: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw invalid(`${name}: expected a list`);
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

const invalid = (what: string, more: { readonly hint?: string } = {}): SkeinError =>
  new SkeinError("invalid", `ag-ui: ${what}`, more);
