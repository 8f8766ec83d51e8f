/** Engines on a store of their own: in memory, or in a file that is removed when the test ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/port.ts";
import { sqliteStore, type SqliteOptions } from "../../src/store/sqlite.ts";
import { madeWorld, type MadeWorld } from "./made-world.ts";

export const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });

/** What tests are given for an engine. */
let given = (engine: Engine): Engine => engine;
/** Lets them have something else that does the same: test/client puts a client of it in its place. */
export const giveInstead = (other: (engine: Engine) => Engine): void => void (given = other);
export const engineOn = (...options: ConstructorParameters<typeof Engine>): Engine =>
  given(new Engine(...options));

export interface Place extends AsyncDisposable {
  readonly engine: Engine;
  readonly store: Store;
  readonly world: MadeWorld;
}

export function inMemory(world: MadeWorld = madeWorld()): Place {
  const store = memoryStore({ world, workspace });
  const engine = engineOn({ store, world });
  return { engine, store, world, [Symbol.asyncDispose]: () => engine.close() };
}

export interface FilePlace extends Place {
  readonly path: string;
  /** One more connection to the same file, closed with the place. */
  open(options?: Partial<SqliteOptions>): Promise<Store>;
  /** One more engine on the same file, as another process would have it. */
  again(world?: MadeWorld): Promise<Place>;
}

/** A path in a new directory, and how to remove it. */
export function newPath(): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "skein-test-"));
  return { path: join(folder, "skein.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export async function inFile(world: MadeWorld = madeWorld()): Promise<FilePlace> {
  const { path, remove } = newPath();
  const stores: Store[] = [];
  const open = async (options: Partial<SqliteOptions> = {}): Promise<Store> => {
    // Waiting for the disk would only take time here; test/store and test/crash are about that.
    const store = await sqliteStore({ path, world, workspace, durability: "process", ...options });
    stores.push(store);
    return store;
  };
  const again = async (other: MadeWorld = madeWorld(`other ${stores.length}`)): Promise<Place> => {
    const store = await open({ world: other });
    const engine = engineOn({ store, world: other });
    return { engine, store, world: other, [Symbol.asyncDispose]: () => engine.close() };
  };
  const store = await open();
  const engine = engineOn({ store, world });
  const dispose = async (): Promise<void> => {
    await engine.close();
    for (const one of stores) await one.close();
    remove();
  };
  return { engine, store, world, path, open, again, [Symbol.asyncDispose]: dispose };
}

/** All that an async iterable gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
