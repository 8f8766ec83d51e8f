/** An embedding model that a program made with the AI SDK. Its own types stay out of Skein's public types. */

/** An instance of an embedding model of the AI SDK: what `openai.embeddingModel("…")` gives. */
export interface EmbeddingModelInstance {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined;
  doEmbed(options: never): PromiseLike<unknown>;
}
