/** Makes what the handles of an engine share, of a store, a world and what it runs sessions with. */
import { principalFor, type LogId, type SessionId } from "../core/ids.ts";
import type { Models } from "../model/port.ts";
import type { Store } from "../store/port.ts";
import type { ToolSource } from "../tool/port.ts";
import type { Also } from "./beside.ts";
import type { Signer } from "./bundle.ts";
import { makeEventCache } from "./context-reader.ts";
import type { Context, OpenStore } from "./engine-context.ts";
import { makeLive } from "./live.ts";
import { makeMemoryReader } from "./memory.ts";
import { memoryBeside } from "./memory-follow.ts";
import { openRedactor, type Secrets } from "./redact.ts";
import { makeRuns } from "./running.ts";
import { makeStateReader } from "./state-reader.ts";
import { makeTokenReader } from "./token-reader.ts";
import { makeTokenizer } from "./tokenizer.ts";
import type { World } from "./world.ts";
import { makeWriter } from "./writer.ts";

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
  readonly secrets?: Secrets;
  /** The key that lists of heads are signed with; read whenever one is made. */
  readonly signer?: () => Signer | null;
  /** Opens another store, for sessions that move there by its place, and for messages. */
  readonly openStore?: OpenStore;
  /** Where this store is, as others would open it: replies to messages to other stores go there. */
  readonly place?: string;
}

export function makeContext({ store, tenant = "default", actor, ...options }: EngineOptions): Context {
  const world = { ...options.world, redactor: openRedactor(options.secrets, options.world.redactor) };
  const states = makeStateReader(store);
  const always: Also = (change) => memoryBeside(context, change);
  const cache = makeEventCache();
  const forget = (log: LogId): void => cache.forget(log as SessionId);
  const writer = makeWriter(store, world, states, { tenant, always, forget });
  const local = `user:${principalFor(world.digest, store.workspace, "local")}`;
  const context: Context = {
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
    runs: makeRuns(() => context),
  };
  return context;
}
