/** Converts a provider's stream into deltas while it runs, and into the whole answer at its end. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { checkJson } from "../core/text/json.ts";
import type { Metadata } from "../core/context/part.ts";
import { asModelError, dropped } from "./failure.ts";
import {
  ModelError,
  type ModelAnswer,
  type AnswerBlock,
  type ModelDelta,
  type FinishReason,
  type TokenUsage,
} from "./port.ts";

export interface AnswerReader {
  /** The delta of this part, if it has one. Throws `ModelError` for an error in the stream. */
  take(part: LanguageModelV4StreamPart): ModelDelta | null;
  /** Whether the provider has completed the answer. */
  readonly finished: boolean;
  /** Throws `dropped` if the stream ended too early. */
  answer(sent: string | null): ModelAnswer;
}

interface BlockDraft {
  readonly type: "text" | "reasoning";
  readonly pieces: string[];
  metadata: Metadata | undefined;
}

type TextStreamPart = Extract<
  LanguageModelV4StreamPart,
  { type: `${BlockDraft["type"]}-${"start" | "delta" | "end"}` }
>;
type AnswerEnd = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

export function readAnswer(toolOf: (name: string) => string): AnswerReader {
  const blocks: (BlockDraft | Extract<AnswerBlock, { type: "tool-call" }>)[] = [];
  const open = new Map<string, BlockDraft>();
  const announced = new Set<string>();
  let end: AnswerEnd | null = null;

  /** Block ids may repeat in sequence, so a start always begins a new block. */
  const speak = (type: BlockDraft["type"], part: TextStreamPart): ModelDelta | null => {
    const key = `${type} ${part.id}`;
    const known = part.type.endsWith("-start") ? undefined : open.get(key);
    const draft: BlockDraft = known ?? { type, pieces: [], metadata: undefined };
    if (known === undefined) {
      blocks.push(draft);
      open.set(key, draft);
    }
    draft.metadata = merged(draft.metadata, part.providerMetadata);
    const said = "delta" in part ? part.delta : "";
    if (said === "") return null;
    draft.pieces.push(said);
    return { type, text: said };
  };

  const announce = (id: string, name: string): ModelDelta | null => {
    if (announced.has(id)) return null;
    announced.add(id);
    return { type: "tool-call", tool: toolOf(name) };
  };

  const take = (part: LanguageModelV4StreamPart): ModelDelta | null => {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
        return speak("text", part);
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return speak("reasoning", part);
      case "tool-input-start":
        return part.providerExecuted === true ? null : announce(part.id, part.toolName);
      case "tool-call":
        // Provider-executed tools are never offered; if one runs, it is not a call of Skein's.
        if (part.providerExecuted === true) return null;
        blocks.push(callBlock(part, toolOf));
        return announce(part.toolCallId, part.toolName);
      case "error":
        throw asModelError(part.error);
      case "finish":
        end = part;
        return null;
      case "tool-input-delta":
      case "tool-input-end":
      case "tool-result":
      case "tool-approval-request":
      case "file":
      case "reasoning-file":
      case "source":
      case "custom":
      case "stream-start":
      case "response-metadata":
      case "ping":
      case "raw":
        return null;
    }
  };

  return {
    take,
    get finished() {
      return end !== null && end.finishReason.unified !== "interrupted";
    },
    answer: (sent) => wholeAnswer(blocks.flatMap(sealed), end, sent),
  };
}

function wholeAnswer(
  blocks: readonly AnswerBlock[],
  end: AnswerEnd | null,
  sent: string | null,
): ModelAnswer {
  if (end === null || end.finishReason.unified === "interrupted") throw dropped();
  if (end.finishReason.unified === "error") {
    const why = end.finishReason.raw ?? "no reason given";
    throw new ModelError("garbled", `the provider ended the response with an error: ${why}`);
  }
  return { blocks, finish: finishOf(end.finishReason, blocks), usage: usageOf(end.usage), sent };
}

function sealed(block: BlockDraft | AnswerBlock): AnswerBlock[] {
  if (!("pieces" in block)) return [block];
  const text = storable(block.pieces.join(""));
  const metadata = block.metadata === undefined ? {} : { metadata: block.metadata };
  return text === "" && block.metadata === undefined ? [] : [{ type: block.type, text, ...metadata }];
}

function callBlock(
  part: LanguageModelV4ToolCall,
  toolOf: (name: string) => string,
): Extract<AnswerBlock, { type: "tool-call" }> {
  const metadata = part.providerMetadata === undefined ? {} : { metadata: part.providerMetadata };
  return {
    type: "tool-call",
    call: part.toolCallId,
    tool: storable(toolOf(part.toolName)),
    ...readArguments(part.input),
    ...metadata,
  };
}

/** JSON that no log could hold (a NUL, a lone surrogate) is treated like malformed JSON. */
function readArguments(text: string): { readonly input: unknown; readonly malformed?: true } {
  if (text.trim() === "") return { input: {} };
  try {
    const input: unknown = JSON.parse(text);
    checkJson("arguments", input);
    return { input };
  } catch {
    return { input: storable(text), malformed: true };
  }
}

/** The log holds neither NUL nor lone surrogates; both become the replacement character. */
const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

/** A provider sends its metadata in pieces, by namespace: at the start of a block, in between, at its end. */
function merged(
  known: Metadata | undefined,
  more: SharedV4ProviderMetadata | undefined,
): Metadata | undefined {
  if (more === undefined) return known;
  const next: Record<string, unknown> = { ...known };
  for (const [space, fields] of Object.entries(more)) {
    next[space] = { ...(known?.[space] as object | undefined), ...fields };
  }
  return next;
}

/**
 * The true finish reason. The library reports a refusal as a content filter: Anthropic names it, OpenAI ends
 * such an answer like any other. Some servers say `stop` when the model requested tools.
 */
function finishOf(reason: LanguageModelV4FinishReason, blocks: readonly AnswerBlock[]): FinishReason {
  const asksTools = blocks.some(({ type }) => type === "tool-call");
  switch (reason.unified) {
    case "content-filter":
      return [undefined, "stop", "refusal"].includes(reason.raw) ? "refusal" : "content-filter";
    case "length":
      return "length";
    case "stop":
    case "tool-calls":
      return asksTools ? "tool-calls" : "stop";
    case "other":
    case "error":
    case "interrupted":
      return asksTools ? "tool-calls" : "other";
  }
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenUsage | null {
  if (inputTokens.total === undefined || outputTokens.total === undefined) return null;
  return {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    ...counted("cachedInputTokens", inputTokens.cacheRead),
    ...counted("cacheWriteTokens", inputTokens.cacheWrite),
    ...counted("reasoningTokens", outputTokens.reasoning),
  };
}

function counted<K extends keyof TokenUsage>(
  name: K,
  tokens: number | undefined,
): { readonly [N in K]?: number } {
  return tokens === undefined || tokens === 0 ? {} : ({ [name]: tokens } as { readonly [N in K]?: number });
}
