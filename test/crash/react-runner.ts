/**
 * The program that the kill test of changed sources kills: a worker. It kills itself right before or after
 * the append that the order names.
 */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface ReactOrder {
  readonly path: string;
  readonly dieAt: string;
  readonly isBefore: boolean;
}

export async function engineAt(path: string, wrap = (store: Store): Store => store): Promise<Engine> {
  const world = realWorld();
  const { models } = scripted(["Understood."]);
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => models,
    tools: async () => makeToolSource({ world, tools: [] }),
  });
}

async function main({ path, dieAt, isBefore }: ReactOrder): Promise<void> {
  const wrap = (store: Store): Store => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const isIt = given[0].some(({ drafts }) => drafts.some(({ type }) => type === dieAt));
      const result = isIt && isBefore ? null : await append(...given);
      if (result !== null && !isIt) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  };
  const engine = await engineAt(path, wrap);
  await engine.work({ concurrency: 1, leaseMs: 1_000 });
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as ReactOrder);
