/**
 * The outside: models and tools as a process reaches them. They live longer than any process, and what was
 * sent to them may take effect after whoever sent it has ended.
 */
import { contextDigest } from "../../src/core/context/context.ts";
import { costOf } from "../../src/core/budget/price.ts";
import {
  ModelError,
  type ModelAnswer,
  type Model,
  type ModelCall,
  type ModelFacts,
  type Models,
} from "../../src/model/port.ts";
import { makeTokenizer } from "../../src/runtime/turn/tokenizer.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { OuterTool, ToolProbe, ToolCall, ToolSource } from "../../src/tool/port.ts";
import { sessionTools } from "../../src/tool/session.ts";
import type { Random } from "../crash/random.ts";
import { answerTo } from "./answer.ts";
import type { Climate } from "./climate.ts";
import type { SimProcess } from "./process.ts";
import type { Timeline } from "./timeline.ts";
import type { Witness } from "./witness.ts";

export interface Outside {
  models(process: SimProcess): Models;
  tools(process: SimProcess): ToolSource;
}

interface Place {
  readonly seed: number;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly climate: () => Climate;
  readonly witness: Witness;
  readonly trace: (line: string) => void;
}

/** In some lives far more is reserved than can be generated while a call lasts. */
const factsOf = (seed: number): ModelFacts => ({
  windowTokens: 200_000,
  outputTokensMax: seed % 5 === 0 ? 8_000 : 500,
  images: false,
  price,
});

const price = { input: 1_000, output: 5_000, asOf: "2026-11-01" };

/** What they are said to be for would only be rendered and counted again and again. */
const ownTools = sessionTools
  .filter(({ name }) => name !== "retract")
  .map((tool) => ({ ...tool, description: `Does ${tool.name}.`, input: { type: "object" } }));

const { digest } = realWorld();
/** One for all: it counts by what a text says. */
const tokenizer = makeTokenizer({ digest });
/** Loading it takes real time, of which there is none later. */
await tokenizer.count("");

export function makeOutside(place: Place): Outside {
  const facts = factsOf(place.seed);
  const model = (process: SimProcess, name: string): Model => ({
    name,
    facts,
    stream: (call) => stream(place, process, call),
  });
  const wired = new Map<string, "on its way" | "done">();
  return {
    models: (process) => ({
      byDefault: "test/simulated",
      model: async (name) => model(process, name),
      list: () => [],
    }),
    tools: (process) => ({
      open: async () => ({
        tools: [
          ...ownTools,
          outerTool(place, process, { name: "look", effect: "read" }),
          outerTool(place, process, { name: "put", effect: "idempotent" }),
          outerTool(place, process, { name: "pay", effect: "unsafe" }),
          wireTool(place, process, wired),
        ],
        [Symbol.asyncDispose]: async () => undefined,
      }),
    }),
  };
}

/** Resolves in the process, if it is still there then. */
function arrives(place: Place, process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => void place.timeline.after(ms, () => process.enter(resolve)));
}

/** Work that is done out there, whatever becomes of the process. */
function outThere(place: Place, ms: number, work: () => void): void {
  place.timeline.after(ms, work);
}

async function* stream(
  place: Place,
  process: SimProcess,
  call: ModelCall,
): AsyncGenerator<{ readonly type: "text"; readonly text: string }, ModelAnswer, void> {
  const { random, climate, witness } = place;
  const context = contextDigest(digest, call.parts, 2) ?? "";
  const charged = witness.asking(process.name, context);
  await process.world.sleep(0);
  const fails = random.chance(climate().modelFails);
  const kind = fails
    ? random.pick(["overloaded", "rate-limited", "dropped", "failed", "overflow"] as const)
    : null;
  await arrives(place, process, 1 + random.below(200));
  // What is refused at the door was not looked at, and costs nothing.
  if (kind === "overloaded" || kind === "overflow") throw new ModelError(kind, `${kind}, as the seed has it`);
  if (kind === "rate-limited") throw new ModelError(kind, "too many", { retryAfterMs: random.below(5_000) });
  const said = answerTo(place.seed, context, call.parts);
  const { tokens: inputTokens } = await tokenizer.estimate(call.parts);
  const usage = { inputTokens, outputTokens: Math.min(said.outputTokens, call.outputTokensMax) };
  charged({
    tokens: inputTokens + usage.outputTokens,
    nanoUsd: costOf(price, usage) ?? 0,
  });
  await arrives(place, process, 1 + random.below(800));
  yield { type: "text", text: "…" };
  await arrives(place, process, 1 + random.below(800));
  if (kind !== null) throw new ModelError(kind, `${kind}, as the seed has it`);
  return { blocks: said.blocks, finish: said.finish, usage, sent: null };
}

interface Kind {
  readonly name: string;
  readonly effect: "read" | "idempotent" | "unsafe";
}

function outerTool(place: Place, process: SimProcess, { name, effect }: Kind): OuterTool {
  return {
    name,
    effect,
    description: `Does ${name}.`,
    input: { type: "object", properties: { number: { type: "number" } } },
    timeoutMs: 8_000,
    check: async (input) => ({ ok: true, value: input }),
    run: (input, call) => run(place, process, { name, effect }, input, call),
  };
}

/** On its way, in effect, and back; and each of them may be where it ends. */
function run(
  place: Place,
  process: SimProcess,
  { name, effect }: Kind,
  input: unknown,
  call: ToolCall,
  took: () => void = () => undefined,
): Promise<unknown> {
  const { random, climate, witness } = place;
  return new Promise((resolve, reject) => {
    process.leave(() => {
      witness.ran(call, name);
      const hangs = random.chance(climate().toolHangs);
      const fails = random.chance(climate().toolFails);
      const heeds = random.chance(0.5);
      const back = 1 + random.below(hangs ? 20_000 : 1_000);
      outThere(place, 1 + random.below(800), () => {
        if (heeds && process.standing() === "up" && call.signal.aborted) return;
        witness.took(call.key, name, effect, input);
        took();
        if (hangs && random.chance(0.5)) return;
        void arrives(place, process, back).then(() =>
          fails ? reject(new Error(`${name} failed`)) : resolve(`${name} done`),
        );
      });
    });
  });
}

/** Unsafe, but it can be asked what became of a call: whether it is on its way is known out there. */
function wireTool(place: Place, process: SimProcess, wired: Map<string, "on its way" | "done">): OuterTool {
  const kind = { name: "wire", effect: "unsafe" } as const;
  const { random, witness } = place;
  return {
    ...outerTool(place, process, kind),
    run(input, call) {
      process.leave(() => wired.set(call.key, "on its way"));
      return run(place, process, kind, input, call, () => wired.set(call.key, "done"));
    },
    async probe(key): Promise<ToolProbe> {
      await arrives(place, process, 1 + random.below(200));
      const known = wired.get(key);
      witness.note(`probed ${known ?? "not-done"}`);
      if (known === "done") return { outcome: "done", output: "wired before" };
      return { outcome: known === undefined ? "not-done" : "unknown" };
    },
  };
}
