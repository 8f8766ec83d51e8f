/**
 * The models available by name: those of `models.json`, those of the configuration, and any other name of a
 * known provider. The caller passes environment and configuration; nothing is read here.
 */
import { nearest, SkeinError } from "../core/error.ts";
import { aiSdkModel } from "./ai-sdk.ts";
import { asLanguageModelV4, instancesByName, wireOf } from "./instance.ts";
import { embedderOf, makeEmbedder } from "./embedding.ts";
import type { EmbeddingModelInstance } from "./embedding-model-instance.ts";
import { loadEmbeddingModel } from "./provider.ts";
import type { LanguageModelInstance } from "./language-model-instance.ts";
import { builtInProviders, hasAddress, providerHint, variablePrefix } from "./model-config.ts";
import type { BuiltInProvider, ConfiguredFacts, ModelConfig } from "./model-config.ts";
import catalog from "./models.json" with { type: "json" };
import type { Model, ModelFacts, ModelListing, Models } from "./port.ts";
import type { ProviderApi } from "./prompt.ts";
import { trimEndOf } from "../core/text/trim.ts";

export interface ModelsOptions {
  /** The first source of keys and URLs. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config?: ModelConfig;
  readonly offline: Model;
  /** Models of the AI SDK. The first one is the default. */
  readonly instances?: readonly LanguageModelInstance[];
  /** An embedding model of the AI SDK; else the configured one, if any. */
  readonly embedding?: EmbeddingModelInstance | undefined;
}

export function makeModels(options: ModelsOptions): Models {
  const { env, config = {}, offline, instances = [] } = options;
  const given = instancesByName(instances);
  const providers = new Map(providersOf(env, config).map((provider) => [provider.name, provider]));
  const known = [...providers.keys(), "offline"];
  const keys = [...keysIn(env), ...[...providers.values()].flatMap(({ key = [] }) => key)];
  const providerOf = (name: string): Provider | undefined =>
    providers.get(name) ?? (hasAddress(env, name) ? compatible(env, name) : undefined);
  const listed = [
    ...new Set([...given.keys(), ...Object.keys(catalog.models), ...Object.keys(config.models ?? {})]),
  ];

  const model = async (name: string): Promise<Model> => {
    if (name === offline.name) return offline;
    const instance = given.get(name);
    if (instance !== undefined) {
      const wire = wireOf(name);
      const facts = factsOf(name, { wire }, config);
      const load = () => asLanguageModelV4(instance);
      return aiSdkModel({ name, wire, key: undefined, otherKeys: keys, url: "", facts, load });
    }
    const at = name.indexOf("/");
    if (at < 1 || at === name.length - 1) throw misnamed(name, listed);
    const provider = name.startsWith("offline/") ? undefined : providerOf(name.slice(0, at));
    if (provider === undefined) {
      throw new SkeinError("invalid", `model: unknown provider "${name.slice(0, at)}"`, {
        hint: name.startsWith("offline/")
          ? `did you mean "${offline.name}"?`
          : providerHint(name.slice(0, at), known),
      });
    }
    if (provider.missing !== null) {
      throw new SkeinError("unavailable", `${name}: API key missing`, { hint: provider.missing });
    }
    const { wire, key, keyPlace } = provider;
    const facts = factsOf(name, provider, config);
    return aiSdkModel({ name, wire, key, keyPlace, otherKeys: keys, url: checkedUrl(provider), facts });
  };

  const listing = (name: string): ModelListing => {
    if (name === offline.name) return { name, facts: offline.facts, ready: true, hint: null };
    if (given.has(name))
      return { name, facts: factsOf(name, { wire: wireOf(name) }, config), ready: true, hint: null };
    const provider = providerOf(name.slice(0, name.indexOf("/")));
    const hint = provider === undefined ? "its provider is not configured" : provider.missing;
    return { name, facts: factsOf(name, provider, config), ready: hint === null, hint };
  };
  /** Only the server itself knows its models. */
  const servers = [...providers.values()]
    .filter(({ wire }) => wire === "compatible")
    .map((provider) => ({ ...listing(`${provider.name}/*`), url: provider.url }));

  const ready = builtInProviders.find((name) => providers.get(name)?.missing === null);
  return {
    byDefault:
      config.model ?? [...given.keys()][0] ?? (ready === undefined ? offline.name : catalog.defaults[ready]),
    model,
    list: () => [...listed.map(listing), ...servers],
    ...embedding(options, providerOf),
  };
}

