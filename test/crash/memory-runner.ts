/**
 * The program that the kill test of memory kills: it runs a session whose input is queued, and kills itself
 * right after an append, before anything learns of it.
 */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, type Scripted } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface MemoryOrder {
  readonly path: string;
  readonly session: string;
  /** The append after which it dies; it lives if there are fewer. */
  readonly dieAfter: number;
}

export async function engineAt(
  path: string,
  script: Scripted = scripted(["Fine."]),
  wrap = (store: Store): Store => store,
): Promise<Engine> {
  const world = realWorld();
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => script.models,
    tools: async () => makeToolSource({ world, tools: [] }),
  });
}

async function main({ path, session, dieAfter }: MemoryOrder): Promise<void> {
  let appends = 0;
  await using engine = await engineAt(path, undefined, (store) => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const result = await append(...given);
      if (++appends < dieAfter) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  });
  await (await engine.session(session)).run();
}

if (process.argv[2] !== undefined) await main(JSON.parse(process.argv[2]) as MemoryOrder);
