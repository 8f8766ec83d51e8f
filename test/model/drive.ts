/** Calls a driver as the turn loop does, and renders what comes of it as the renderer does. */
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import type { ModelAnswer, ModelDelta, Model, ModelCall, ModelProgress } from "../../src/model/port.ts";
import { ModelError } from "../../src/model/port.ts";
import type {
  MessagePart,
  ModelBlock,
  ContextPart,
  ResultBlock,
  ToolDefinition,
} from "../../src/core/context/part.ts";
import type { WireName } from "./wire/server.ts";

/** One model a wire, of a kind that reasons. */
const modelNames: Readonly<Record<WireName, string>> = {
  anthropic: "anthropic/claude-sonnet-5",
  openai: "openai/gpt-5.5",
  google: "google/gemini-3.8-flash",
  compatible: "local/llama",
};

export function modelOn(wire: WireName, url: string, name: string = modelNames[wire]): Model {
  const facts = { windowTokens: 100_000, outputTokensMax: 4_096, images: true, price: null };
  return aiSdkModel({ name, wire, url, key: "key-of-the-test", facts });
}

export const isDelta = (one: ModelDelta | ModelProgress): one is ModelDelta =>
  one.type === "text" || one.type === "reasoning" || one.type === "tool-call";

export interface Heard {
  readonly deltas: readonly ModelDelta[];
  readonly answer: ModelAnswer;
}

export async function ask(
  model: Model,
  parts: readonly ContextPart[],
  options: Partial<ModelCall> = {},
): Promise<Heard> {
  const signal = new AbortController().signal;
  const blob = (hash: string): Promise<Uint8Array> => Promise.resolve(new TextEncoder().encode(hash));
  const stream = model.stream({ parts, outputTokensMax: 4_096, blob, signal, ...options });
  const deltas: ModelDelta[] = [];
  for (;;) {
    const { done, value } = await stream.next();
    if (done === true) return { deltas, answer: value };
    if (isDelta(value)) deltas.push(value);
  }
}

/** What the call failed with, in the port's words; whatever else is thrown breaks the port's contract. */
export async function failureOf(
  model: Model,
  parts: readonly ContextPart[],
  options: Partial<ModelCall> = {},
): Promise<ModelError> {
  try {
    await ask(model, parts, options);
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("the call did not fail");
}

export const readTool: ToolDefinition = {
  name: "read",
  description: "Reads a file.",
  input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

export const says = (text: string): MessagePart => ({
  part: "message",
  role: "user",
  content: [{ type: "text", text }],
});

export function opening(wire: WireName, ...messages: readonly MessagePart[]): ContextPart[] {
  return [
    { part: "settings", settings: { model: modelNames[wire], images: true, reasoning: "low" } },
    { part: "tools", tools: [readTool] },
    { part: "system", text: "You keep the payroll." },
    { part: "system", text: "Objective: the run of November." },
    ...messages,
  ];
}

/** The message of an answer, with the ids that the log gives to calls. */
export function answered({ blocks }: ModelAnswer, firstSeq: number): MessagePart {
  let seq = firstSeq;
  const content = blocks.map((block): ModelBlock => {
    if (block.type !== "tool-call") return block;
    const { malformed: _, input, ...call } = block;
    return { ...call, call: `call_${seq++}`, input: input as Readonly<Record<string, unknown>> };
  });
  return { part: "message", role: "assistant", content };
}

export function results(message: MessagePart, status: ResultBlock["status"] = "ok"): MessagePart {
  const content = message.content.flatMap((block): ResultBlock[] =>
    block.type === "tool-call"
      ? [{ type: "tool-result", call: block.call, tool: block.tool, status, text: `what ${block.call} gave` }]
      : [],
  );
  return { part: "message", role: "tool", content };
}
