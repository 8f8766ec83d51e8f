/** The meaning of single Codex items: messages, reasoning, calls and outputs, as OpenAI's API has them. */
import type { TranscriptBlock, TranscriptCall, TranscriptUsage } from "../model.ts";
import { countOf, fieldsOf, listOf, nameOf, parsedOr, textOf, type Fields } from "./json-value.ts";

export const callTypes: ReadonlySet<string> = new Set([
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
  "tool_search_call",
  "image_generation_call",
  "mcp_call",
]);

export const outputTypes: ReadonlySet<string> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "tool_search_output",
  "tool_search_call_output",
  "mcp_call_output",
]);

/** Context that the tool writes as a user message. */
function isGivenContext(text: string): boolean {
  const given = text.trimStart();
  if (given.startsWith("<INSTRUCTIONS>") || given.startsWith("# AGENTS.md instructions")) return true;
  const tag = /^<([a-z_]+)\b/.exec(given)?.[1];
  return tag !== undefined && (contextTags.has(tag) || /^[a-z]+_[a-z_]+$/.test(tag));
}

const contextTags = new Set(["permissions", "skill", "instructions", "context"]);

export function isContext(item: Fields): boolean {
  const [first] = messageBlocks(item["content"]);
  return item["role"] !== "user" || (first?.type === "text" && isGivenContext(first.text));
}

export function messageBlocks(content: unknown): TranscriptBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return listOf(content).flatMap((item): TranscriptBlock[] => {
    const part = fieldsOf(item);
    const text = nameOf(part["text"]) ?? nameOf(part["refusal"]);
    if (text !== null) return [{ type: "text", text }];
    if (part["type"] === "input_image" || part["type"] === "image") return [imageOf(part["image_url"])];
    return [];
  });
}

/** An image from a data URL; any other address is a name without data. */
export function imageOf(url: unknown): TranscriptBlock {
  const address = textOf(url) ?? textOf(fieldsOf(url)["url"]) ?? "";
  const [, mediaType, data] = /^data:([^;,]{1,100});base64,(.*)$/s.exec(address) ?? [];
  return mediaType !== undefined && data !== undefined
    ? { type: "attachment", name: null, mediaType, data }
    : {
        type: "attachment",
        name: address === "" ? null : address.slice(0, 500),
        mediaType: "image/png",
        data: null,
      };
}

export function reasoningOf(item: Fields): TranscriptBlock {
  const parts = [...listOf(item["summary"]), ...listOf(item["content"])];
  const text = parts.flatMap((part) => nameOf(fieldsOf(part)["text"]) ?? []).join("\n\n");
  const opaque = nameOf(item["encrypted_content"]);
  return { type: "thinking", text, ...(opaque === null ? {} : { opaque }) };
}

/** Server-side calls have no `call_id`: their own id, or the position, names them. */
export function callId(item: Fields, from: number): string {
  return nameOf(item["call_id"]) ?? nameOf(item["id"]) ?? `call-${from}`;
}

export function callOf(item: Fields, from: number): TranscriptCall {
  const type = textOf(item["type"]) ?? "";
  const own = nameOf(item["name"]) ?? type.replace(/_call$/, "");
  const namespace = nameOf(item["namespace"]);
  const input = item["arguments"] ?? item["input"] ?? item["action"] ?? item["revised_prompt"] ?? {};
  const isDone = type === "web_search_call" || type === "image_generation_call";
  const image = type === "image_generation_call" ? nameOf(item["result"]) : null;
  return {
    id: callId(item, from),
    name: namespace === null || own.startsWith(namespace) ? own : `${namespace}${own}`,
    input: type === "custom_tool_call" ? input : parsedOr(input),
    status: !isDone ? "unknown" : item["status"] === "failed" ? "error" : "ok",
    output: image === null ? [] : [{ type: "attachment", name: null, mediaType: "image/png", data: image }],
    endedAtMs: null,
  };
}

export function outputOf(item: Fields): Pick<TranscriptCall, "status" | "output"> {
  const output = item["output"] ?? item["tools"] ?? item["result"];
  const fields = fieldsOf(output);
  const status = fields["success"] === false || item["status"] === "failed" ? "error" : "ok";
  const content = fields["content"] ?? fields["body"] ?? output;
  const blocks = messageBlocks(content);
  if (blocks.length > 0 || content === undefined || content === "" || content === null)
    return { status, output: blocks };
  return { status, output: [{ type: "text", text: JSON.stringify(content) }] };
}

/** Totals of a session so far, as `token_count` repeats them. */
export function totalsOf(usage: unknown): TranscriptUsage {
  const fields = fieldsOf(usage);
  return {
    inputTokens: countOf(fields["input_tokens"]),
    outputTokens: countOf(fields["output_tokens"]),
    cacheReadTokens: countOf(fields["cached_input_tokens"]),
    cacheWriteTokens: countOf(fields["cache_write_input_tokens"]),
    reasoningTokens: countOf(fields["reasoning_output_tokens"]),
    costUsd: null,
  };
}

/** The growth from one total to the next; null when nothing grew, undefined when the count began anew. */
export function growthOf(before: TranscriptUsage, now: TranscriptUsage): TranscriptUsage | null | undefined {
  const growth: TranscriptUsage = {
    inputTokens: now.inputTokens - before.inputTokens,
    outputTokens: now.outputTokens - before.outputTokens,
    cacheReadTokens: now.cacheReadTokens - before.cacheReadTokens,
    cacheWriteTokens: now.cacheWriteTokens - before.cacheWriteTokens,
    reasoningTokens: now.reasoningTokens - before.reasoningTokens,
    costUsd: null,
  };
  if (growth.inputTokens < 0 || growth.outputTokens < 0) return undefined;
  return growth.inputTokens === 0 && growth.outputTokens === 0 ? null : growth;
}
