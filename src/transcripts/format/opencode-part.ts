/** The meaning of opencode's messages and parts; a call and its result are one part. */
import type { ForeignEntry, TranscriptBlock, TranscriptCall, TranscriptUsage } from "../model.ts";
import { imageOf } from "./codex-item.ts";
import { countOf, fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";

export const knownParts: ReadonlySet<string> = new Set([
  "text",
  "reasoning",
  "file",
  "tool",
  "step-start",
  "step-finish",
  "snapshot",
  "patch",
  "agent",
  "subtask",
  "retry",
  "compaction",
]);

export function callOf(part: Fields): TranscriptCall {
  const state = fieldsOf(part["state"]);
  const status = state["status"];
  const output = nameOf(state["output"]) ?? nameOf(state["error"]);
  const files = listOf(state["attachments"]).map((file) => fileOf(fieldsOf(file)));
  return {
    id: nameOf(part["callID"]) ?? nameOf(part["id"]) ?? "",
    name: nameOf(part["tool"]) ?? "(unnamed)",
    input: state["input"] ?? {},
    status: status === "completed" ? "ok" : status === "error" ? "error" : "unknown",
    output: [...(output === null ? [] : [{ type: "text" as const, text: output }]), ...files],
    ...(state["metadata"] === undefined ? {} : { structured: state["metadata"] }),
    endedAtMs: timeOf(fieldsOf(state["time"])["end"]),
  };
}

function fileOf(part: Fields): TranscriptBlock {
  const image = imageOf(part["url"]);
  const data = image.type === "attachment" ? image.data : null;
  const mediaType = nameOf(part["mime"]) ?? "application/octet-stream";
  return { type: "attachment", name: nameOf(part["filename"]) ?? nameOf(part["url"]), mediaType, data };
}

export function blocksOf(parts: readonly Fields[]): TranscriptBlock[] {
  return parts.flatMap((part): TranscriptBlock[] => {
    const text = textOf(part["text"]) ?? "";
    if (part["type"] === "text")
      return text === "" || part["ignored"] === true ? [] : [{ type: "text", text }];
    if (part["type"] === "reasoning") {
      const opaque = part["metadata"];
      return [{ type: "thinking", text, ...(opaque === undefined || opaque === null ? {} : { opaque }) }];
    }
    return part["type"] === "file" ? [fileOf(part)] : [];
  });
}

/** A message of a person has a text that the tool did not make up. */
export function typedByPerson(parts: readonly Fields[]): boolean {
  const texts = parts.filter((part) => part["type"] === "text");
  return texts.length === 0 || texts.some((part) => part["synthetic"] !== true);
}

function usageOf(info: Fields): TranscriptUsage | null {
  if (typeof info["tokens"] !== "object" || info["tokens"] === null) return null;
  const tokens = fieldsOf(info["tokens"]);
  const cache = fieldsOf(tokens["cache"]);
  const reasoningTokens = countOf(tokens["reasoning"]);
  const cacheReadTokens = countOf(cache["read"]);
  const cacheWriteTokens = countOf(cache["write"]);
  return {
    inputTokens: countOf(tokens["input"]) + cacheReadTokens + cacheWriteTokens,
    // Reasoning is counted beside the output.
    outputTokens: countOf(tokens["output"]) + reasoningTokens,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens,
    costUsd: typeof info["cost"] === "number" ? countOf(info["cost"]) : null,
  };
}

type Answer = Omit<Extract<ForeignEntry, { kind: "answer" }>, "id" | "atMs" | "source">;

export function answerOf(info: Fields, parts: readonly Fields[]): Answer {
  const error = fieldsOf(info["error"]);
  const isAborted = error["name"] === "MessageAbortedError";
  const message = nameOf(fieldsOf(error["data"])["message"]) ?? nameOf(error["name"]);
  return {
    kind: "answer",
    model: nameOf(info["modelID"]) ?? nameOf(fieldsOf(info["model"])["modelID"]),
    messageId: null,
    blocks: blocksOf(parts),
    calls: parts.filter((part) => part["type"] === "tool").map(callOf),
    usage: usageOf(info),
    interrupted: isAborted,
    error: isAborted ? null : message,
  };
}
