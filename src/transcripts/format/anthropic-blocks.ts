/** Content blocks as Anthropic's API writes them; Claude Code and Claude.ai keep them as they came. */
import type { TranscriptBlock, TranscriptCall } from "../model.ts";
import { fieldsOf, listOf, nameOf, textOf } from "./json-value.ts";

/** The result of a call, which stands apart from it. */
export interface CallResult {
  readonly id: string | null;
  readonly isError: boolean;
  readonly output: readonly TranscriptBlock[];
}

/** What a message holds. Calls have no outcome yet. */
export interface MessageContent {
  readonly blocks: readonly TranscriptBlock[];
  readonly calls: readonly Pick<TranscriptCall, "id" | "name" | "input">[];
  readonly results: readonly CallResult[];
  readonly unknown: readonly string[];
}

/** `derive` names the source of a call without an id; its position in the content makes it unique. */
export function readContent(content: unknown, derive: string): MessageContent {
  if (typeof content === "string")
    return {
      blocks: content === "" ? [] : [{ type: "text", text: content }],
      calls: [],
      results: [],
      unknown: [],
    };
  const blocks: TranscriptBlock[] = [];
  const calls: { id: string; name: string; input: unknown }[] = [];
  const results: CallResult[] = [];
  const unknown: string[] = [];
  for (const [at, item] of listOf(content).entries()) {
    const block = fieldsOf(item);
    const type = textOf(block["type"]) ?? "(none)";
    if (type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use") {
      const id = nameOf(block["id"]) ?? `${derive}#${at}`;
      calls.push({ id, name: nameOf(block["name"]) ?? "(unnamed)", input: block["input"] ?? {} });
    } else if (type.endsWith("tool_result")) {
      const isError = block["is_error"] === true || fieldsOf(block["content"])["error_code"] !== undefined;
      results.push({ id: nameOf(block["tool_use_id"]), isError, output: outputOf(block["content"]) });
    } else {
      const plain = plainBlock(block, type);
      if (plain === undefined) unknown.push(`block:${type}`);
      else if (plain !== null) blocks.push(plain);
    }
  }
  return { blocks, calls, results, unknown };
}

/** Null for an empty text, undefined for a type that is unknown. */
function plainBlock(block: ReturnType<typeof fieldsOf>, type: string): TranscriptBlock | null | undefined {
  if (type === "text") {
    const text = textOf(block["text"]) ?? "";
    return text === "" ? null : { type: "text", text };
  }
  if (type === "thinking") {
    const opaque = nameOf(block["signature"]);
    const text = textOf(block["thinking"]) ?? "";
    return { type: "thinking", text, ...(opaque === null ? {} : { opaque }) };
  }
  if (type === "redacted_thinking") return { type: "thinking", text: "", opaque: block["data"] ?? null };
  if (type === "image" || type === "document") return attachmentOf(block, type);
  return undefined;
}

function attachmentOf(block: ReturnType<typeof fieldsOf>, type: string): TranscriptBlock {
  const source = fieldsOf(block["source"]);
  const fallback = type === "image" ? "image/png" : "application/octet-stream";
  return {
    type: "attachment",
    name: nameOf(block["title"]) ?? nameOf(source["url"]),
    mediaType: nameOf(source["media_type"]) ?? fallback,
    data: source["type"] === "base64" ? textOf(source["data"]) : null,
  };
}

function outputOf(content: unknown): TranscriptBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const items = Array.isArray(content)
    ? listOf(content)
    : content === undefined || content === null
      ? []
      : [content];
  return items.flatMap((item): TranscriptBlock[] => {
    if (typeof item === "string") return [{ type: "text", text: item }];
    const block = fieldsOf(item);
    const plain = plainBlock(block, textOf(block["type"]) ?? "(none)");
    if (plain === null) return [];
    return [plain ?? { type: "text", text: JSON.stringify(item) }];
  });
}
