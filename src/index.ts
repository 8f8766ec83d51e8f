/** Skein: the session engine for AI agents. This is the library; `openEngine` is where it starts. */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before everything else is loaded
import "./runtime/engine/node-version.ts";
import { checkOptions, SkeinError } from "./core/error.ts";
import { makeWorkspaceId } from "./core/ids.ts";
import { limit } from "./core/limit.ts";
import type { Signer } from "./runtime/transfer/bundle.ts";
import { Engine } from "./runtime/engine/engine.ts";
import { learnKeys, openRedactor, type SecretsOptions } from "./runtime/log/redact.ts";
import { realWorld, type World } from "./runtime/world.ts";
import type { ModelConfig } from "./model/model-config.ts";
import type { Models } from "./model/port.ts";
import type { StoreOpening } from "./store/driver.ts";
import type { Durability, Store } from "./store/port.ts";
import { locateStore, type LocatedStore } from "./store/registry.ts";
import type { OuterTool } from "./tool/port.ts";

export interface OpenEngineOptions {
  /** A path, `postgres://user:password@host:5432/database`, `memory:`, or a store of your own. */
  readonly store: string | Store;
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
  /** Tools of your own, which sessions use that bind them: `{ kind: "tool", name }`. */
  readonly tools?: readonly OuterTool[];
  /** Where keys and secrets are looked up; by default the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Values that never reach the store, by their names: `{ DB_PASSWORD: value }`. What looks like a secret is
   * taken out too, unless `looksLike` is false.
   */
  readonly secrets?: SecretsOptions;
  /** Who runs sessions here, as others are told; by default the host and the process. */
  readonly holder?: string;
  /** How long a run holds a session without a sign of life. */
  readonly leaseMs?: number;
  /** The key that lists of heads are signed with (`anchor`, and workers). */
  readonly sign?: Signer;
}

/** Opens a store and gives the engine on it. */
export async function openEngine(options: OpenEngineOptions): Promise<Engine> {
  const known = ["store", "durability", "create", "actor", "lockWaitMs", "models", "tools", "env", "holder"];
  checkOptions("openEngine", options, [...known, "leaseMs", "secrets", "tenant", "sign"]);
  const env = options.env ?? process.env;
  const redactor = openRedactor(options.secrets);
  const world = { ...realWorld(), secret: (name: string) => env[name], redactor };
  learnKeys(world, env, providersIn(options.models));
  const { store: place, durability, create, actor, lockWaitMs } = options;
  if (durability !== undefined && durability !== "disk" && durability !== "process") {
    throw new SkeinError("invalid", `there is no durability ${JSON.stringify(durability)}`, {
      hint: '"disk" or "process"',
    });
  }
  checkRun(options);
  const how = {
    world,
    ...(durability === undefined ? {} : { durability }),
    ...(lockWaitMs === undefined ? {} : { lockWaitMs }),
  };
  const { tools = [], leaseMs, tenant } = options;
  const at = typeof place === "string" ? await locateTenant(place, tenant) : null;
  const store =
    at === null
      ? checkStore(place as Store)
      : await openAt(at, {
          ...how,
          ...(create === undefined ? {} : { create }),
          ...(tenant === undefined ? {} : { tenant }),
        });
  return new Engine({
    store,
    world,
    tenant: tenant ?? at?.tenancy?.tenant ?? "default",
    ...(options.holder === undefined ? {} : { holder: options.holder }),
    models: () => loadModels(options.models, env),
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
    ...(actor === undefined ? {} : { actor }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
  });
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
    throw new SkeinError("invalid", `openEngine: leaseMs is ${JSON.stringify(leaseMs)}`, {
      hint: `a whole number of milliseconds from ${leaseMsMin} to ${leaseMsMax}`,
    });
  }
  if (!Array.isArray(tools) || tools.some((tool: Partial<OuterTool>) => typeof tool?.run !== "function")) {
    throw new SkeinError("invalid", "openEngine: tools is no list of tools", {
      hint: "make each with defineTool",
    });
  }
}

/** Loaded when the first session runs: providers' libraries take a while. */
async function loadModels(
  given: ModelConfig | Models = {},
  env: Readonly<Record<string, string | undefined>>,
): Promise<Models> {
  if (typeof given !== "object" || given === null) {
    throw new SkeinError("invalid", "openEngine: models is no configuration", {
      hint: 'for example { model: "anthropic/claude-sonnet-5" }',
    });
  }
  if ("byDefault" in given) return given;
  const [{ makeModels }, { parseModelConfig }, { offlineModel }] = await Promise.all([
    import("./model/models.ts"),
    import("./model/model-config.ts"),
    import("./model/offline.ts"),
  ]);
  const config = parseModelConfig(JSON.stringify(given), "openEngine: models", env);
  return makeModels({ env, config, offline: offlineModel() });
}

