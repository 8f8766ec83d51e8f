/** Turns with the offline model over real tools' definitions, without an engine: results are scripted. */
import assert from "node:assert/strict";
import type { MessagePart, ModelBlock, ContextPart, ResultBlock } from "../../src/core/context/part.ts";
import { offlineModel, type OfflineOptions } from "../../src/model/offline.ts";
import { isDelta } from "./drive.ts";
import type { ModelAnswer, ModelDelta } from "../../src/model/port.ts";
import { fileTools } from "../../src/tool/files.ts";
import type { Tool } from "../../src/tool/port.ts";
import { sessionTools } from "../../src/tool/session.ts";

const root = { name: "here", mode: "write", path: "/", real: "/" } as unknown as Parameters<
  typeof fileTools
>[0];
export const everyTool: readonly Tool[] = [...sessionTools, ...fileTools([root].flat())];

export const user = (text: string): MessagePart => ({
  part: "message",
  role: "user",
  content: [{ type: "text", text }],
});

export interface Ask {
  readonly tools?: readonly Tool[];
  readonly before?: readonly ContextPart[];
  readonly options?: OfflineOptions;
  /** What a call gives back; by default "ok". A text that begins with "!" is an error. */
  readonly result?: (tool: string, input: Readonly<Record<string, unknown>>) => string;
}

export interface Turn {
  /** The calls of each step: tool and arguments. */
  readonly calls: readonly (readonly (readonly [tool: string, input: unknown])[])[];
  readonly text: string;
  readonly parts: readonly ContextPart[];
}

/** One whole turn: steps until the model asks for nothing more. */
export async function turn(text: string, ask: Ask = {}): Promise<Turn> {
  const { tools = everyTool, before, options, result = () => "ok" } = ask;
  const definitions = tools.map(({ name, description, input }) => ({ name, description, input }));
  const settings: ContextPart = { part: "settings", settings: { model: "offline/offline", images: false } };
  const parts: ContextPart[] = [...(before ?? [settings, { part: "tools", tools: definitions }]), user(text)];
  const calls: (readonly [string, unknown])[][] = [];
  for (let step = 1; ; step++) {
    assert.ok(step < 20, "the turn does not end");
    const { answer } = await listen(parts, options);
    const asked = answer.blocks.flatMap((block) => (block.type === "tool-call" ? [block] : []));
    const content = answer.blocks.map((block, place): ModelBlock =>
      block.type === "tool-call"
        ? { ...block, call: `call_${parts.length}_${place}`, input: block.input as Record<string, unknown> }
        : block,
    );
    parts.push({ part: "message", role: "assistant", content });
    if (asked.length === 0) {
      assert.equal(answer.finish, "stop");
      const said = answer.blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
      return { calls, text: said, parts };
    }
    assert.equal(answer.finish, "tool-calls");
    const results: ResultBlock[] = [];
    for (const [place, { tool, input }] of asked.entries()) {
      const found = tools.find(({ name }) => name === tool);
      const checked = await found?.check(input);
      assert.ok(checked?.ok, `${tool} ${JSON.stringify(input)}: ${JSON.stringify(checked)}`);
      const said = result(tool, input as Record<string, unknown>);
      const status = said.startsWith("!") ? "error" : "ok";
      const call = `call_${parts.length - 1}_${place}`;
      results.push({ type: "tool-result", call, tool, status, text: said.replace(/^!/, "") });
    }
    calls.push(asked.map(({ tool, input }) => [tool, input] as const));
    parts.push({ part: "message", role: "tool", content: results });
  }
}

/** One answer, and the deltas heard on the way. */
export async function listen(
  parts: readonly ContextPart[],
  options: OfflineOptions = {},
  more: { readonly outputTokensMax?: number; readonly signal?: AbortSignal } = {},
): Promise<{ readonly answer: ModelAnswer; readonly deltas: readonly ModelDelta[] }> {
  const { outputTokensMax = 4_000, signal = new AbortController().signal } = more;
  const blob = (): Promise<Uint8Array> => Promise.reject(new Error("the offline model reads no blobs"));
  const stream = offlineModel(options).stream({ parts, outputTokensMax, blob, signal });
  const deltas: ModelDelta[] = [];
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return { answer: next.value, deltas };
    if (isDelta(next.value)) deltas.push(next.value);
  }
}
