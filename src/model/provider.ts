/** The language model of a provider's package, imported on first use. */
import type { EmbeddingModelV4, LanguageModelV4 } from "@ai-sdk/provider";
import { SkeinError } from "../core/error.ts";
import type { ProviderApi } from "./prompt.ts";

export interface LanguageModelOptions {
  /** The configured name of a Chat Completions server. */
  readonly provider: string;
  readonly wire: ProviderApi;
  readonly modelId: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly fetch: typeof fetch;
}

/** URL and key are always explicit: by default the packages would read the environment. */
export async function loadLanguageModel(options: LanguageModelOptions): Promise<LanguageModelV4> {
  const { wire, modelId, url: baseURL, key: apiKey = "", fetch } = options;
  switch (wire) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ baseURL, apiKey, fetch })(modelId);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ baseURL, apiKey, fetch }).responses(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ baseURL, apiKey, fetch })(modelId);
    }
    case "compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const auth = apiKey === "" ? {} : { apiKey };
      return createOpenAICompatible({ name: options.provider, baseURL, fetch, includeUsage: true, ...auth })(
        modelId,
      );
    }
  }
}

/** The embedding model of a provider's package. */
export async function loadEmbeddingModel(options: LanguageModelOptions): Promise<EmbeddingModelV4> {
  const { wire, modelId, url: baseURL, key: apiKey = "", fetch } = options;
  switch (wire) {
    case "anthropic":
      throw new SkeinError("invalid", "embeddingModel: anthropic has no embedding models", {
        hint: 'use another provider, such as "openai/text-embedding-3-small"',
      });
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ baseURL, apiKey, fetch }).embeddingModel(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ baseURL, apiKey, fetch }).embeddingModel(modelId);
    }
    case "compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const auth = apiKey === "" ? {} : { apiKey };
      return createOpenAICompatible({ name: options.provider, baseURL, fetch, ...auth }).embeddingModel(
        modelId,
      );
    }
  }
}
