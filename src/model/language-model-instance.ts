/** A model that a program made with the AI SDK. Its own types stay out of Skein's public types. */

/** An instance of a language model of the AI SDK: what `anthropic("claude-sonnet-5")` gives. */
export interface LanguageModelInstance {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}
