/** Plain message arrays for the AI SDK, OpenAI's and Anthropic's API. */
import type { Transcript, TranscriptBlock, WrittenTranscript } from "../model.ts";
import { CallIds } from "./derived-id.ts";
import { asRecord, countCommon, LeftOver, resultText, textOfBlocks, type AnswerEntry } from "./left-over.ts";

type Json = Record<string, unknown>;

interface Dialect {
  /** Messages of a person and of the tool. */
  input(blocks: readonly TranscriptBlock[]): Json;
  answer(blocks: readonly TranscriptBlock[], calls: readonly NamedCall[]): Json[];
}

interface NamedCall {
  readonly call: AnswerEntry["calls"][number];
  readonly id: string;
}

function writeMessages(transcript: Transcript, name: string, dialect: Dialect): WrittenTranscript {
  const left = new LeftOver();
  countCommon(transcript, left);
  const ids = new CallIds(transcript.header.sourceId);
  const messages = transcript.entries.flatMap((entry, at): Json[] => {
    if (entry.kind === "input") return [dialect.input(entry.blocks)];
    // A provider is sent what the model saw: a summary is an input.
    if (entry.kind === "compaction") return [dialect.input([{ type: "text", text: entry.summary }])];
    left.add("thinking block", entry.blocks.filter(({ type }) => type === "thinking").length);
    if (entry.usage !== null) left.add("usage of an answer");
    const said = entry.blocks.filter(({ type }) => type !== "thinking");
    const blocks = entry.error === null ? said : [...said, { type: "text" as const, text: entry.error }];
    const calls = entry.calls.map((call, index) => ({ call, id: ids.next(call.id, at, index) }));
    return blocks.length + calls.length === 0 ? [] : dialect.answer(blocks, calls);
  });
  const text = `${JSON.stringify(messages, null, 2)}\n`;
  return { path: `${name}-messages.json`, text, sessionId: null, left: left.list() };
}

const imageUrl = (block: TranscriptBlock): string | null =>
  block.type === "attachment" && block.data !== null && block.mediaType.startsWith("image/")
    ? `data:${block.mediaType};base64,${block.data}`
    : null;

const textOf = (block: TranscriptBlock): string => textOfBlocks([block]);

export const writeAnthropicMessages = (transcript: Transcript): WrittenTranscript =>
  writeMessages(transcript, "anthropic", {
    input: (blocks) => ({ role: "user", content: blocks.flatMap(anthropicPart) }),
    answer: (blocks, calls) => [
      {
        role: "assistant",
        content: [
          ...blocks.flatMap(anthropicPart),
          ...calls.map(({ call, id }) => ({
            type: "tool_use",
            id,
            name: call.name,
            input: asRecord(call.input),
          })),
        ],
      },
      ...(calls.length === 0
        ? []
        : [
            {
              role: "user",
              content: calls.map(({ call, id }) => ({
                type: "tool_result",
                tool_use_id: id,
                content: resultText(call),
                ...(call.status === "ok" ? {} : { is_error: true }),
              })),
            },
          ]),
    ],
  });

function anthropicPart(block: TranscriptBlock): Json[] {
  if (imageUrl(block) !== null && block.type === "attachment")
    return [{ type: "image", source: { type: "base64", media_type: block.mediaType, data: block.data } }];
  const text = textOf(block);
  return text === "" ? [] : [{ type: "text", text }];
}

export const writeOpenaiMessages = (transcript: Transcript): WrittenTranscript =>
  writeMessages(transcript, "openai", {
    input: (blocks) => ({
      role: "user",
      content: blocks.some((block) => imageUrl(block) !== null)
        ? blocks.map((block) => {
            const url = imageUrl(block);
            return url === null
              ? { type: "text", text: textOf(block) }
              : { type: "image_url", image_url: { url } };
          })
        : textOfBlocks(blocks),
    }),
    answer: (blocks, calls) => [
      {
        role: "assistant",
        content: blocks.length === 0 ? null : textOfBlocks(blocks),
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ call, id }) => ({
                id,
                type: "function",
                function: { name: call.name, arguments: JSON.stringify(asRecord(call.input)) },
              })),
            }),
      },
      ...calls.map(({ call, id }) => ({ role: "tool", tool_call_id: id, content: resultText(call) })),
    ],
  });

export const writeAiSdkMessages = (transcript: Transcript): WrittenTranscript =>
  writeMessages(transcript, "ai-sdk", {
    input: (blocks) => ({
      role: "user",
      content: blocks.flatMap((block): Json[] => {
        if (block.type === "attachment" && block.data !== null)
          return [{ type: "file", data: block.data, mediaType: block.mediaType }];
        return [{ type: "text", text: textOf(block) }];
      }),
    }),
    answer: (blocks, calls) => [
      {
        role: "assistant",
        content: [
          ...blocks.map((block) => ({ type: "text", text: textOf(block) })),
          ...calls.map(({ call, id }) => ({
            type: "tool-call",
            toolCallId: id,
            toolName: call.name,
            input: asRecord(call.input),
          })),
        ],
      },
      ...(calls.length === 0
        ? []
        : [
            {
              role: "tool",
              content: calls.map(({ call, id }) => ({
                type: "tool-result",
                toolCallId: id,
                toolName: call.name,
                output: { type: call.status === "ok" ? "text" : "error-text", value: resultText(call) },
              })),
            },
          ]),
    ],
  });
