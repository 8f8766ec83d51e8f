/**
 * The configuration of models: the default one, the providers' URLs and keys, and facts about single models.
 * All of it is optional. As JSON:
 *
 *     {
 *       "model": "ollama/llama3",
 *       "embeddingModel": "ollama/nomic-embed-text",
 *       "providers": { "ollama": { "url": "http://localhost:11434/v1" }, "openai": { "key": "sk-…" } },
 *       "models": {
 *         "ollama/llama3": {
 *           "windowTokens": 8192,
 *           "outputTokensMax": 2048,
 *           "images": false,
 *           "price": { "input": 0, "output": 0, "asOf": "2026-11-01" }
 *         }
 *       }
 *     }
 *
 * A provider that is not built in speaks Chat Completions at its `url`. Prices are nano-dollars per token: a
 * dollar per million tokens is 1000. A null price is unknown.
 */
import * as z from "zod";
import { nearest, SkeinError } from "../core/error.ts";
import { errorText } from "../core/first-error.ts";

/** The providers that need only a key. */
export const builtInProviders = ["anthropic", "openai", "google"] as const;
export type BuiltInProvider = (typeof builtInProviders)[number];

const nanoUsd = z.number().nonnegative();
const tokens = z.int().positive();

export const PriceSchema = z.strictObject({
  input: nanoUsd,
  output: nanoUsd,
  cachedInput: nanoUsd.optional(),
  cacheWrite: nanoUsd.optional(),
  asOf: z.iso.date(),
});

const FactsSchema = z.strictObject({
  windowTokens: tokens.optional(),
  outputTokensMax: tokens.optional(),
  images: z.boolean().optional(),
  effective: z.strictObject({ tokens, source: z.string().min(1).max(500) }).optional(),
  price: PriceSchema.nullable().optional(),
});

const ProviderSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).optional(),
  key: z.string().min(1).optional(),
});

const ConfigSchema = z.strictObject({
  model: z.string().optional(),
  embeddingModel: z
    .string()
    .regex(/^[^/\s]{1,64}\/\S{1,128}$/, "expected provider/model")
    .optional(),
  providers: z.record(z.string().regex(/^[a-z0-9][a-z0-9-]*$/), ProviderSchema).optional(),
  models: z.record(z.string().regex(/^[^/\s]+\/\S+$/), FactsSchema).optional(),
});

/** The configuration of models: keys, addresses, context windows and prices. */
export type ModelConfig = Readonly<z.infer<typeof ConfigSchema>>;
export type ConfiguredFacts = Readonly<z.infer<typeof FactsSchema>>;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * `path` is only for messages; the caller has read the file. The environment may hold a provider's URL
 * instead.
 */
export function parseModelConfig(text: string, path: string, env: Env = {}): ModelConfig {
  const parsed = ConfigSchema.safeParse(parseJson(text, path));
  if (!parsed.success) throw complaint(parsed.error.issues[0], path);
  checkProviders(parsed.data, path, env);
  return parsed.data;
}

/** The variables of `my-server` begin with MY_SERVER. */
export const variablePrefix = (provider: string): string => provider.toUpperCase().replaceAll("-", "_");

/** Whether the environment has the URL of a provider of this name. */
export const hasAddress = (env: Env, provider: string): boolean =>
  /^[a-z0-9][a-z0-9-]*$/.test(provider) && (env[`${variablePrefix(provider)}_BASE_URL`] ?? "").trim() !== "";

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = errorText(cause);
    throw new SkeinError("invalid", `${path}: invalid JSON: ${why}`, { cause });
  }
}

function complaint(issue: z.core.$ZodIssue | undefined, path: string): SkeinError {
  const place = issue?.path.map(String) ?? [];
  if (issue?.code === "unrecognized_keys") {
    const known = fieldsAt(place);
    const [key = ""] = issue.keys;
    const near = nearest(key, known);
    const hint = near === undefined ? `known fields: ${known.join(", ")}` : `did you mean "${near}"?`;
    return new SkeinError("invalid", `${path}: unknown field "${[...place, key].join(".")}"`, { hint });
  }
  const name = place.at(-1) ?? "";
  if (issue?.code === "invalid_key") {
    const hint =
      place[0] === "models"
        ? 'a model name has the form "provider/model"'
        : "a provider name has lower-case letters, digits and dashes";
    return new SkeinError("invalid", `${path}: ${place[0]}: invalid name "${name}"`, { hint });
  }
  const where = place.length === 0 ? path : `${path}: ${place.join(".")}`;
  return new SkeinError("invalid", `${where}: ${issue?.message ?? "expected a model configuration"}`);
}

/** The fields allowed at a path: at the top, in a provider, in a model, in its price. */
function fieldsAt(place: readonly string[]): readonly string[] {
  if (place.length === 0) return Object.keys(ConfigSchema.shape);
  if (place.length > 2) return Object.keys(PriceSchema.shape);
  return Object.keys(place[0] === "providers" ? ProviderSchema.shape : FactsSchema.shape);
}

function checkProviders({ model, providers = {}, models = {} }: ModelConfig, path: string, env: Env): void {
  if (Object.hasOwn(providers, "offline")) {
    throw new SkeinError("invalid", `${path}: providers.offline: the offline model has no settings`);
  }
  const isBuiltIn = (name: string): boolean => (builtInProviders as readonly string[]).includes(name);
  const homeless = Object.keys(providers).find(
    (name) => !isBuiltIn(name) && providers[name]?.url === undefined && !hasAddress(env, name),
  );
  if (homeless !== undefined) {
    const near = nearest(homeless, builtInProviders);
    const hint =
      near === undefined ? "set url to the server's Chat Completions endpoint" : `did you mean "${near}"?`;
    throw new SkeinError("invalid", `${path}: providers.${homeless}.url: missing`, { hint });
  }
  const known = [...builtInProviders, "offline", ...Object.keys(providers)];
  for (const name of [...(model === undefined ? [] : [model]), ...Object.keys(models)]) {
    const [provider = ""] = name.split("/");
    if (known.includes(provider) || hasAddress(env, provider)) continue;
    throw new SkeinError("invalid", `${path}: model "${name}": its provider is not configured`, {
      hint: providerHint(provider, known),
    });
  }
}

export function providerHint(provider: string, known: readonly string[]): string {
  const near = nearest(provider, known);
  return near === undefined ? `known providers: ${known.join(", ")}` : `did you mean "${near}"?`;
}
