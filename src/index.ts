/** Skein: the session engine for AI agents. This is the library; `openEngine` is where it starts. */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before everything else is loaded
import "./runtime/engine/node-version.ts";
import { present } from "./core/present.ts";
import { checkOptions, SkeinError } from "./core/error.ts";
import { makeWorkspaceId } from "./core/ids.ts";
import { limit } from "./core/limit.ts";
import type { Signer } from "./runtime/transfer/bundle.ts";
import { Engine } from "./runtime/engine/engine.ts";
import { learnKeys, openRedactor, type SecretsOptions } from "./runtime/log/redact.ts";
import { realWorld, type World } from "./runtime/world.ts";
import type { EmbeddingModelInstance } from "./model/embedding-model-instance.ts";
import type { LanguageModelInstance } from "./model/language-model-instance.ts";
import type { ModelConfig } from "./model/model-config.ts";
import type { Models } from "./model/port.ts";
import type { StoreOpening } from "./store/driver.ts";
import type { Durability, LogStore, Store } from "./store/port.ts";
import { locateStore, openWhole, type LocatedStore } from "./store/registry.ts";
import type { OuterTool } from "./tool/port.ts";

/** Options of `openEngine`. Only `store` is required. */
export interface OpenEngineOptions {
  /** A path, `postgres://user:password@host:5432/database`, `memory:`, or a store of your own. */
  readonly store: string | Store | LogStore;
  /** Whose sessions, where a store keeps those of several; by default `default`. */
  readonly tenant?: string;
  /**
   * `disk`, the default: what is acknowledged survives the loss of power. `process`: only the end of the
   * process.
   */
  readonly durability?: Durability;
  /** Whether to make a store that is not there; by default true. */
  readonly create?: boolean;
  /** Who acts: `user:prn_…`, `agent:name@version`, `system`. */
  readonly actor?: string;
  /** How long to wait for a lock that another program holds. */
  readonly lockWaitMs?: number;
  /** Keys, addresses, windows and prices of models, as in the configuration file; or models of your own. */
  readonly models?: ModelConfig | Models;
  /** Models of the AI SDK, of any provider. The first one is the default, unless `models` names another. */
  readonly languageModels?: readonly LanguageModelInstance[];
  /** An embedding model of the AI SDK: what an input is about is then ranked by words and by meaning. */
  readonly embeddingModel?: EmbeddingModelInstance;
  /** Tools of your own, which sessions use that bind them: `{ kind: "tool", name }`. */
  readonly tools?: readonly OuterTool[];
  /** Where keys and secrets are looked up; by default the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Values that never reach the store, by their names: `{ DB_PASSWORD: value }`. What looks like a secret is
   * taken out too, unless `looksLike` is false.
   */
  readonly secrets?: SecretsOptions;
  /** The name under which this process holds leases; by default the host and the process id. */
  readonly holder?: string;
  /** How long a run holds a session without a sign of life. */
  readonly leaseMs?: number;
  /** The key that lists of heads are signed with (`anchor`, and workers). */
  readonly sign?: Signer;
}

/**
 * Opens a store and returns the engine on it.
 *
 * @example
 *   await using engine = await openEngine({ store: "skein.db" });
 *   const session = await engine.open({ objective: "Review the retry logic" });
 */
export async function openEngine(options: OpenEngineOptions): Promise<Engine> {
  const known = ["store", "durability", "create", "actor", "lockWaitMs", "models", "tools", "env", "holder"];
  checkOptions("openEngine", options, [
    ...known,
    "leaseMs",
    "secrets",
    "tenant",
    "sign",
    "languageModels",
    "embeddingModel",
  ]);
  const env = options.env ?? process.env;
  const redactor = openRedactor(options.secrets);
  const world = { ...realWorld(), secret: (name: string) => env[name], redactor };
  learnKeys(world, env, providersIn(options.models));
  const { store: place, durability, create, actor, lockWaitMs } = options;
  if (durability !== undefined && durability !== "disk" && durability !== "process") {
    throw new SkeinError(
      "invalid",
      `openEngine: durability: expected "disk" or "process", got ${JSON.stringify(durability)}`,
      {
        hint: '"disk" or "process"',
      },
    );
  }
  checkRun(options);
  const how = {
    world,
    ...present({ durability, lockWaitMs }),
  };
  const { tools = [], leaseMs, tenant } = options;
  const at = typeof place === "string" ? await locateTenant(place, tenant) : null;
  const store =
    at === null
      ? await openWhole(checkStore(place), { world })
      : await openAt(at, {
          ...how,
          ...present({ create, tenant }),
        });
  const engine = new Engine({
    store,
    world,
    tenant: tenant ?? at?.tenancy?.tenant ?? "default",
    ...present({ holder: options.holder }),
    models: () => loadModels(options, env),
    ...(options.sign === undefined ? {} : { signer: () => options.sign ?? null }),
    openStore: async (other, { create: make = true } = {}) =>
      openAt(await locateStore(other), { ...how, create: make }),
    ...(at === null || at.address === null ? {} : { place: at.address }),
    tools: async () =>
      (await import("./tool/source.ts")).makeToolSource({
        world,
        tools,
        hidden: at?.files.slice(0, 1) ?? [],
      }),
    ...present({ actor, leaseMs }),
  });
  if (store.derivedInMemory === true) await engine.rebuild();
  return engine;
}

const providersIn = (models: OpenEngineOptions["models"]): ModelConfig["providers"] =>
  typeof models === "object" && models !== null && "providers" in models ? models.providers : {};

/** The place of the store; where a database holds several tenants' stores, that of this tenant. */
async function locateTenant(place: string, tenant: string | undefined): Promise<LocatedStore> {
  const at = await locateStore(place);
  return tenant === undefined || at.tenancy === undefined ? at : locateStore(at.tenancy.addressOf(tenant));
}

