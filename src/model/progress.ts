/**
 * Progress of a streamed call: the usage reported so far, the arguments of tool calls, and whether the model
 * may be reasoning invisibly. It settles a call that breaks.
 */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Settings } from "../core/context/part.ts";
import type { ModelProgress, TokenUsage } from "./port.ts";
import type { ProviderApi } from "./prompt.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ProgressReader {
  /** The progress in this part, if any. */
  take(part: LanguageModelV4StreamPart): ModelProgress | null;
}

export function readProgress(wire: ProviderApi): ProgressReader {
  let begun = false;
  let reported: TokenUsage | null = null;

  /** Anthropic and OpenAI announce reasoning first; an answer that begins without has none. */
  const begin = (): ModelProgress | null => {
    const first = !begun;
    begun = true;
    return first && (wire === "anthropic" || wire === "openai") ? { type: "hidden", hidden: false } : null;
  };

  return {
    take(part) {
      if (part.type === "reasoning-start") {
        begun = true;
        return { type: "hidden", hidden: true };
      }
      if (part.type === "text-start" || part.type === "tool-input-start") return begin();
      if (part.type === "tool-input-delta") return { type: "arguments", text: part.delta };
      if (part.type !== "raw") return null;
      const usage = reportedUsage(wire, part.rawValue, reported);
      if (usage === null) return null;
      reported = usage;
      // Google counts thoughts as it goes; the others count them at the end.
      return { type: "usage", usage, isWhole: wire === "google" };
    },
  };
}

/** Whether the model may reason without showing all of it, by its settings or by default. */
export function mayReason(wire: ProviderApi, name: string, reasoning: Settings["reasoning"]): boolean {
  if (reasoning !== undefined) return reasoning !== "none";
  switch (wire) {
    case "anthropic":
      return reasonsByDefault.test(name);
    case "openai":
      return !/\/gpt-(3|4)/.test(name);
    case "google":
      return true;
    case "compatible":
      return false;
  }
}

/** Models of Anthropic that think by default. */
export const reasonsByDefault = /claude-(fable-5-[12]|opus-5-5|sonnet-5-5)/;

/** The usage in a raw event of the provider; null if it has none. */
function reportedUsage(wire: ProviderApi, raw: unknown, before: TokenUsage | null): TokenUsage | null {
  const event = fieldsOf(raw);
  switch (wire) {
    case "anthropic": {
      const usage = fieldsOf(event["usage"] ?? fieldsOf(event["message"])["usage"]);
      const output = countOf(usage["output_tokens"]);
      const fresh = countOf(usage["input_tokens"]);
      if (fresh === null && output === null) return null;
      const cached = countOf(usage["cache_read_input_tokens"]) ?? 0;
      const written = countOf(usage["cache_creation_input_tokens"]) ?? 0;
      const input =
        fresh === null
          ? (before ?? { inputTokens: 0 })
          : withCache(fresh + cached + written, cached, written);
      return { ...input, outputTokens: output ?? before?.outputTokens ?? 0 };
    }
    case "openai":
      return usageIn(fieldsOf(fieldsOf(event["response"])["usage"]), "input_tokens", "output_tokens");
    case "compatible":
      return usageIn(fieldsOf(event["usage"]), "prompt_tokens", "completion_tokens");
    case "google": {
      const usage = fieldsOf(event["usageMetadata"]);
      const input = countOf(usage["promptTokenCount"]);
      if (input === null) return null;
      const said = countOf(usage["candidatesTokenCount"]) ?? 0;
      const thoughts = countOf(usage["thoughtsTokenCount"]) ?? 0;
      const cached = countOf(usage["cachedContentTokenCount"]) ?? 0;
      return { ...withCache(input, cached, 0), outputTokens: said + thoughts };
    }
  }
}

function usageIn(usage: Fields, input: string, output: string): TokenUsage | null {
  const inputTokens = countOf(usage[input]);
  if (inputTokens === null) return null;
  const cached = countOf(fieldsOf(usage[`${input}_details`])["cached_tokens"]) ?? 0;
  return { ...withCache(inputTokens, cached, 0), outputTokens: countOf(usage[output]) ?? 0 };
}

const withCache = (
  inputTokens: number,
  cached: number,
  written: number,
): Omit<TokenUsage, "outputTokens"> => ({
  inputTokens,
  ...(cached === 0 ? {} : { cachedInputTokens: cached }),
  ...(written === 0 ? {} : { cacheWriteTokens: written }),
});

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

const countOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
