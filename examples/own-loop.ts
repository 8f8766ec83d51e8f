/**
 * A turn loop of your own, with the plain AI SDK, on top of `session.drive()`. Skein keeps the log, the
 * context, the budget and the lease; the loop asks the model and runs the tools. Nothing is sent before
 * `request` has resolved and no tool runs before `start` has, so that a crash anywhere leaves a log that says
 * what was under way: the loop below looks at the state before each thing it does, and so can be started
 * again after a kill. It starts itself twice to show it.
 *
 *   npx node --conditions=skein-source examples/own-loop.ts
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText, jsonSchema, tool, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { openEngine } from "skein";
import type { Drive } from "skein/session";
import type { ContextPart } from "skein/model";

// Any model of the AI SDK would do: `anthropic("…")`. This one asks for the weather, then says what it is.
const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const usage = {
      inputTokens: { total: 20, noCache: 20, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    };
    const last = prompt.at(-1);
    const output = last?.role === "tool" && last.content[0]?.type === "tool-result" && last.content[0].output;
    if (output) {
      const text = `The sky over Bern: ${output.type === "text" ? output.value : "unknown"}.`;
      const finishReason = { unified: "stop", raw: undefined } as const;
      return { content: [{ type: "text", text }], finishReason, usage, warnings: [] };
    }
    const call = { toolCallId: "1", toolName: "weather", input: '{"city":"Bern"}' };
    const finishReason = { unified: "tool-calls", raw: undefined } as const;
    return { content: [{ type: "tool-call", ...call }], finishReason, usage, warnings: [] };
  },
});
const city = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
};
const weather = { name: "weather", description: "Says what the weather is like in a city.", input: city };

const [store, killed] = process.argv.slice(2);
if (store === undefined) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
  for (const more of [["killed"], []]) {
    const args = [...process.execArgv, import.meta.filename, join(folder.path, "skein.db"), ...more];
    const { signal, status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    console.log(signal === null ? `ended with ${status}` : `killed by ${signal}`);
    if (more.length === 0) process.exitCode = status ?? 1;
  }
} else {
  await using engine = await openEngine({ store });
  const { rows } = await engine.sessions({ limit: 1 });
  const session = rows[0]
    ? await engine.session(rows[0].session)
    : await engine.open({ objective: "Talk about the weather" });
  if (rows[0] === undefined) await session.input("What is the weather like in Bern?");
  await using drive = await session.drive(); // the lease; of a process that was killed it is free again
  while (await goOn(drive));
  const { parts, matches } = await session.context({ atSeq: await lastRequest() });
  console.log(`the last context had ${parts.length} parts; rebuilt from the log it is the same: ${matches}`);
  if (matches !== true) process.exitCode = 1;

  async function lastRequest(): Promise<number> {
    let last = 0;
    for await (const { seq } of session.events({ types: ["model.requested"] })) last = seq;
    return last;
  }
}

/** One thing, by what the state says is next. False: there is nothing left to do. */
async function goOn(drive: Drive): Promise<boolean> {
  const { standing, mind } = await drive.state();
  const { turn, inbox, reserved } = standing;
  if (reserved !== null) await drive.fail({ error: "crashed" });
  else if (turn === null && inbox.waiting.length === 0) return false;
  else if (turn === null) await drive.begin({ tools: { definitions: [weather], digest: digest(weather) } });
  else if (turn.interrupted) await drive.end("interrupted");
  else if (mind.calls.size > 0) for (const [call, open] of mind.calls.entries()) await run(drive, call, open);
  else if (turn.answered === null || turn.answered.calls > 0) await ask(drive);
  else await drive.end();
  return true;
}

async function ask(drive: Drive): Promise<void> {
  const { parts, seq } = await drive.request({ model: "mock/mock", reserve: { tokens: 1_000 } });
  console.log(`${seq} asks the model`);
  const { text, toolCalls, usage } = await generateText({
    model,
    messages: parts.flatMap(messagesOf),
    allowSystemInMessages: true,
    tools: { weather: tool({ description: weather.description, inputSchema: jsonSchema(city) }) },
    maxRetries: 0, // a second try is a second request, and stands in the log as one
  });
  const calls = toolCalls.map(({ toolCallId, toolName, input }) => {
    return { type: "tool-call", call: toolCallId, tool: toolName, input: input as unknown } as const;
  });
  const { inputTokens = 0, outputTokens = 0 } = usage;
  await drive.respond({
    finish: calls.length > 0 ? "tool-calls" : "stop",
    usage: { inputTokens, outputTokens },
    costNanoUsd: null,
    blocks: [...(text === "" ? [] : [{ type: "text", text } as const]), ...calls],
    effects: { weather: "read" },
  });
  if (text !== "") console.log(text);
}

/** A read-only tool: it may run again after a crash in the middle of it. */
async function run(drive: Drive, call: string, { seq }: { readonly seq: number }): Promise<void> {
  await drive.start(call);
  console.log(`${seq} runs the tool, with the key ${drive.key(seq).slice(0, 8)}`);
  if (killed !== undefined) process.kill(process.pid, "SIGKILL");
  await drive.settle(call, { status: "ok", output: "clear" });
}

/** From Skein's parts to the SDK's messages; without images and files, which this session does not have. */
function messagesOf(part: ContextPart): ModelMessage[] {
  if (part.part === "system") return [{ role: "system", content: part.text }];
  if (part.part !== "message") return [];
  if (part.role === "tool") {
    const content = part.content.map(({ call, tool: toolName, text }) => {
      return {
        type: "tool-result",
        toolCallId: call,
        toolName,
        output: { type: "text", value: text },
      } as const;
    });
    return [{ role: "tool", content }];
  }
  const said = part.content.flatMap((one) =>
    one.type === "text" ? [{ type: "text", text: one.text } as const] : [],
  );
  if (part.role === "user") return [{ role: "user", content: said }];
  const asked = part.content.flatMap((one) => {
    if (one.type !== "tool-call") return [];
    return [{ type: "tool-call", toolCallId: one.call, toolName: one.tool, input: one.input } as const];
  });
  return [{ role: "assistant", content: [...said, ...asked] }];
}

function digest(definition: object): string {
  return createHash("sha256")
    .update(JSON.stringify([definition]))
    .digest("hex");
}
