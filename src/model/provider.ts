/** The language model of a provider's package, imported on first use. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
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
