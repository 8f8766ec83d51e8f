/**
 * A store that can fall back to an earlier copy of itself, as a fail-over to a server that was behind does,
 * or a backup that is restored: while engines, followers and workers are at work on it.
 */
import { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../src/core/error.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/port.ts";
import { realWorld, type World } from "../../src/runtime/world.ts";
import { newPath, workspace } from "./place.ts";

export interface Fallible extends AsyncDisposable {
  /** As all who use it see it, before and after. */
  readonly store: Store;
  /** What is there now is what it falls back to. */
  save(): Promise<void>;
  fallBack(): Promise<void>;
  /** Calls of this name are refused for as long as it is set. */
  refuses: keyof Store | null;
}

export async function fallible(world: World = realWorld()): Promise<Fallible> {
  const { path, remove } = newPath();
  const opened: Store[] = [];
  const open = async (file: string): Promise<Store> => {
    const store = await sqliteStore({ path: file, world, workspace, durability: "process" });
    opened.push(store);
    return store;
  };
  let [file, copies] = [path, 0];
  let saved = "";
  let current = await open(path);
  const watchers = new Map<() => void, () => void>();
  const watch = (changed: () => void): (() => void) => {
    watchers.set(changed, current.watch(changed));
    return () => {
      watchers.get(changed)?.();
      watchers.delete(changed);
    };
  };
  const place: { refuses: keyof Store | null } = { refuses: null };
  const through = (name: string | symbol): unknown => {
    const inner = current as unknown as Record<string | symbol, unknown>;
    if (typeof inner[name] !== "function") return inner[name];
    if (name === "now" || name === "close") return (inner[name] as () => unknown).bind(current);
    return async (...given: readonly unknown[]): Promise<unknown> => {
      if (place.refuses === name) throw new SkeinError("unavailable", "the store is out of reach");
      const now = current as unknown as Record<string | symbol, (...args: readonly unknown[]) => unknown>;
      return now[name]?.(...given);
    };
  };
  const store = new Proxy({} as Store, {
    get: (_, name) => (name === "watch" ? watch : name === "then" ? undefined : through(name)),
  });
  return Object.assign(place, {
    store,
    async save() {
      copies += 1;
      saved = `${path}.${copies}`;
      const database = new DatabaseSync(file);
      database.exec(`VACUUM INTO '${saved}'`);
      database.close();
    },
    async fallBack() {
      file = saved;
      current = await open(saved);
      for (const changed of watchers.keys()) {
        watchers.get(changed)?.();
        watchers.set(changed, current.watch(changed));
        changed();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one.close();
      remove();
    },
  });
}
