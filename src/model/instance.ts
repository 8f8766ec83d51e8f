/** Models that a program made with the AI SDK, of any provider and version of the specification. */
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { SkeinError } from "../core/error.ts";
import type { LanguageModelInstance } from "./language-model-instance.ts";
import type { ProviderApi } from "./prompt.ts";

/** By their names: `openai.responses` and `gpt-5` give `openai/gpt-5`. */
export function instancesByName(
  instances: readonly LanguageModelInstance[],
): ReadonlyMap<string, LanguageModelInstance> {
  const named = new Map<string, LanguageModelInstance>();
  for (const instance of instances) {
    const name = nameOf(instance);
    if (named.has(name)) {
      throw new SkeinError("invalid", `languageModels: two models are named "${name}"`, {
        hint: "give one another modelId: wrapLanguageModel({ model, middleware: [], modelId })",
      });
    }
    named.set(name, instance);
  }
  return named;
}

function nameOf(instance: Partial<LanguageModelInstance> | null): string {
  const { provider, modelId, doStream, specificationVersion = "" } = instance ?? {};
  const isModel =
    typeof doStream === "function" && typeof provider === "string" && typeof modelId === "string";
  if (!isModel || !["v2", "v3", "v4"].includes(specificationVersion)) {
    throw new SkeinError("invalid", "languageModels: expected models of the AI SDK", {
      hint: 'for example [anthropic("claude-sonnet-5-5")]; a name goes to models.model',
    });
  }
  const first = (provider.split(".")[0] ?? "").replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 64) || "model";
  return `${first}/${modelId.replace(/[^A-Za-z0-9_.:@/-]/g, "-").slice(0, 128) || "default"}`;
}

/** How a context is put for a model; what is careful enough for all, where the provider is not known. */
export function wireOf(name: string): ProviderApi {
  const [provider] = name.split("/");
  return provider === "anthropic" || provider === "openai" || provider === "google" ? provider : "compatible";
}

/** The same model in the newest specification. The package `ai` converts earlier ones. */
export async function asLanguageModelV4(instance: LanguageModelInstance): Promise<LanguageModelV4> {
  // The version names the specification that it keeps to; no other field tells.
  const model = instance as unknown as LanguageModelV2 | LanguageModelV3 | LanguageModelV4;
  if (model.specificationVersion === "v4") return model;
  const { wrapLanguageModel } = await import("ai").catch((cause: unknown) => {
    throw new SkeinError("unavailable", `${nameOf(instance)}: the package ai is not installed`, {
      hint: "npm install ai",
      cause,
    });
  });
  return wrapLanguageModel({ model, middleware: [] });
}
