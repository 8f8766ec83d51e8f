/**
 * Contexts grow at the end, and so does what is sent: system, tools and messages of each body start with
 * those of the body before. Left out of the comparison are the marks of Anthropic's prompt cache
 * (`cache_control`): they move to the new end, and are no part of what is cached.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { MessagePart, ContextPart, ResultBlock } from "../../src/core/context/part.ts";
import { makePrompt } from "../../src/model/prompt.ts";
import { answered, ask, modelOn, opening, readTool, results, says } from "./drive.ts";
import type { WireBlock, WireContext } from "./wire/format.ts";
import { field, list } from "./wire/format.ts";
import { startWire, wires, type WireName } from "./wire/server.ts";

const names = Object.keys(wires) as WireName[];

for (const wire of names) {
  describe(`on the wire of ${wire}`, () => {
    test("each body starts with the one before", async () => {
      const steps = 6;
      await using server = await startWire(wire, (_, number) => ({
        reply: "answer",
        answer: { blocks: said(number) },
      }));
      const model = modelOn(wire, server.url);
      let parts: ContextPart[] = opening(wire, says("Compute the run."));
      for (let step = 1; step <= steps; step++) {
        const { answer } = await ask(model, parts);
        parts = [...parts, ...followed(answered(answer, step * 10), step)];
      }
      const contexts = server.requests.map(({ body }) => withoutMarks(wires[wire].read(body)));
      assert.equal(contexts.length, steps);
      for (const [at, context] of contexts.slice(1).entries()) assertGrown(contexts[at]!, context);
    });

    test("a request that failed leaves its input, and the next one starts with it", async () => {
      const answer = { blocks: [{ type: "text", text: "Done." }] } as const;
      await using server = await startWire(wire, () => ({ reply: "answer", answer }));
      const model = modelOn(wire, server.url);
      const parts = opening(wire, says("Compute."));
      await ask(model, parts);
      await ask(model, [...parts, says("Are you there?")]);
      const [before, after] = server.requests.map(({ body }) => withoutMarks(wires[wire].read(body)));
      assert.deepEqual(after!.system, before!.system);
      assert.deepEqual(after!.tools, before!.tools);
      const blocks = before!.messages.flatMap(blocksOf);
      assert.deepEqual(after!.messages.flatMap(blocksOf).slice(0, blocks.length), blocks);
    });
  });
}

test("Anthropic's cache is marked after the system text, at the last end and at this one", async () => {
  const blocks = [{ type: "call", id: "one", tool: "read", input: "{}" }] as const;
  await using server = await startWire("anthropic", () => ({ reply: "answer", answer: { blocks } }));
  const model = modelOn("anthropic", server.url);
  const parts = opening("anthropic", says("Compute."), says("The run of November."));
  const { answer } = await ask(model, parts);
  const message = answered(answer, 7);
  await ask(model, [...parts, message, results(message)]);
  const marked = server.requests.map(({ body }) => {
    const { system, messages } = wires.anthropic.read(body);
    const isMarked = (block: unknown): boolean => field(block, "cache_control") !== undefined;
    return [system, ...messages.map((said) => list(field(said, "content")))].map((all) => all.map(isMarked));
  });
  assert.deepEqual(marked, [
    [
      [false, true],
      [false, true],
    ],
    [[false, true], [false, true], [false], [true]],
  ]);
});

test("whatever the messages, prompts of longer contexts start with those of shorter ones", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(messageArbitrary, { maxLength: 8 }), async (messages) => {
      for (const wire of ["openai", "google"] as const) {
        const prompts = await Promise.all(messages.map((_, at) => promptOf(wire, messages.slice(0, at + 1))));
        for (const [at, prompt] of prompts.slice(1).entries()) {
          assert.deepEqual(prompt.slice(0, prompts[at]!.length), prompts[at]);
        }
      }
    }),
    { numRuns: 50 },
  );
});

const textArbitrary = fc.constantFrom("", " \n", "Compute.", "🦊");
const statusArbitrary = fc.constantFrom<ResultBlock["status"]>("ok", "error", "unknown", "skipped");
const image = { blob: "hash", mediaType: "image/png" };
const messageArbitrary: fc.Arbitrary<MessagePart> = fc.oneof(
  textArbitrary.map(says),
  fc
    .array(fc.tuple(fc.constantFrom("text", "reasoning"), textArbitrary), { maxLength: 3 })
    .map((blocks): MessagePart => ({
      part: "message",
      role: "assistant",
      content: blocks.map(([type, text]) => ({ type, text })),
    })),
  fc.tuple(statusArbitrary, textArbitrary, fc.boolean()).map(([status, text, shows]): MessagePart => ({
    part: "message",
    role: "tool",
    content: [
      {
        type: "tool-result",
        call: "call_1",
        tool: "read",
        status,
        text,
        ...(shows ? { images: [image] } : {}),
      },
    ],
  })),
);

async function promptOf(wire: WireName, messages: readonly MessagePart[]): Promise<readonly unknown[]> {
  const blob = (): Promise<Uint8Array> => Promise.resolve(new Uint8Array([1, 2, 3]));
  return (await makePrompt({ parts: opening(wire, ...messages), blob }, wire)).messages;
}

/** Step by step another kind of answer. */
function said(step: number): WireBlock[] {
  const thought: WireBlock = { type: "reasoning", text: `Thought ${step}.`, seal: `c2VhbA${step}` };
  const text: WireBlock = { type: "text", text: `Said ${step}.` };
  const call = (id: string): WireBlock => ({
    type: "call",
    id,
    tool: "read",
    input: JSON.stringify({ path: `${id}.json` }),
    seal: `c2lnbg${step}`,
  });
  const kinds = [[thought, text, call("one"), call("two")], [call("three")], [thought, text]];
  return kinds[step % kinds.length]!;
}

/** Step by step another kind of going on: results with images, failures, new tools, more input. */
function followed(message: MessagePart, step: number): ContextPart[] {
  const outcome = results(message, step % 2 === 0 ? "ok" : "error");
  const shown = { ...outcome, content: outcome.content.map((block) => ({ ...block, images: [image] })) };
  const tools: ContextPart = { part: "tools", tools: [readTool, { ...readTool, name: `read-${step}` }] };
  return [
    message,
    ...(outcome.content.length === 0 ? [] : [shown as MessagePart]),
    ...(step === 3 ? [tools] : []),
    ...(step % 3 === 1 && outcome.content.length > 0 ? [] : [says(`Input ${step}.`)]),
  ];
}

function assertGrown(before: WireContext, after: WireContext): void {
  for (const part of ["system", "tools", "messages"] as const) {
    assert.ok(before[part].length > 0, `there is no ${part} to compare`);
    assert.deepEqual(after[part].slice(0, before[part].length), before[part]);
  }
  assert.ok(after.messages.length > before.messages.length);
}

function blocksOf(message: unknown): readonly unknown[] {
  const content = field(message, "content") ?? field(message, "parts") ?? message;
  return typeof content === "string" ? [{ type: "text", text: content }] : list(content);
}

function withoutMarks(context: WireContext): WireContext {
  const skip = (key: string, inner: unknown): unknown => (key === "cache_control" ? undefined : inner);
  return JSON.parse(JSON.stringify(context, skip)) as WireContext;
}