function openAt(
  at: LocatedStore,
  options: Omit<StoreOpening, "workspace"> & { readonly world: World },
): Promise<Store> {
  const { world } = options;
  return at.open({
    ...options,
    workspace: makeWorkspaceId({ nowMs: world.now(), random: world.random(10) }),
  });
}

function checkRun({ leaseMs, tools = [] }: OpenEngineOptions): void {
  const { leaseMsMin, leaseMsMax } = limit;
  const isLease = leaseMs === undefined || (leaseMs >= leaseMsMin && leaseMs <= leaseMsMax);
  if (!isLease || (leaseMs !== undefined && !Number.isInteger(leaseMs))) {
    throw new SkeinError("invalid", `openEngine: leaseMs: out of range, got ${JSON.stringify(leaseMs)}`, {
      hint: `expected ${leaseMsMin} to ${leaseMsMax} milliseconds`,
    });
  }
  if (!Array.isArray(tools) || tools.some((tool: Partial<OuterTool>) => typeof tool?.run !== "function")) {
    throw new SkeinError("invalid", "openEngine: tools: expected an array of tools", {
      hint: "create each tool with defineTool",
    });
  }
}

/** Loaded when the first session runs: providers' libraries take a while. */
async function loadModels(
  { models: given = {}, languageModels: instances = [], embeddingModel: embedding }: OpenEngineOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Models> {
  if (typeof given !== "object" || given === null) {
    throw new SkeinError("invalid", "openEngine: models: expected a configuration object", {
      hint: 'for example { model: "anthropic/claude-sonnet-5-5" }',
    });
  }
  if (!Array.isArray(instances))
    throw new SkeinError("invalid", "openEngine: languageModels: expected an array of models");
  if ("byDefault" in given) {
    if (embedding === undefined) return given;
    return { ...given, embedder: (await import("./model/embedding.ts")).embedderOf(embedding) };
  }
  const [{ makeModels }, { parseModelConfig }, { offlineModel }] = await Promise.all([
    import("./model/models.ts"),
    import("./model/model-config.ts"),
    import("./model/offline.ts"),
  ]);
  const config = parseModelConfig(JSON.stringify(given), "openEngine: models", env);
  return makeModels({ env, config, offline: offlineModel(), instances, embedding });
}

function checkStore(store: unknown): Store | LogStore {
  if (typeof store === "object" && store !== null && "append" in store) return store as LogStore;
  throw new SkeinError("invalid", "openEngine: store: expected a path, a URL or a store", {
    hint: 'for example { store: "./skein.db" }',
  });
}

export type { ForkOptions } from "./core/branch/commands.ts";
export type { Budget } from "./core/budget/commands.ts";
export { SkeinError } from "./core/error.ts";
export type { ErrorCode } from "./core/error.ts";
export type { SessionId } from "./core/ids.ts";
export type { ItemKind } from "./core/item/kind.ts";
export { limit } from "./core/limit.ts";
export type { ContentBlock } from "./core/schema.ts";
export type { OpenOptions } from "./core/session/commands.ts";
export type { SessionStatus } from "./core/session/lifecycle.ts";
export type { Binding, Permission } from "./core/tool/commands.ts";
export type { TriggerSpec } from "./core/trigger/trigger.ts";
export type { AppendRecord } from "./core/turn/commands.ts";
export type { AgentDefinition } from "./core/workspace/agent.ts";
export type { EmbeddingModelInstance } from "./model/embedding-model-instance.ts";
export type { LanguageModelInstance } from "./model/language-model-instance.ts";
export type { ModelConfig } from "./model/model-config.ts";
export type { ClearOptions } from "./runtime/branch/succession.ts";
export type { ForkPlace } from "./runtime/branch/fork.ts";
export type { Handoff, HandoffOptions } from "./runtime/branch/handoff.ts";
export type { MergeAnswer } from "./runtime/branch/merge-answer.ts";
export type { MergeOptions, MergeReport } from "./runtime/branch/merge.ts";
export type { RewindOptions, RewindResult } from "./runtime/branch/rewind-files.ts";
export type { Engine, SessionsOptions } from "./runtime/engine/engine.ts";
export type { Session } from "./runtime/engine/session.ts";
export type { SessionView } from "./runtime/engine/view.ts";
export type { AppendResult } from "./runtime/log/append-result.ts";
export type { SecretsOptions } from "./runtime/log/redact.ts";
export type { SendOptions, SendResult } from "./runtime/message/send.ts";
export type { AnswerOptions, AskOptions, WriteOptions } from "./runtime/options.ts";
export type { SessionEvent } from "./core/event.ts";
export type { EventsOptions } from "./runtime/read/event-reader.ts";
export type { SearchHit, SessionItem } from "./runtime/read/projection.ts";
export type { SessionSummary } from "./runtime/read/session-list.ts";
export type { StateView } from "./runtime/read/state-view.ts";
export type { SessionTrigger, TriggerOptions } from "./runtime/trigger/triggers.ts";
export type { SessionUpdate } from "./runtime/turn/ask.ts";
export type { CompressResult } from "./runtime/turn/compress.ts";
export type { LiveDelta } from "./runtime/turn/live.ts";
export type { RunOptions, RunResult } from "./runtime/turn/runner.ts";
export type { SessionWorker, WorkOptions, WorkerEvent } from "./runtime/worker/worker.ts";
export { defineTool } from "./tool/define.ts";
export type { ToolOptions } from "./tool/define.ts";
export { ToolOutput } from "./tool/port.ts";
export type { ToolCall } from "./tool/port.ts";
