/**
 * The program that the kill test of external calls kills: it runs a session until it waits, or settles its
 * call. It kills itself right after an append, before anything learns of it.
 */
import * as z from "zod";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { defineTool } from "../../src/tool/define.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, use, type Scripted } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface ExternalOrder {
  readonly path: string;
  readonly session: string;
  readonly do: "run" | "settle";
  /** The append after which it dies; it lives if there are fewer. */
  readonly dieAfter: number;
}

const order = defineTool({ name: "order", description: "Orders.", input: z.looseObject({}) });

/** The model asks for one external call, and then says that it is done. */
const shop = (): Scripted =>
  scripted([
    ({ parts }) =>
      JSON.stringify(parts).includes("tool-result") ? "Done." : [use("order", { article: "pen" })],
  ]);

export async function engineAt(path: string, wrap = (store: Store): Store => store): Promise<Engine> {
  const world = realWorld();
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => shop().models,
    tools: async () => makeToolSource({ world, tools: [order] }),
  });
}

export const settleCall = async (engine: Engine, id: string) => {
  const session = await engine.session(id);
  const [call] = (await session.state()).calls;
  return call === undefined ? null : session.settle(call.call, { output: "ordered" });
};

async function main({ path, session, do: what, dieAfter }: ExternalOrder): Promise<void> {
  let appends = 0;
  await using engine = await engineAt(path, (store) => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const result = await append(...given);
      if (++appends < dieAfter) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  });
  if (what === "run") await (await engine.session(session)).run();
  else await settleCall(engine, session);
}

if (process.argv[2] !== undefined) await main(JSON.parse(process.argv[2]) as ExternalOrder);
