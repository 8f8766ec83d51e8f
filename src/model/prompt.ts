/**
 * Converts the rendered context into the prompt of a provider's library. Pure except for reading blobs: the
 * same parts give the same prompt, and parts added at the end only add to its end.
 *
 * No context makes this fail: what a provider would reject (a blank text, an unreadable file, a tool name
 * with odd characters) is replaced by something it accepts, because a session must never be stuck.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type {
  MessagePart,
  Metadata,
  ModelBlock,
  ContextPart,
  ResultBlock,
  Settings,
  ToolDefinition,
  UserBlock,
} from "../core/context/part.ts";
import { SkeinError } from "../core/error.ts";
import { ModelError, type ModelCall } from "./port.ts";

/** The protocol of a provider. `compatible` is Chat Completions, which many servers speak. */
export type ProviderApi = "anthropic" | "openai" | "google" | "compatible";

export interface Prompt {
  readonly messages: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
  readonly settings: Settings | undefined;
  /** The tool behind a name on the wire. */
  readonly toolOf: (name: string) => string;
}

export async function makePrompt(
  call: Pick<ModelCall, "parts" | "blob">,
  wire: ProviderApi,
): Promise<Prompt> {
  const settings = call.parts.findLast((part) => part.part === "settings")?.settings;
  const tools = call.parts.findLast((part) => part.part === "tools")?.tools ?? [];
  const reader: Reader = { wire, images: settings?.images ?? false, blob: call.blob };
  const messages = [...systemMessages(call.parts, wire), ...(await spokenMessages(call.parts, reader))];
  const names = new Map(tools.map(({ name }) => [wireName(name), name]));
  return {
    messages: wire === "anthropic" ? withCacheMarks(messages) : messages,
    tools: tools.map(functionTool),
    settings,
    toolOf: (name) => names.get(name) ?? name,
  };
}

interface Reader {
  readonly wire: ProviderApi;
  readonly images: boolean;
  readonly blob: ModelCall["blob"];
}

type UserContent = LanguageModelV4TextPart | LanguageModelV4FilePart;
type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

/** One per part, except where many servers' templates accept only one: there they are joined. */
function systemMessages(parts: readonly ContextPart[], wire: ProviderApi): LanguageModelV4Message[] {
  const texts = parts.flatMap((part) => (part.part === "system" && !isBlank(part.text) ? [part.text] : []));
  const joined = wire === "compatible" && texts.length > 0 ? [texts.join("\n\n")] : texts;
  return joined.map((content) => ({ role: "system", content }));
}

async function spokenMessages(
  parts: readonly ContextPart[],
  reader: Reader,
): Promise<LanguageModelV4Message[]> {
  const messages: LanguageModelV4Message[] = [];
  for (const part of parts) {
    if (part.part !== "message") continue;
    for (const message of await spoken(part, reader)) {
      const last = messages.at(-1);
      // Templates of local models require that user and model take turns. For Anthropic its library merges.
      if (reader.wire === "compatible" && message.role === "user" && last?.role === "user") {
        messages[messages.length - 1] = { ...last, content: [...last.content, ...message.content] };
      } else {
        messages.push(message);
      }
    }
  }
  return messages;
}

async function spoken(message: MessagePart, reader: Reader): Promise<LanguageModelV4Message[]> {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: await userContent(message.content, reader) }];
    case "assistant": {
      const content = withoutLooseEnd(message.content.flatMap(assistantContent));
      return content.length === 0 ? [] : [{ role: "assistant", content }];
    }
    case "tool":
      return resultMessages(message.content, reader);
  }
}

async function userContent(blocks: readonly UserBlock[], reader: Reader): Promise<UserContent[]> {
  const content: UserContent[] = [];
  for (const block of blocks) {
    if (block.type !== "text") content.push(await blobContent(block, reader));
    else if (!isBlank(block.text)) content.push(text(block.text));
  }
  return content.length === 0 ? [text("(empty)")] : content;
}

function assistantContent(block: ModelBlock): AssistantContent {
  const options = block.metadata === undefined ? {} : { providerOptions: providerOptions(block.metadata) };
  switch (block.type) {
    case "text":
      // A blank text may still carry a signature that its provider needs back.
      return isBlank(block.text) && block.metadata === undefined
        ? []
        : [{ type: "text", text: block.text, ...options }];
    case "reasoning":
      return [{ type: "reasoning", text: block.text, ...options }];
    case "tool-call": {
      const { call, tool, input } = block;
      return [{ type: "tool-call", toolCallId: call, toolName: wireName(tool), input, ...options }];
    }
  }
}

