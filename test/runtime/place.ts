/** Engines on a store of their own: one that is gone with it, or one in a place that others open too. */
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Store } from "../../src/store/port.ts";
import type { SqliteOptions } from "../../src/store/sqlite/store.ts";
import { kind } from "../kind.ts";
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
  const store = kind().store({ world, workspace });
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

export { newPath } from "../path.ts";

export async function inFile(world: MadeWorld = madeWorld()): Promise<FilePlace> {
  const { place: path, open: openAt, remove } = kind().lasting();
  const stores: Store[] = [];
  const open = async (options: Partial<SqliteOptions> = {}): Promise<Store> => {
    const store = await openAt({ world, workspace, ...options });
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
