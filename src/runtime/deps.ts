/** The dependencies that the handles of one engine share. ("Context" means only what a model is sent.) */
import type { DeletedSessions } from "./read/deleted-sessions.ts";
import type { Binding } from "../core/tool/commands.ts";
import type { TriggerSetting } from "../core/trigger/commands.ts";
import type { WakeTrigger } from "../core/trigger/trigger.ts";
import type { Handoff } from "./branch/handoff.ts";
import type { SessionId } from "../core/ids.ts";
import type { Models } from "../model/port.ts";
import type { Store } from "../store/port.ts";
import type { ToolSource } from "../tool/port.ts";
import type { Signer } from "./transfer/bundle.ts";
import type { LiveHub } from "./turn/live.ts";
import type { DefinedAgents } from "./workspace/agents.ts";
import type { TurnOrigin } from "./workspace/item-trust.ts";
import type { MemoryReader } from "./workspace/memory.ts";
import type { ProjectReader } from "./project/project-reader.ts";
import type { Runs } from "./turn/active-runs.ts";
import type { StateReader } from "./read/state-reader.ts";
import type { TokenReader } from "./workspace/token-reader.ts";
import type { Tokenizer } from "./turn/tokenizer.ts";
import type { World } from "./world.ts";
import type { Writer } from "./log/writer.ts";
import type { NeedScope } from "../core/tool/permission.ts";
import type { KeyedMutex } from "./log/keyed-mutex.ts";
import type { QueryLine } from "./read/query-queue.ts";
import type { Spread } from "./trigger/staggered-timer.ts";
import type { Follower } from "./trigger/session-news.ts";
import type { FoldedTemplates } from "./trigger/templates.ts";
import type { Levels } from "./trigger/watch-hub.ts";
import type { SharedTree } from "./trigger/source-file.ts";
import type { Cache } from "../core/cache.ts";
import type { MemoryRule } from "../core/memory/memory.ts";
import type { CarryRules } from "../core/memory/choice.ts";
import type { CarriedMemory } from "../core/item/commands.ts";
import type { State } from "../core/state.ts";
import type { CarriedNames } from "./context/memory-changes.ts";
import type { MemoryLook } from "./context/memory-news.ts";
import type { Vectors } from "./context/vectors.ts";
import type { RetrievalCache } from "./context/retrieval-index.ts";
import type { EventCache } from "./read/event-cache.ts";

export type OpenStore = (place: string, options?: { readonly create?: boolean }) => Promise<Store>;

/**
 * Calls to rooms above (see test/repo/boundaries.ts). Each is loaded when it is first called: triggers bring
 * the cron library, prose brings the turn loop.
 */
export interface LateCalls {
  readonly prepareWake: (
    deps: Deps,
    wake: readonly WakeTrigger[],
    bindings: readonly Binding[],
  ) => Promise<readonly TriggerSetting[]>;
  readonly proseHandoff: (
    deps: Deps,
    session: SessionId,
    wanted: { readonly model: true | string; readonly tokensMax: number },
  ) => Promise<Handoff | { readonly failed: string }>;
}

/** State of one open engine. All its handles share it, also those of `as`. */
export interface EngineState {
  /** How many workers it has started: those after the first have a number. */
  workersStarted: number;
  /** Messages of a pair of sessions go in the order of the calls. */
  readonly sendOrder: KeyedMutex;
  readonly queries: QueryLine;
  /** What retrieval keeps between turns. */
  readonly retrieval: RetrievalCache;
  readonly vectors: Vectors;
  /** The memory rules of sessions, by session and agent. */
  readonly memoryRules: Cache<string, readonly MemoryRule[] | null>;
  /** The rules by which sessions carry memory, by session and agent. */
  readonly carryRules: Cache<string, CarryRules | null>;
  /** How far sessions have looked for news of memory, and what they carry. */
  /** The same of the logs of projects. */
  readonly projectLooks: Cache<SessionId, MemoryLook>;
  readonly memoryLooks: Cache<SessionId, MemoryLook>;
  readonly carriedNames: Cache<SessionId, CarriedNames>;
  /** What turns took in so far, by session and start. */
  readonly turnOrigins: Cache<string, TurnOrigin>;
  /** Made by the first trigger that needs it. */
  spread: Spread | null;
  /** Made by the first call with a key that opens a session. */
  deleted: DeletedSessions | null;
  follower: Follower | null;
  levels: Levels | null;
  readonly trees: Map<string, SharedTree>;
  /** Agents and templates at a head of the workspace's log. */
  agents: DefinedAgents | null;
  templates: FoldedTemplates | null;
}

export interface Deps {
  readonly shared: EngineState;
  readonly late: LateCalls;
  readonly store: Store;
  readonly world: World;
  readonly tenant: string;
  readonly states: StateReader;
  readonly writer: Writer;
  readonly actor: string;
  /** The name of this process for others that find a session leased. */
  readonly holder: string;
  readonly leaseMs: number | undefined;
  /** Loaded when first needed. Absent: this engine runs nothing. */
  readonly models: (() => Promise<Models>) | undefined;
  readonly tools: (() => Promise<ToolSource>) | undefined;
  /** Opens another store; creates it if missing unless `create` is false. */
  readonly openStore: OpenStore | undefined;
  /** The address of this store for others; undefined when they cannot open it. */
  readonly place: string | undefined;
  /** The key that signs lists of heads; absent, or null: they are not signed. */
  readonly signer: (() => Signer | null) | undefined;
  readonly tokenizer: Tokenizer;
  readonly cache: EventCache;
  readonly memory: MemoryReader;
  readonly projects: ProjectReader;
  readonly tokens: TokenReader;
  readonly live: LiveHub;
  readonly runs: Runs;
  /** Replaces the look into memory: a replay gets what its recording got. */
  readonly recordedNews?: (state: State) => CarriedMemory | null;
  /** The id of a session that this call makes, if it derives from the caller's key; see request-scope.ts. */
  readonly newSession?: () => SessionId;
  /**
   * The caller's key in the form that a record carries: this call's records in the workspace's log have it.
   */
  readonly once?: string;
  /** The same key as the caller gave it. */
  readonly requestKey?: string;
  /** Throws unless the caller has the scope; absent where the caller has every right. */
  readonly need?: NeedScope | undefined;
}