/** The embedder that is given or configured. */
function embedding(
  { config = {}, embedding: given }: ModelsOptions,
  providerOf: (name: string) => Provider | undefined,
): Pick<Models, "embedder"> {
  if (given !== undefined) return { embedder: embedderOf(given) };
  const name = config.embeddingModel;
  if (name === undefined) return {};
  const load = async (): Promise<EmbeddingModelInstance> => {
    const at = name.indexOf("/");
    const provider = providerOf(name.slice(0, at));
    if (provider === undefined || provider.missing !== null) {
      const hint = provider?.missing ?? "configure its provider";
      throw new SkeinError("unavailable", `embeddingModel: ${name} cannot be used`, { hint });
    }
    const { wire, key } = provider;
    const modelId = name.slice(at + 1);
    return loadEmbeddingModel({
      provider: provider.name,
      wire,
      modelId,
      url: checkedUrl(provider),
      key,
      fetch,
    });
  };
  return { embedder: makeEmbedder(name, load) };
}

interface Provider {
  readonly name: string;
  readonly wire: ProviderApi;
  readonly url: string;
  readonly key: string | undefined;
  /** Where its key is set. */
  readonly keyPlace: string;
  /** What to do about a missing key. */
  readonly missing: string | null;
}

interface BuiltIn {
  readonly url: string;
  /** Appended to a URL without a version, as other programs do. */
  readonly version: string;
  readonly keyVariables: readonly string[];
  readonly urlVariable: string;
}

const builtIn: Readonly<Record<BuiltInProvider, BuiltIn>> = {
  anthropic: {
    url: "https://api.anthropic.com/v1",
    version: "/v1",
    keyVariables: ["ANTHROPIC_API_KEY"],
    urlVariable: "ANTHROPIC_BASE_URL",
  },
  openai: {
    url: "https://api.openai.com/v1",
    version: "",
    keyVariables: ["OPENAI_API_KEY"],
    urlVariable: "OPENAI_BASE_URL",
  },
  google: {
    url: "https://generativelanguage.googleapis.com/v1beta",
    version: "/v1beta",
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    urlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
  },
};

const builtInVariables = Object.values(builtIn).map(({ urlVariable }) => urlVariable);

function providersOf(env: ModelsOptions["env"], config: ModelConfig): Provider[] {
  const configured = config.providers ?? {};
  const main = builtInProviders.map((name): Provider => {
    const { url, version, keyVariables, urlVariable } = builtIn[name];
    const key = keyVariables.map((variable) => given(env[variable])).find(Boolean) ?? configured[name]?.key;
    const own = given(env[urlVariable]) ?? configured[name]?.url;
    const keyPlace = `set ${keyVariables.join(" or ")}, or providers.${name}.key in the configuration`;
    return {
      name,
      wire: name,
      url: own === undefined ? url : withVersion(own, version),
      key,
      keyPlace,
      missing: key === undefined ? keyPlace : null,
    };
  });
  const others = Object.entries(configured).filter(([name]) => !Object.hasOwn(builtIn, name));
  const compatibles = others.map(([name, settings]) => compatible(env, name, settings));
  return [...main, ...compatibles, ...inEnvironment(env, Object.keys(configured))];
}

