/**
 * The program that the kill test of control tools kills: it runs a session whose model saves, goes on a wrong
 * way, and rewinds. It kills itself right after the append of the number that the order names.
 */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { ModelCall } from "../../src/model/port.ts";
import type { Store } from "../../src/store/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface ControlOrder {
  readonly path: string;
  readonly session: string;
  /** The append after which it dies; it lives if there are fewer. */
  readonly dieAfter: number;
}

/** What it says follows from what it is sent alone. */
function answer({ parts }: ModelCall): Line {
  const all = JSON.stringify(parts);
  const place = (text: string): boolean => all.includes(text);
  if (place("You went back to start")) {
    if (place("recorded fact way")) return "Done.";
    return [use("record", { kind: "fact", key: "way", value: "queue" }, "r-2"), use("handoff", {}, "h-1")];
  }
  if (!place("saved as start"))
    return [
      use("save", { name: "start" }, "s-1"),
      use("trigger", { name: "morning", cron: "0 9 * * 1" }, "t-1"),
    ];
  if (!place("recorded fact way")) return [use("record", { kind: "fact", key: "way", value: "lock" }, "r-1")];
  return [use("rewind", { to: "start", because: "The lock deadlocks" }, "w-1")];
}

export async function engineAt(path: string, wrap = (store: Store): Store => store): Promise<Engine> {
  const world = realWorld();
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => scripted([answer]).models,
    tools: async () => makeToolSource({ world, tools: [] }),
  });
}

async function main({ path, session, dieAfter }: ControlOrder): Promise<void> {
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
  await (await engine.session(session)).run();
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as ControlOrder);
