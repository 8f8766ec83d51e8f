/**
 * A program with a loop of its own, as a process that can be killed: `durable-runner.ts STORE WITNESS KILL`.
 * What really happens goes to the witness, a file outside: a line per provider call and per tool call. At the
 * point with the number KILL the process ends itself with SIGKILL. It prints its result.
 */
import { appendFileSync } from "node:fs";
import { generateText, isStepCount, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { durableRun } from "../../../src/adapter/ai-sdk/ai-sdk.ts";
import { openEngine } from "../../../src/index.ts";

const [store = "", witness = "", kill = "0"] = process.argv.slice(2);
let point = 0;
function reach(): void {
  point += 1;
  if (point === Number(kill)) process.kill(process.pid, "SIGKILL");
}
const note = (line: string): void => appendFileSync(witness, `${line}\n`);

const usage = {
  inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const stop = { unified: "stop", raw: undefined } as const;
const calls = { unified: "tool-calls", raw: undefined } as const;

const provider = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const results = prompt.filter(({ role }) => role === "tool").length;
    note(`generate ${results}`);
    reach();
    if (results === 2)
      return { content: [{ type: "text", text: "paid" }], finishReason: stop, usage, warnings: [] };
    const toolName = results === 0 ? "look" : "pay";
    const call = { type: "tool-call", toolCallId: "1", toolName, input: `{"n":${results}}` } as const;
    return { content: [call], finishReason: calls, usage, warnings: [] };
  },
  async doStream({ prompt }) {
    note(`stream ${JSON.stringify(prompt).includes("paid")}`);
    const parts = ["It ", "is ", "done."].map((delta) => ({ type: "text-delta", id: "t", delta }) as const);
    const all = [
      { type: "text-start", id: "t" } as const,
      ...parts,
      { type: "text-end", id: "t" } as const,
      { type: "finish", finishReason: stop, usage } as const,
    ];
    async function* say() {
      for (const part of all) {
        if (part.type === "text-end") reach();
        yield part;
      }
    }
    return { stream: ReadableStream.from(say()) };
  },
});

await using engine = await openEngine({ store });
await using run = await durableRun(engine, { run: "order 17" });
const model = wrapLanguageModel({ model: provider, middleware: run.middleware });
const input = jsonSchema<{ n: number }>({ type: "object", properties: { n: { type: "number" } } });
const execute = (name: string) => () => {
  note(name);
  reach();
  return { [name]: "done" };
};
const tools = run.wrapTools(
  {
    look: tool({ description: "Looks.", inputSchema: input, execute: execute("look") }),
    pay: tool({ description: "Pays.", inputSchema: input, execute: execute("pay") }),
  },
  { look: "read" },
);
reach();
const { text, steps } = await generateText({ model, tools, prompt: "Pay.", stopWhen: isStepCount(5) });
reach();
const said = await streamText({ model, prompt: `Say it is ${text}.` }).text;
reach();
const outputs = steps.flatMap(({ content }) =>
  content.flatMap((part) => (part.type === "tool-result" || part.type === "tool-error" ? [part.type] : [])),
);
process.stdout.write(JSON.stringify({ text, said, outputs, usage: run.usage, points: point }));
