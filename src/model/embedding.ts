/**
 * Embedders: texts as vectors, by any embedding model of the AI SDK. Every version of its specification has
 * the same call.
 */
import { SkeinError } from "../core/error.ts";
import type { EmbeddingModelInstance } from "./embedding-model-instance.ts";
import type { Embedder } from "./port.ts";

/** Texts of one call: a model that takes more gets them in several. */
const batchMax = 100;

interface Embedding {
  doEmbed(options: {
    readonly values: readonly string[];
    readonly abortSignal: AbortSignal;
  }): PromiseLike<{ readonly embeddings?: unknown }>;
}

/** `load` makes the model when it is first needed. */
export function makeEmbedder(name: string, load: () => Promise<EmbeddingModelInstance>): Embedder {
  return {
    name,
    async embed(texts, signal) {
      const model = await load();
      const most = Math.max(1, Math.min(batchMax, (await model.maxEmbeddingsPerCall) ?? 1));
      const vectors: (readonly number[])[] = [];
      for (let from = 0; from < texts.length; from += most) {
        signal.throwIfAborted();
        const values = texts.slice(from, from + most);
        const call = (model as unknown as Embedding).doEmbed({ values, abortSignal: signal });
        vectors.push(...checked(name, (await call).embeddings, values.length));
      }
      return vectors;
    },
  };
}

/** Vectors of one length, of finite numbers: another program's answer may be anything. */
function checked(name: string, given: unknown, count: number): readonly (readonly number[])[] {
  const isVector = (one: unknown): one is readonly number[] =>
    Array.isArray(one) && one.length > 0 && one.length <= 20_000 && one.every(Number.isFinite);
  if (Array.isArray(given) && given.length === count && given.every(isVector)) return given;
  throw new SkeinError("unavailable", `${name}: expected ${count} vectors of finite numbers`);
}

/** The embedder of an instance, by its name: `openai.embedding` and `text-embedding-3-small`. */
export function embedderOf(given: unknown): Embedder {
  const { provider, modelId, doEmbed, specificationVersion } = (given ??
    {}) as Partial<EmbeddingModelInstance>;
  const isModel =
    typeof doEmbed === "function" && typeof provider === "string" && typeof modelId === "string";
  if (!isModel || !["v2", "v3", "v4"].includes(specificationVersion ?? "")) {
    throw new SkeinError("invalid", "openEngine: embeddingModel: expected an embedding model of the AI SDK", {
      hint: 'for example openai.embeddingModel("small"); a name goes to models.embeddingModel',
    });
  }
  const [first = provider] = provider.split(".");
  return makeEmbedder(`${first}/${modelId}`, async () => given as EmbeddingModelInstance);
}
