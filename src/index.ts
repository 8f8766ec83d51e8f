/** Skein: the session engine for AI agents. This is the library; `openEngine` is where it starts. */
import { checkOptions, SkeinError } from "./core/error.ts";
import { makeWorkspaceId } from "./core/ids.ts";
import { Engine } from "./runtime/engine.ts";
import { realWorld } from "./runtime/world.ts";
import type { Durability, Store } from "./store/port.ts";

export interface OpenEngineOptions {
  /** A path, `memory:`, or a store of your own. */
  readonly store: string | Store;
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
}

/** Opens a store and gives the engine on it. */
export async function openEngine(options: OpenEngineOptions): Promise<Engine> {
  checkOptions("openEngine", options, ["store", "durability", "create", "actor", "lockWaitMs"]);
  const world = realWorld();
  const { store: place, durability, create, actor, lockWaitMs } = options;
  if (durability !== undefined && durability !== "disk" && durability !== "process") {
    throw new SkeinError("invalid", `there is no durability ${JSON.stringify(durability)}`, {
      hint: '"disk" or "process"',
    });
  }
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const opening = async (): Promise<Store> => {
    if (typeof place !== "string") return checkStore(place);
    if (place === "memory:") return (await import("./store/memory.ts")).memoryStore({ world, workspace });
    const scheme = /^([a-z][a-z0-9+]{1,20}):\/\//.exec(place)?.[1];
    if (scheme !== undefined) {
      throw new SkeinError("invalid", `this Skein has no store for ${scheme}://`, {
        hint: 'give a path, or "memory:"',
      });
    }
    if (place === "" || place.includes("\0"))
      throw new SkeinError("invalid", "the path of the store is not a path");
    const { sqliteStore } = await import("./store/sqlite.ts");
    return sqliteStore({
      path: place,
      world,
      workspace,
      ...(durability === undefined ? {} : { durability }),
      ...(create === undefined ? {} : { create }),
      ...(lockWaitMs === undefined ? {} : { lockWaitMs }),
    });
  };
  const store = await opening();
  return new Engine(actor === undefined ? { store, world } : { store, world, actor });
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
export { Engine } from "./runtime/engine.ts";
export type { SessionsOptions } from "./runtime/engine.ts";
export { Session, View } from "./runtime/session.ts";
export type { WriteOptions, Written } from "./runtime/session.ts";
export type { Lease } from "./runtime/lease.ts";
export type { Event, EventsOptions } from "./runtime/event-reader.ts";
export type { Hit, Item, Progress } from "./runtime/projection.ts";
export type { StateView } from "./runtime/state-view.ts";
export type { Problem, VerifyOptions, VerifyReport } from "./runtime/verify.ts";
export type { RebuildReport } from "./runtime/rebuild.ts";
export type { AppendRecord, Binding, Budget, ForkOptions, OpenOptions, Permission } from "./core/command.ts";
export type { Status } from "./core/lifecycle.ts";
export type { SessionId } from "./core/ids.ts";
export type { Durability, Page, SessionRow, Store, StoreStats } from "./store/port.ts";
