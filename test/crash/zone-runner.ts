/**
 * The program that the kill test of zones kills: a worker. It kills itself right after the append that the
 * order names, before anything learns of it.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { defineTool } from "../../src/tool/define.ts";
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
  /** Dies before that append instead: what it decided is not written. */
  readonly dieBefore?: boolean;
  /** A file in which each report that was fetched is a line; without it the context tells how many were. */
  readonly witness?: string;
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

export const witnessed = (witness: string): readonly string[] =>
  existsSync(witness) ? readFileSync(witness, "utf8").trim().split("\n") : [];

/** A long run through several sessions. */
const throughSessions = (witness: string) => {
  const wanted = 16;
  const tool = defineTool({
    name: "report",
    description: "Gives a long report.",
    input: z.object({ number: z.number() }),
    effect: "unsafe",
    run: async ({ number }) => {
      appendFileSync(witness, `${number}\n`);
      return `Report ${number}: ${`line of report ${number}, `.repeat(400)}`;
    },
  });
  const script = small(() => {
    const { length } = witnessed(witness);
    return length >= wanted ? "Done." : [use("report", { number: length + 1 }, `p${length}`)];
  }, 200_000);
  return { script, tool };
};

export async function engineAt(
  path: string,
  {
    wrap = (store: Store): Store => store,
    witness,
  }: { wrap?: (store: Store) => Store; witness?: string } = {},
): Promise<Engine> {
  const world = realWorld();
  const of = witness === undefined ? { script: script(), tool: report(8_000) } : throughSessions(witness);
  return new Engine({
    store: wrap(await openPlace(path)),
    world,
    leaseMs: 1_000,
    models: async () => of.script.models,
    tools: async () => makeToolSource({ world, tools: [of.tool] }),
  });
}

async function main({ path, dieAfter, dieBefore = false, witness }: ZoneOrder): Promise<void> {
  const wrap = (store: Store): Store => {
    const append = store.append.bind(store);
    store.append = async (...given) => {
      const said = given[0].flatMap(({ drafts }) => drafts.map(({ type, body }) => `${type} ${body}`));
      const isIt = said.some((line) => line.includes(dieAfter));
      const result = isIt && dieBefore ? null : await append(...given);
      if (result !== null && !isIt) return result;
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => undefined);
    };
    return store;
  };
  const engine = await engineAt(path, { wrap, ...(witness === undefined ? {} : { witness }) });
  await engine.work({ concurrency: 1, leaseMs: 1_000 });
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as ZoneOrder);
