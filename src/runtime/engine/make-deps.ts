/** Makes what the handles of an engine share, of a store, a world and what it runs sessions with. */
import { principalFor, type LogId, type SessionId } from "../../core/ids.ts";
import type { Models } from "../../model/port.ts";
import type { Store } from "../../store/port.ts";
import type { ToolSource } from "../../tool/port.ts";
import type { Also } from "../log/workspace-effects.ts";
import type { Signer } from "../transfer/bundle.ts";
import type { Deps, EngineState, LateCalls, OpenStore } from "../deps.ts";
import { makeKept } from "../../core/cache.ts";
import { makeLine } from "../log/keyed-mutex.ts";
import { makeQueryLine } from "../read/query-queue.ts";
import { makeLive } from "../turn/live.ts";
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
  /** Who acts, unless a call says otherwise; by default a principal that stands for the local user. */
  readonly actor?: string;
  /** Who this process is, to whoever finds a session taken by it. */
  readonly holder?: string;
  /** How long a run holds a session without a sign of life. */
  readonly leaseMs?: number;
  /** What sessions are run with; loaded when first needed. Without models nothing is run. */
  readonly models?: () => Promise<Models>;
  readonly tools?: () => Promise<ToolSource>;
  /** Values that never reach the store, by their names; and whether to take out what only looks like one. */
  readonly secrets?: SecretsOptions;
  /** The key that lists of heads are signed with; read whenever one is made. */
  readonly signer?: () => Signer | null;
  /** Opens another store, for sessions that move there by its place, and for messages. */
  readonly openStore?: OpenStore;
  /** Where this store is, as others would open it: replies to messages to other stores go there. */
  readonly place?: string;
}

const late: LateCalls = {
  prepareWake: async (...given) => (await import("../trigger/triggers.ts")).prepareWake(...given),
  proseHandoff: async (...given) => (await import("../turn/handoff-prose.ts")).proseHandoff(...given),
};

const newEngineState = (): EngineState => ({
  workersStarted: 0,
  sendOrder: makeLine(),
  queries: makeQueryLine(),
  memoryRules: makeKept(500),
  spread: null,
  follower: null,
  levels: null,
  trees: new Map(),
});

export function makeDeps({ store, tenant = "default", actor, ...options }: EngineOptions): Deps {
  const world = { ...options.world, redactor: openRedactor(options.secrets, options.world.redactor) };
  const states = makeStateReader(store);
  const always: Also = (change) => memoryBeside(deps, change);
  const cache = makeEventCache();
  const forget = (log: LogId): void => cache.forget(log as SessionId);
  const writer = makeWriter(store, world, states, { tenant, always, forget });
  const local = `user:${principalFor(world.digest, store.workspace, "local")}`;
  const deps: Deps = {
    late,
    shared: newEngineState(),
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
    memory: makeMemoryReader(store),
    tokens: makeTokenReader(store, world, tenant),
    live: makeLive(),
    runs: makeRuns(() => deps),
  };
  return deps;
}
