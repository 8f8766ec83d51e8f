/**
 * What happens in the turns of a crash test: a plan of calls, a model that asks for them, and tools of every
 * effect. The model looks at what it is given and asks for the first step of the plan that it does not see
 * there, so that it goes on sensibly whoever died before.
 */
import { contextDigest } from "../../src/core/context/context.ts";
import { digest } from "../core/digest.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { ContextPart } from "../../src/core/context/part.ts";
import type { AnswerBlock, Model, ModelCall, ModelFacts, Models } from "../../src/model/port.ts";
import { defineTool, type ProbeAnswer } from "../../src/tool/define.ts";
import type { OuterTool, ToolCall } from "../../src/tool/port.ts";
import type { Points } from "./turn-point.ts";
import type { Witness } from "./turn-witness.ts";

/** `probed` is unsafe too, and can be asked what it did. The last four are session tools. */
export const effects = [
  "read",
  "idempotent",
  "unsafe",
  "probed",
  "record",
  "scratch",
  "send",
  "fork",
] as const;
export type EffectName = (typeof effects)[number];
export const outerEffects = ["read", "idempotent", "unsafe", "probed"] as const;

export interface PlannedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}
export type Step = readonly PlannedCall[];
/** Steps of each turn; the turn is known by its input, `do 1`, `do 2` … */
export type Plan = readonly (readonly Step[])[];

export const inputOf = (turn: number): string => `do ${turn}`;

/** A call of each effect that no other call of the session is mistaken for. */
export function plannedCall(effect: EffectName, mark: string, receiver: string): PlannedCall {
  switch (effect) {
    case "record":
      return { tool: "record", input: { kind: "fact", key: mark, value: `value of ${mark}` } };
    case "scratch":
      return { tool: "scratch", input: { key: mark, value: `value of ${mark}` } };
    case "send":
      return { tool: "send", input: { to: receiver, text: mark } };
    case "fork":
      return { tool: "fork", input: { objective: mark } };
    case "read":
    case "idempotent":
    case "unsafe":
    case "probed":
      return { tool: effect, input: { mark } };
  }
}

export interface Pace {
  /** How long the model takes between deltas, and a tool between its lines. */
  readonly paceMs: number;
  /** The model and the tools go on until they are told to stop. */
  readonly endless?: "stream" | "tool";
}

interface ScriptWorld extends Pace {
  readonly points: Points;
  readonly witness: Witness;
}

const price = { input: 1_000, output: 5_000, asOf: "2026-11-01" };
const facts: ModelFacts = { windowTokens: 200_000, outputTokensMax: 2_000, images: false, price };
const usage = { inputTokens: 100, outputTokens: 10 };
const charge = {
  tokens: usage.inputTokens + usage.outputTokens,
  nanoUsd: usage.inputTokens * price.input + usage.outputTokens * price.output,
};
const modelName = "test/planned";

export function plannedModels(plan: Plan, world: ScriptWorld): Models {
  const model: Model = { name: modelName, facts, stream: (call) => stream(plan, world, call) };
  return { byDefault: modelName, model: async () => model, list: () => [] };
}

async function* stream(plan: Plan, { points, witness, paceMs, endless }: ScriptWorld, call: ModelCall) {
  const context = contextDigest(digest, call.parts, 2) ?? "";
  witness.model({ say: "asked", context, ...charge });
  const blocks = answerTo(plan, call.parts);
  const isEndless = ({ signal }: ModelCall): boolean => endless === "stream" && !signal.aborted;
  yield { type: "text", text: "Let me" } as const;
  await pause(paceMs);
  await points.pass("in stream");
  while (isEndless(call)) {
    yield { type: "text", text: " see" } as const;
    await pause(20, call.signal);
  }
  if (call.signal.aborted) witness.model({ say: "aborted", context, ...charge });
  yield { type: "text", text: " see." } as const;
  await pause(paceMs);
  const finish = blocks.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  return { blocks, finish, usage, sent: null } as const;
}

function answerTo(plan: Plan, parts: readonly ContextPart[]): readonly AnswerBlock[] {
  const messages = parts.filter((part) => part.part === "message");
  const said = messages.flatMap((message) => (message.role === "user" ? message.content : []));
  const told = said.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const turn = Math.max(...told.map((text) => Number(/^do (\d+)$/.exec(text)?.[1] ?? 0)));
  const asked = new Set(
    messages.flatMap(({ role, content }) =>
      role !== "assistant"
        ? []
        : content.flatMap((block) => (block.type === "tool-call" ? [nameOf(block)] : [])),
    ),
  );
  const step = (plan[turn - 1] ?? []).find((calls) => calls.some((one) => !asked.has(nameOf(one))));
  if (step === undefined) return [{ type: "text", text: `Did ${turn}.` }];
  const calls = step.filter((one) => !asked.has(nameOf(one)));
  return [
    { type: "text", text: "Let me see." },
    ...calls.map((one, place) => ({ type: "tool-call", call: `call-${place + 1}`, ...one }) as const),
  ];
}

const nameOf = ({ tool, input }: PlannedCall): string => `${tool} ${JSON.stringify(input)}`;

export function plannedTools(world: ScriptWorld): readonly OuterTool[] {
  const { witness } = world;
  const input = z.object({ mark: z.string() });
  const tool = (name: string, effect: "read" | "idempotent" | "unsafe", more: object = {}): OuterTool =>
    defineTool({
      name,
      description: `A tool whose effect is ${name}.`,
      input,
      effect,
      run: ({ mark }, call) => run(world, name, mark, call),
      ...more,
    });
  /** It knows from the witness: what began and did not end may have happened or not. */
  const probe = (key: string): ProbeAnswer => {
    const lines = witness.tools().filter((line) => line.key === key);
    if (lines.length === 0) return "not done";
    return lines.some(({ say }) => say === "end") ? "done" : "unknown";
  };
  return [
    tool("read", "read"),
    tool("idempotent", "idempotent"),
    tool("unsafe", "unsafe"),
    tool("probed", "unsafe", { probe }),
  ];
}

async function run(
  { points, witness, paceMs, endless }: ScriptWorld,
  tool: string,
  mark: string,
  { key, seq, signal }: ToolCall,
): Promise<string> {
  await points.pass("at tool");
  witness.tool({ say: "begin", tool, key, seq, mark });
  await points.pass("in tool");
  await pause(paceMs);
  if (endless === "tool") {
    while (!signal.aborted) await pause(20, signal);
    witness.tool({ say: "aborted", tool, key, seq, mark });
    throw new Error("told to stop");
  }
  witness.tool({ say: "end", tool, key, seq, mark });
  return `did ${mark}`;
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  ms === 0 ? Promise.resolve() : sleep(ms, undefined, signal && { signal }).catch(() => undefined);