/** Trailing reasoning, as in a truncated answer: providers reject it. */
function withoutLooseEnd(content: AssistantContent): AssistantContent {
  return content.slice(0, content.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

/** Images that are not allowed in a result follow it in a user message. */
async function resultMessages(
  results: readonly ResultBlock[],
  reader: Reader,
): Promise<LanguageModelV4Message[]> {
  const content: LanguageModelV4ToolResultPart[] = [];
  const late: UserContent[] = [];
  for (const result of results) {
    const images = await Promise.all(
      (result.images ?? []).map((image) => blobContent({ type: "image", ...image }, reader)),
    );
    const within = reader.wire !== "compatible" && result.status === "ok";
    content.push(resultPart(result, within ? images : [], reader.wire));
    if (!within && images.length > 0) late.push(text(`What ${result.tool} showed:`), ...images);
  }
  if (content.length === 0) return [];
  const follow: LanguageModelV4Message[] = late.length === 0 ? [] : [{ role: "user", content: late }];
  return [{ role: "tool", content }, ...follow];
}

function resultPart(
  result: ResultBlock,
  images: readonly UserContent[],
  wire: ProviderApi,
): LanguageModelV4ToolResultPart {
  const said = isBlank(result.text) ? "(no output)" : result.text;
  const name = { type: "tool-result", toolCallId: result.call, toolName: wireName(result.tool) } as const;
  if (result.status !== "ok") {
    // Chat Completions has no mark for a failed call, so the text says it.
    const value = wire === "compatible" ? `Error: ${said}` : said;
    return { ...name, output: { type: "error-text", value } };
  }
  if (images.length === 0) return { ...name, output: { type: "text", value: said } };
  return { ...name, output: { type: "content", value: [text(said), ...images] } };
}

const imageTypes: Readonly<Record<ProviderApi, readonly string[]>> = {
  anthropic: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  openai: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  google: ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
  compatible: ["image/png", "image/jpeg", "image/gif", "image/webp"],
};
const textTypes = /^text\/|^application\/(.*\+)?(json|xml|yaml|toml|javascript|typescript|sql|x-sh|x-yaml)$/;

async function blobContent(
  block: Exclude<UserBlock, { type: "text" }>,
  reader: Reader,
): Promise<UserContent> {
  const mediaType = (block.mediaType.split(";")[0] ?? "").trim().toLowerCase();
  const name = block.type === "file" ? block.name : undefined;
  const isImage = mediaType.startsWith("image/");
  const isText = textTypes.test(mediaType);
  const readable =
    isText ||
    (reader.images && imageTypes[reader.wire].includes(mediaType)) ||
    (reader.images && mediaType === "application/pdf" && reader.wire !== "compatible");
  const called = `${isImage ? "an image" : "a file"}${name === undefined ? "" : ` "${name}"`} (${mediaType})`;
  if (!readable) return text(`[${called} that this model cannot ${isImage ? "see" : "read"}]`);
  const bytes = await readBlob(block.blob, reader);
  if (bytes === null) return text(`[${called} that is no longer there]`);
  if (isText) return text(fileText(name, bytes));
  const filename = mediaType === "application/pdf" ? { filename: name ?? "document.pdf" } : {};
  return { type: "file", mediaType, data: { type: "data", data: bytes }, ...filename };
}

function fileText(name: string | undefined, bytes: Uint8Array): string {
  const title = name === undefined ? "<file>" : `<file name=${JSON.stringify(name)}>`;
  return `${title}\n${new TextDecoder().decode(bytes)}\n</file>`;
}

/** Null if the blob is gone for good; a temporary store failure is worth a retry. */
async function readBlob(hash: string, reader: Reader): Promise<Uint8Array | null> {
  try {
    return await reader.blob(hash);
  } catch (cause) {
    if (cause instanceof SkeinError && cause.code === "not-found") return null;
    throw new ModelError("failed", `context: blob ${hash} cannot be read`, { cause });
  }
}

function functionTool(tool: ToolDefinition): LanguageModelV4FunctionTool {
  return {
    type: "function",
    name: wireName(tool.name),
    description: tool.description,
    inputSchema: tool.input,
  };
}

/** A tool name that every provider accepts; models sometimes invent names. */
function wireName(name: string): string {
  const fit = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
  return /^[A-Za-z_]/.test(fit) ? fit : `_${fit}`.slice(0, 64);
}

/**
 * The cache breakpoints for Anthropic: after the system text, at the end of the previous request, and at the
 * end of this one. Marks move, but are not part of what is cached, so the prefix stays the same.
 */
function withCacheMarks(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const system = messages.findLastIndex(({ role }) => role === "system");
  const before = messages.findLastIndex(({ role }) => role === "assistant") - 1;
  const marks = new Set([system, before, messages.length - 1]);
  const mark = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };
  return messages.map((message, at) => (marks.has(at) ? { ...message, ...mark } : message));
}

const text = (said: string): LanguageModelV4TextPart => ({ type: "text", text: said });
const isBlank = (said: string): boolean => said.trim() === "";
/** Metadata comes from the library itself; it goes back verbatim. */
const providerOptions = (metadata: Metadata): SharedV4ProviderOptions => metadata as SharedV4ProviderOptions;
