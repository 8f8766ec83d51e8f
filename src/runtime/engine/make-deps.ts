/** Makes the dependencies that the handles of an engine share, from a store, a world, models and tools. */
import { principalFor, type LogId, type SessionId } from "../../core/ids.ts";
import type { Models } from "../../model/port.ts";
import type { Store } from "../../store/port.ts";
import type { ToolSource } from "../../tool/port.ts";
import type { Also } from "../log/workspace-effects.ts";
import type { Signer } from "../transfer/bundle.ts";
import type { Deps, EngineState, LateCalls, OpenStore } from "../deps.ts";
import { makeCache } from "../../core/cache.ts";
import { makeKeyedMutex } from "../log/keyed-mutex.ts";
import { makeVectors } from "../context/vectors.ts";
import { makeRetrievalCache } from "../context/retrieval-index.ts";
import { makeQueryLine } from "../read/query-queue.ts";
import { makeLive } from "../turn/live.ts";
import { makeProjectReader } from "../project/project-reader.ts";
import { makeMemoryReader } from "../workspace/memory.ts";
import { memoryBeside } from "../workspace/memory-follow.ts";
import { openRedactor, type SecretsOptions } from "../log/redact.ts";
import { makeRuns } from "../turn/active-runs.ts";
import { makeStateReader } from "../read/state-reader.ts";
import { makeTokenReader } from "../workspace/token-reader.ts";
import { makeTokenizer } from "../turn/tokenizer.ts";
import type { World } from "../world.ts";
import { makeWriter } from "../log/writer.ts";
import { makeEventCache } from "../read/event-cache.ts";

export interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  readonly tenant?: string;
  /** The actor, unless a call names another; defaults to a principal for the local user. */
  readonly actor?: string;
  /** The name of this process for others that find a session leased by it. */
  readonly holder?: string;
  /** How long a run holds a session without a renewal. */
  readonly leaseMs?: number;
  /** Loaded when first needed. Without models nothing runs. */
  readonly models?: () => Promise<Models>;
  readonly tools?: () => Promise<ToolSource>;
  /** Values that never reach the store, by name; and whether to remove lookalikes. */
  readonly secrets?: SecretsOptions;
  /** The key that signs lists of heads; read for each list. */
  readonly signer?: () => Signer | null;
  /** Opens another store by its address, for sessions that move there, and for messages. */
  readonly openStore?: OpenStore;
  /** The address of this store for others: replies to messages to other stores go there. */
  readonly place?: string;
}

const late: LateCalls = {
  prepareWake: async (...given) => (await import("../trigger/triggers.ts")).prepareWake(...given),
  proseHandoff: async (...given) => (await import("../turn/handoff-prose.ts")).proseHandoff(...given),
};

const newEngineState = (): EngineState => ({
  workersStarted: 0,
  sendOrder: makeKeyedMutex(),
  queries: makeQueryLine(),
  retrieval: makeRetrievalCache(),
  vectors: makeVectors(),
  memoryRules: makeCache(500),
  carryRules: makeCache(500),
  memoryLooks: makeCache(2_000),
  projectLooks: makeCache(2_000),
  carriedNames: makeCache(200),
  turnOrigins: makeCache(500),
  spread: null,
  follower: null,
  levels: null,
  trees: new Map(),
  agents: null,
  templates: null,
  deleted: null,
});

export function makeDeps({ store, tenant = "default", actor, ...options }: EngineOptions): Deps {
  const world = { ...options.world, redactor: openRedactor(options.secrets, options.world.redactor) };
  const states = makeStateReader(store);
  const always: Also = (change) => memoryBeside(deps, change);
  const cache = makeEventCache();
  const forget = (log: LogId): void => cache.forget(log as SessionId);
  const shared = newEngineState();
  const append: Store["append"] = (parts) =>
    store.append(shared.deleted === null ? parts : parts.map(shared.deleted.guard));
  // Not spread: a driver may inherit its methods.
  const guarded = Object.create(store, { append: { value: append } }) as Store;
  const writer = makeWriter(guarded, world, states, { tenant, always, forget });
  const local = `user:${principalFor(world.digest, store.workspace, "local")}`;
  const deps: Deps = {
    late,
    shared,
    store,
    world,
    tenant,
    states,
    writer,
    actor: actor ?? local,
    holder: options.holder ?? world.self ?? "an engine",
    leaseMs: options.leaseMs,
    models: options.models,
    tools: options.tools,
    openStore: options.openStore,
    place: options.place,
    signer: options.signer,
    tokenizer: makeTokenizer(world),
    cache,
    memory: makeMemoryReader(store, writer.workspace),
    projects: makeProjectReader(store),
    tokens: makeTokenReader({ store, workspace: writer.workspace }, world, tenant),
    live: makeLive(),
    runs: makeRuns(() => deps),
  };
  return deps;
}
