/**
 * The program that the kill test of zones kills: a worker. It kills itself right after the append that the
 * order names, before anything learns of it.
 */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { isPrompt, lastText, report, small } from "../runtime/turn/outgrown.ts";
import { use } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface ZoneOrder {
  readonly path: string;
  /** Dies after the first append with this in the type or body of a record. */
  readonly dieAfter: string;
}

const steps = 5;

/** A long run: a report each step, until there are enough of them. */
const script = () =>
  small((call) => {
    if (isPrompt(call)) return "Reports were fetched.";
    const texts = JSON.stringify(call.parts);
    const number = Math.max(0, ...[...texts.matchAll(/Report (\d+):/g)].map(([, found]) => Number(found)));
    if (lastText(call).startsWith("Report ") && number >= steps) return "Done.";
    return [use("report", { number: number + 1 }, `p${number}`)];
  }, 200_000);

export async function engineAt(path: string, wrap = (store: Store): Store => store): Promise<Engine> {
  const world = realWorld();
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => script().models,
    tools: async () => makeToolSource({ world, tools: [report(8_000)] }),
  });
}

async function main({ path, dieAfter }: ZoneOrder): Promise<void> {
  const engine = await engineAt(path, (store) => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const result = await append(...given);
      const said = given[0].flatMap(({ drafts }) => drafts.map(({ type, body }) => `${type} ${body}`));
      if (!said.some((line) => line.includes(dieAfter))) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  });
  await engine.work({ concurrency: 1, leaseMs: 1_000 });
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as ZoneOrder);