/** Its key, if needed, may also be in the environment: that of `my-server` as MY_SERVER_API_KEY. */
function compatible(
  env: ModelsOptions["env"],
  name: string,
  { url, key }: { readonly url?: string | undefined; readonly key?: string | undefined } = {},
): Provider {
  return {
    name,
    wire: "compatible",
    url: given(env[`${variablePrefix(name)}_BASE_URL`]) ?? url ?? "",
    key: given(env[`${variablePrefix(name)}_API_KEY`]) ?? key,
    keyPlace: `set ${variablePrefix(name)}_API_KEY, or providers.${name}.key in the configuration`,
    missing: null,
  };
}

/**
 * Those with both a URL and a key in the environment, and not configured otherwise. A URL alone also works,
 * but is not listed: programs of all kinds have such variables.
 */
function inEnvironment(env: ModelsOptions["env"], configured: readonly string[]): Provider[] {
  return Object.keys(env)
    .flatMap((variable) => /^([A-Z0-9][A-Z0-9_]*)_BASE_URL$/.exec(variable)?.[1] ?? [])
    .map((prefix) => prefix.toLowerCase().replaceAll("_", "-"))
    .filter((name) => hasAddress(env, name) && !configured.includes(name) && name !== "offline")
    .filter((name) => given(env[`${variablePrefix(name)}_API_KEY`]) !== undefined)
    .filter((name) => !builtInVariables.includes(`${variablePrefix(name)}_BASE_URL`))
    .map((name) => compatible(env, name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** For any provider: none of them may appear in a message. */
const keysIn = (env: ModelsOptions["env"]): string[] =>
  Object.entries(env).flatMap(([name, value]) => (name.endsWith("_API_KEY") ? (given(value) ?? []) : []));

/** An empty variable counts as unset. */
const given = (value: string | undefined): string | undefined => (value?.trim() ? value.trim() : undefined);

function withVersion(url: string, version: string): string {
  const bare = trimEndOf(url, "/");
  return /\/v\d\w*$/.test(bare) ? bare : `${bare}${version}`;
}

function checkedUrl({ name, url }: Provider): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url;
  throw new SkeinError(
    "invalid",
    `provider "${name}": url: expected an http:// or https:// URL, got "${url}"`,
    {
      hint: "for example http://localhost:8080/v1",
    },
  );
}

/** The configuration takes precedence over the catalog; a model in neither has no known price. */
function factsOf(
  name: string,
  provider: Pick<Provider, "wire"> | undefined,
  config: ModelConfig,
): ModelFacts {
  const isLocal = provider === undefined || provider.wire === "compatible";
  const { windowTokens, outputTokensMax, images, price, effective } = {
    effective: catalog.effective,
    ...(isLocal ? catalog.unlisted.compatible : catalog.unlisted.known),
    price: null,
    ...listedFacts(name),
    ...withoutUndefined(config.models?.[name] ?? {}),
  };
  return {
    windowTokens,
    effective,
    outputTokensMax: Math.min(outputTokensMax, windowTokens),
    images,
    price,
  };
}

/** A model's name may end in its release date, which does not change its facts. */
function listedFacts(name: string): ModelFacts | undefined {
  const models: Readonly<Record<string, ModelFacts>> = catalog.models;
  return [name, name.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, "")]
    .filter((candidate) => Object.hasOwn(models, candidate))
    .map((candidate) => models[candidate])[0];
}

function withoutUndefined(facts: ConfiguredFacts): Partial<ModelFacts> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

function misnamed(name: string, listed: readonly string[]): SkeinError {
  // A name without a provider is usually almost right.
  const bare = nearest(
    name,
    listed.map((known) => known.slice(known.indexOf("/") + 1)),
  );
  const near = listed.find((known) => known.endsWith(`/${bare}`)) ?? nearest(name, listed);
  return new SkeinError("invalid", `model: expected "provider/model", got "${name}"`, {
    hint: near === undefined ? '"skein models" lists the models' : `did you mean "${near}"?`,
  });
}