function checkStore(store: Store | undefined): Store {
  if (typeof store === "object" && typeof store.append === "function") return store;
  throw new SkeinError("invalid", "openEngine: store is neither a path nor a store", {
    hint: 'for example { store: "./skein.db" }',
  });
}

export { SkeinError } from "./core/error.ts";
export type { ErrorCode } from "./core/error.ts";
export { limit } from "./core/limit.ts";
export { Engine } from "./runtime/engine/engine.ts";
export type { SessionsOptions } from "./runtime/engine/engine.ts";
export { Session } from "./runtime/engine/session.ts";
export { SessionView } from "./runtime/engine/view.ts";
export type { AppendResult } from "./runtime/log/append-result.ts";
export type { WriteOptions } from "./runtime/options.ts";
export type { AnswerOptions, AskOptions } from "./runtime/options.ts";
export { Drive } from "./runtime/turn/drive.ts";
export type {
  DrivenCall,
  DriveOptions,
  RequestResult,
  RequestOptions,
  RespondOptions,
} from "./runtime/turn/drive.ts";
export type { SessionUpdate, SessionRun } from "./runtime/turn/ask.ts";
export type { LiveDelta } from "./runtime/turn/live.ts";
export type { RunResult, RunOptions } from "./runtime/turn/runner.ts";
export type { RenderedContext } from "./runtime/context/context-view.ts";
export type { CompressResult, CompressStrategy } from "./runtime/turn/compress.ts";
export type { OfferedTool } from "./runtime/turn/run-context.ts";
export type {
  SessionDiff,
  DiffAspect,
  DiffContextPart,
  DiffOptions,
  DiffPlace,
  TranscriptEntry,
} from "./runtime/branch/diff.ts";
export type { FileDiff, FilesDiff } from "./runtime/branch/diff-files.ts";
export type { EraseOptions, EraseReport, EraseShare } from "./runtime/govern/erase.ts";
export type { EraseCopy } from "./runtime/workspace/memory.ts";
export type { EraseKept } from "./runtime/govern/erase-copies.ts";
export type { ForkPlace } from "./runtime/branch/fork.ts";
export type { CarriedPart, CarryOver } from "./runtime/branch/carry-over.ts";
export type { ClearOptions } from "./runtime/branch/clear.ts";
export type { Handoff, HandoffOptions } from "./runtime/branch/handoff.ts";
export type { FilesRestored, RewindOptions, RewindResult } from "./runtime/branch/rewind-files.ts";
export type { FileVersion } from "./core/tool/file-version.ts";
export type { Lineage, LineageNode } from "./runtime/read/lineage.ts";
export type { FieldChange, ItemChange } from "./core/branch/diff.ts";
export type { MergeWrite } from "./core/branch/merge.ts";
export type {
  ReplayCall,
  ReplayCallPair,
  ReplayMatch,
  ReplayPair,
  ReplayReport,
} from "./core/turn/run-comparison.ts";
export type { ReplayScores, ReplayTotals, ReplayTurn, ReplayUsage } from "./core/turn/run-comparison.ts";
export type {
  ForgetOptions,
  ForgetResult,
  MemoryEntry,
  MemoryOptions,
  PromoteOptions,
  RememberOptions,
} from "./runtime/workspace/memory.ts";
export type { MemoryErasure } from "./runtime/workspace/memory.ts";
export type { MemoryScope } from "./core/memory/memory.ts";
export type { MergeAnswer } from "./runtime/branch/merge-answer.ts";
export type { MergeConflict, MergeOptions, MergeReport, MergeSide } from "./runtime/branch/merge.ts";
export type { SendOptions, SendResult } from "./runtime/message/send.ts";
export type { MessageContract } from "./runtime/message/contract.ts";
export type { DeliverProgress, DeliverReport, PendingDelivery } from "./runtime/message/deliver.ts";
export type { AgentSummary, AgentVersion } from "./runtime/workspace/agents.ts";
export { parseAgent } from "./runtime/workspace/agent-file.ts";
export type { AgentDefinition } from "./core/workspace/agent.ts";
export type { ContextPart } from "./core/context/part.ts";
export { defineTool } from "./tool/define.ts";
export type { ProbeAnswer, ToolOptions } from "./tool/define.ts";
export { ToolOutput } from "./tool/port.ts";
export type { OuterTool, ToolCall } from "./tool/port.ts";
export { ModelError } from "./model/port.ts";
export type {
  ModelAnswer,
  ModelDelta,
  Model,
  ModelCall,
  ModelFacts,
  ModelProgress,
  Models,
  TokenUsage,
} from "./model/port.ts";
export type { CostOptions, CostRow } from "./runtime/read/cost.ts";
export type { Spend } from "./core/budget/money.ts";
export type { ModelConfig } from "./model/model-config.ts";
export type { SessionLease } from "./runtime/turn/lease.ts";
export type { SessionEvent, EventsOptions } from "./runtime/read/event-reader.ts";
export type { SearchHit, SessionItem, IndexProgress } from "./runtime/read/projection.ts";
export type { StateView } from "./runtime/read/state-view.ts";
export type { SecretsOptions } from "./runtime/log/redact.ts";
export type { ScanFinding, ScanOptions, ScanReport } from "./runtime/govern/scan.ts";
export type { VerifyProblem, VerifyOptions, VerifyReport } from "./runtime/govern/verify.ts";
export type { ExportOptions, Signer } from "./runtime/transfer/bundle.ts";
export type { AcceptOptions, AcceptResult, Anchor, AnchorOptions } from "./runtime/govern/anchor.ts";
export type { VerifyAllOptions, VerifyAllReport } from "./runtime/govern/verify-all.ts";
export type { ImportOptions, ImportReport } from "./runtime/transfer/import.ts";
export type { SessionReview } from "./runtime/govern/review.ts";
export type { MigrateOptions, MigrateReport } from "./runtime/transfer/migrate.ts";
export type { ModelReport } from "./runtime/transfer/move-model.ts";
export type { MoveReport } from "./runtime/transfer/move.ts";
export type { MigrateAllOptions, MigrateAllReport, MigrateProgress } from "./runtime/transfer/move-all.ts";
export type { ReplayResult, ReplayOptions, ReplayProgress } from "./runtime/replay/replay.ts";
export type { ReplayJudgment, ReplayRun, ReplayScorer } from "./runtime/replay/replay-score.ts";
export type { ReplayCheck, ReplayMismatch } from "./runtime/replay/replay-check.ts";
export type { RebuildReport } from "./runtime/govern/rebuild.ts";
export type { Policy } from "./core/govern/policy.ts";
export type { PolicyEntry, SetPolicyOptions } from "./runtime/workspace/policies.ts";
export type { TokenScope } from "./core/workspace/access-token.ts";
export type {
  AddTokenOptions,
  IssuedToken,
  TokenEntry,
  TokensOptions,
  TokenStatus,
} from "./runtime/workspace/tokens.ts";
export type { TokenHolder } from "./runtime/workspace/token-reader.ts";
export type { HookEntry, SetHookOptions } from "./runtime/workspace/webhooks.ts";
export type { RetainAction, RetainSkip, RetainOptions, RetainReport } from "./runtime/govern/retain.ts";
export type { RunLimit } from "./core/trigger/schedule.ts";
export type { WorkerEvent, SessionWorker, WorkOptions } from "./runtime/worker/worker.ts";
export type { WorkerRow } from "./store/port.ts";
export type { SessionDependency, OpenOptions } from "./core/session/commands.ts";
export type { AppendRecord } from "./core/turn/commands.ts";
export type { Binding, Permission } from "./core/tool/commands.ts";
export type { Budget } from "./core/budget/commands.ts";
export type { ForkOptions } from "./core/branch/commands.ts";
export type { CancelTreeResult } from "./runtime/branch/children.ts";
export type { MissedRule, TriggerSpec, WakeTrigger } from "./core/trigger/trigger.ts";
export type { SessionTrigger, TriggerOptions } from "./runtime/trigger/triggers.ts";
export type { TriggerTemplate, TemplateOptions } from "./runtime/trigger/templates.ts";
export type { WebhookAnswer, WebhookCall } from "./runtime/trigger/webhook.ts";
export type { SessionSummary } from "./runtime/read/session-list.ts";
export type { SessionStatus } from "./core/session/lifecycle.ts";
export type { SessionId } from "./core/ids.ts";
export type { Durability, Page, SessionRow, Store, StoreStats } from "./store/port.ts";
export { registerStore } from "./store/registry.ts";
export type { StoreCheck, StoreDriver, StoreOpening, StorePlace, Tenancy } from "./store/driver.ts";
