/** A model that says what it is told to, and an engine on a store in memory that asks it. */
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld, type World } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import type { Store } from "../../../src/store/port.ts";
import type { OuterTool } from "../../../src/tool/port.ts";
import { makeToolSource } from "../../../src/tool/source.ts";
import {
  ModelError,
  type ModelAnswer,
  type AnswerBlock,
  type Model,
  type ModelCall,
  type ModelFacts,
  type Models,
} from "../../../src/model/port.ts";
import { engineOn, workspace } from "../place.ts";

/** What the model does when it is asked: an answer, an error, or whatever it makes of the call. */
export type Line =
  | string
  | readonly AnswerBlock[]
  | Partial<ModelAnswer>
  | ModelError
  | ((call: ModelCall) => Line | Promise<Line>);

const facts: ModelFacts = {
  windowTokens: 100_000,
  outputTokensMax: 4_000,
  images: true,
  price: { input: 1_000, output: 5_000, asOf: "2026-11-01" },
};

export interface Scripted {
  readonly models: Models;
  /** The parts of every call, in order. */
  readonly calls: ModelCall[];
}

export const say = (text: string): AnswerBlock => ({ type: "text", text });
export const use = (tool: string, input: unknown, call = `${tool}-1`): AnswerBlock => ({
  type: "tool-call",
  call,
  tool,
  input,
});

/** Each line answers one call; the last one answers all that come after it. */
export function scripted(lines: readonly Line[], more: Partial<ModelFacts> = {}): Scripted {
  const calls: ModelCall[] = [];
  const model = (name: string): Model => ({
    name,
    facts: { ...facts, ...more },
    async *stream(call) {
      const line = lines[Math.min(calls.length, lines.length - 1)] ?? "";
      calls.push(call);
      const answer = await answerOf(line, call);
      for (const block of answer.blocks) {
        if (block.type === "text") yield { type: "text", text: block.text };
        if (block.type === "tool-call") yield { type: "tool-call", tool: block.tool };
      }
      return answer;
    },
  });
  return {
    calls,
    models: { byDefault: "test/scripted", model: async (name) => model(name), list: () => [] },
  };
}

async function answerOf(line: Line, call: ModelCall): Promise<ModelAnswer> {
  if (typeof line === "function") return answerOf(await line(call), call);
  if (line instanceof ModelError) throw line;
  const part: Partial<ModelAnswer> =
    typeof line === "string" ? { blocks: [say(line)] } : isBlocks(line) ? { blocks: line } : line;
  const blocks = part.blocks ?? [];
  const finish = blocks.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  const usage = { inputTokens: 100, outputTokens: 10 };
  return { finish, usage, sent: null, ...part, blocks };
}

const isBlocks = (line: Line): line is readonly AnswerBlock[] => Array.isArray(line);

/** An engine on a new store in memory, or on one that is given. */
export function engineWith(
  script: Scripted,
  options: {
    readonly store?: Store;
    readonly world?: World;
    readonly tools?: readonly OuterTool[];
    readonly holder?: string;
    readonly leaseMs?: number;
  } = {},
): Engine {
  const world = options.world ?? realWorld();
  const { store = kind().store({ world, workspace }), tools = [], ...rest } = options;
  return engineOn({
    ...rest,
    store,
    world,
    models: async () => script.models,
    tools: async () => makeToolSource({ world, tools }),
  });
}
