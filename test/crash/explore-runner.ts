/**
 * The program that the kill test of explorations kills: it explores alternatives, and kills itself right
 * after the append of the number that the order names. A tool writes what was done into a file.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import * as z from "zod";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { ModelCall } from "../../src/model/port.ts";
import type { Store } from "../../src/store/port.ts";
import { defineTool } from "../../src/tool/define.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface ExploreOrder {
  readonly path: string;
  readonly session: string;
  readonly witness: string;
  readonly files: string;
  /** The append after which it dies; it lives if there are fewer. */
  readonly dieAfter: number;
}

export const asked = (files: string) =>
  ({
    alternatives: ["Use a lock", "Use a queue"],
    judge: ["file (queue): way.txt contains queue"],
    files,
    merge: true,
  }) as const;

function answer({ parts }: ModelCall): Line {
  const last = parts.findLast((part) => part.part === "message");
  if (last?.part === "message" && last.role !== "user") return "Done.";
  const way = /Use a (\w+)/.exec(JSON.stringify(last))?.[1];
  if (way === undefined) return "Noted.";
  return [
    use("write_file", { path: "way.txt", text: `${way}\n` }, `w-${way}`),
    use("publish", { way }, `p-${way}`),
    use("record", { kind: "decision", key: "way", value: way, because: "tried" }, `r-${way}`),
  ];
}

export async function engineAt(
  path: string,
  witness: string,
  wrap = (store: Store): Store => store,
): Promise<Engine> {
  const world = realWorld();
  const publish = defineTool({
    name: "publish",
    description: "Publishes a way. It must not happen twice.",
    input: z.object({ way: z.string() }),
    run({ way }, { key }) {
      appendFileSync(witness, `${key} ${way}\n`);
      return "published";
    },
    probe: (key) =>
      existsSync(witness) && readFileSync(witness, "utf8").includes(`${key} `) ? "done" : "not done",
  });
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => scripted([answer]).models,
    tools: async () => makeToolSource({ world, tools: [publish] }),
  });
}

async function main({ path, session, witness, files, dieAfter }: ExploreOrder): Promise<void> {
  let appends = 0;
  await using engine = await engineAt(path, witness, (store) => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const result = await append(...given);
      if (++appends < dieAfter) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  });
  await (await engine.session(session)).explore(asked(files));
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as ExploreOrder);
