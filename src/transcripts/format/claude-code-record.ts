/** The meaning of single Claude Code records: who speaks, what an attachment says, what a message cost. */
import type { ForeignEntry, TranscriptBlock, TranscriptCall, TranscriptUsage } from "../model.ts";
import { readContent, type MessageContent } from "./anthropic-blocks.ts";
import { countOf, fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";

/** Records beside the chain; of most the last one counts. */
export const settingTypes: ReadonlySet<string> = new Set([
  "summary",
  "custom-title",
  "ai-title",
  "agent-name",
  "tag",
  "last-prompt",
  "mode",
  "permission-mode",
  "queue-operation",
  "file-history-snapshot",
  "content-replacement",
  "worktree-state",
  "relocated",
  "pr-link",
  "frame-link",
  "bridge-session",
  "started",
  "result",
]);

/** Text that the tool wrote into a user record. */
const notTyped =
  /^\s*<(local-command-|system-reminder|task-notification|bash-std|ide_|new-diag)|^Caveat: The messages /;

export const interruption = "[Request interrupted by user";

export function typedByPerson(record: Fields, text: string): boolean {
  if (record["isMeta"] === true || record["isVisibleInTranscriptOnly"] === true) return false;
  const origin = textOf(fieldsOf(record["origin"])["kind"]);
  if (origin === "task-notification") return false;
  return !notTyped.test(text) && !text.startsWith(interruption);
}

export function contentOf(record: Fields): MessageContent {
  return readContent(fieldsOf(record["message"])["content"], textOf(record["uuid"]) ?? "");
}

export function firstText(blocks: readonly TranscriptBlock[]): string {
  const [text] = blocks.filter((block) => block.type === "text");
  return text?.text ?? "";
}

/** What an attachment gave to the model, as far as it is text; null where it is a mark for the tool. */
export function attachmentBlocks(attachment: Fields): readonly TranscriptBlock[] | null {
  if (attachment["type"] === "queued_command") return readContent(attachment["prompt"], "").blocks;
  const texts = attachmentTexts(attachment).filter((text) => text !== "");
  return texts.length === 0 ? null : texts.map((text) => ({ type: "text", text }));
}

function attachmentTexts(attachment: Fields): string[] {
  const { content } = attachment;
  const inner = fieldsOf(content);
  const file = fieldsOf(inner["file"]);
  const skills = listOf(attachment["skills"]).map((skill) => textOf(fieldsOf(skill)["content"]) ?? "");
  const items = listOf(content).map((item) => {
    if (typeof item === "string") return item;
    const { status, subject, content: said } = fieldsOf(item);
    const text = textOf(subject) ?? textOf(said) ?? "";
    return text === "" ? "" : `${textOf(status) ?? ""} ${text}`.trim();
  });
  const named = nameOf(attachment["filename"]) ?? nameOf(attachment["displayPath"]);
  const own = [content, attachment["snippet"], attachment["text"], inner["content"], file["content"]];
  const texts = own.flatMap((text) => nameOf(text) ?? []);
  const body = [...texts, ...items, ...skills].filter((text) => text !== "").join("\n");
  return body === "" ? [] : [named === null ? body : `${named}\n${body}`];
}

function usageOf(message: Fields): TranscriptUsage | null {
  if (typeof message["usage"] !== "object" || message["usage"] === null) return null;
  const usage = fieldsOf(message["usage"]);
  const cacheReadTokens = countOf(usage["cache_read_input_tokens"]);
  const cacheWriteTokens = countOf(usage["cache_creation_input_tokens"]);
  return {
    inputTokens: countOf(usage["input_tokens"]) + cacheReadTokens + cacheWriteTokens,
    outputTokens: countOf(usage["output_tokens"]),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: 0,
    costUsd: null,
  };
}

/** The records of a message repeat its usage: the greatest output and the last of the rest are true. */
function mergeUsage(a: TranscriptUsage | null, b: TranscriptUsage | null): TranscriptUsage | null {
  if (a === null || b === null) return b ?? a;
  return { ...b, outputTokens: Math.max(a.outputTokens, b.outputTokens) };
}

/** A prompt that a person typed while the agent worked. */
export function isQueuedPrompt(attachment: Fields): boolean {
  const origin = textOf(fieldsOf(attachment["origin"])["kind"]);
  const mode = attachment["commandMode"];
  return (
    attachment["type"] === "queued_command" &&
    (mode === undefined || mode === "prompt") &&
    (origin === null || origin === "human")
  );
}

type Outcome = Pick<TranscriptCall, "status" | "output" | "structured" | "endedAtMs">;
type Answer = Omit<Extract<ForeignEntry, { kind: "answer" }>, "id" | "atMs" | "source">;

/** An answer from its records: fragments of one message, and the results of its calls. */
export function answerOf(values: readonly Fields[], interrupted: boolean): Answer {
  const blocks: TranscriptBlock[] = [];
  const calls: Pick<TranscriptCall, "id" | "name" | "input">[] = [];
  const outcomes = new Map<string, Outcome[]>();
  let usage: TranscriptUsage | null = null;
  let model: string | null = null;
  let messageId: string | null = null;
  let error: string | null = null;
  let isCut = interrupted;
  for (const value of values) {
    const content = contentOf(value);
    for (const { id, isError, output } of content.results) {
      const call = id ?? nameOf(value["sourceToolUseID"]) ?? "";
      const structured = value["toolUseResult"];
      const outcome: Outcome = {
        status: isError || value["toolDenialKind"] !== undefined ? "error" : "ok",
        output,
        ...(structured === undefined || structured === null ? {} : { structured }),
        endedAtMs: timeOf(value["timestamp"]),
      };
      const known = outcomes.get(call);
      if (known === undefined) outcomes.set(call, [outcome]);
      else known.push(outcome);
    }
    if (value["type"] !== "assistant") continue;
    const message = fieldsOf(value["message"]);
    blocks.push(...content.blocks);
    calls.push(...content.calls);
    usage = mergeUsage(usage, usageOf(message));
    model ??= nameOf(message["model"]);
    messageId ??= nameOf(message["id"]);
    isCut ||= value["isAbortedMidStream"] === true;
    if (value["isApiErrorMessage"] === true) error = firstText(content.blocks) || "API error";
  }
  const none = { status: "unknown", output: [], endedAtMs: null } as const;
  return {
    kind: "answer",
    model: model === "<synthetic>" ? null : model,
    messageId,
    blocks,
    calls: calls.map((call) => ({ ...call, ...(outcomes.get(call.id)?.shift() ?? none) })),
    usage,
    interrupted: isCut,
    error,
  };
}
