/** The drivers over real HTTP: what providers stream becomes deltas and an answer, on each of four wires. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MessagePart } from "../../src/core/context/part.ts";
import type { AnswerBlock, FinishReason } from "../../src/model/port.ts";
import { answered, ask, failureOf, modelOn, opening, results, says } from "./drive.ts";
import type { WireBlock } from "./wire/format.ts";
import { field, list, serverSent } from "./wire/format.ts";
import { startWire, wires, type WireName } from "./wire/server.ts";

const names = Object.keys(wires) as WireName[];
const thought: WireBlock = { type: "reasoning", text: "The file will tell.", seal: "c2VhbGVk/+==" };
const spoken: WireBlock = { type: "text", text: "I look at the rates: 4,1 % – naïve 🦊." };
const reads = (id: string, path: string, seal?: string): WireBlock => ({
  type: "call",
  id,
  tool: "read",
  input: JSON.stringify({ path }),
  ...(seal === undefined ? {} : { seal }),
});

for (const wire of names) {
  describe(`on the wire of ${wire}`, () => {
    test("text streams as deltas and ends as one block, with its usage", async () => {
      const usage = { input: 1_000, output: 50, cached: 600, reasoning: 20 };
      await using server = await startWire(wire, [{ reply: "answer", answer: { blocks: [spoken], usage } }]);
      const { deltas, answer } = await ask(
        modelOn(wire, server.url),
        opening(wire, says("Compute the run.")),
      );
      assert.ok(deltas.length > 1 && deltas.every(({ type }) => type === "text"));
      assert.equal(deltas.map((delta) => ("text" in delta ? delta.text : "")).join(""), spoken.text);
      assert.deepEqual(answer.blocks.map(bare), [{ type: "text", text: spoken.text }]);
      assert.equal(answer.finish, "stop");
      assert.deepEqual(answer.usage, {
        inputTokens: 1_000,
        outputTokens: 50,
        cachedInputTokens: 600,
        reasoningTokens: 20,
      });
    });

    test("the request is stored exactly and sent once", async () => {
      await using server = await startWire(wire, [{ reply: "answer", answer: { blocks: [spoken] } }]);
      const { answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      assert.equal(server.requests.length, 1);
      assert.equal(answer.sent, server.requests[0]!.text);
    });

    test("text that no log could hold is mended", async () => {
      const blocks: WireBlock[] = [{ type: "text", text: "a\0b" }];
      const texts = wires[wire]
        .events({ blocks })
        .map((event) => event.replace("a\\u0000b", "a\\u0000b\\ud800"));
      await using server = await startWire(wire, [{ reply: "stream", texts }]);
      const { answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      assert.deepEqual(answer.blocks.map(bare), [{ type: "text", text: "a\uFFFDb\uFFFD" }]);
    });

    test("parallel calls of tools come whole, in order, with the provider's ids", async () => {
      const blocks = [spoken, reads("one", "a.json", "sig"), reads("two", "b.json")];
      await using server = await startWire(wire, [{ reply: "answer", answer: { blocks } }]);
      const { deltas, answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      assert.deepEqual(answer.blocks.map(bare), [
        { type: "text", text: spoken.text },
        { type: "tool-call", call: "one", tool: "read", input: { path: "a.json" } },
        { type: "tool-call", call: "two", tool: "read", input: { path: "b.json" } },
      ]);
      assert.equal(answer.finish, "tool-calls");
      const called = deltas.filter(({ type }) => type === "tool-call");
      const asked = { type: "tool-call", tool: "read" };
      assert.deepEqual(called, [asked, asked]);
    });

    test("a call without arguments has an empty object", async () => {
      const call: WireBlock = { type: "call", id: "one", tool: "read", input: "{}" };
      await using server = await startWire(wire, [{ reply: "answer", answer: { blocks: [call] } }]);
      const { answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      assert.deepEqual(answer.blocks.map(bare), [
        { type: "tool-call", call: "one", tool: "read", input: {} },
      ]);
    });

    test("reasoning streams, and goes back verbatim with the next request", async () => {
      const blocks = [thought, spoken, reads("one", "a.json", "signature/of+call==")];
      await using server = await startWire(wire, [
        { reply: "answer", answer: { blocks } },
        { reply: "answer", answer: { blocks: [spoken] } },
      ]);
      const model = modelOn(wire, server.url);
      const before = opening(wire, says("Compute."));
      const { deltas, answer } = await ask(model, before);
      const heard = deltas.flatMap((delta) => (delta.type === "reasoning" ? [delta.text] : []));
      assert.equal(heard.join(""), thought.text);
      // As the log does, through JSON.
      const message = answered(JSON.parse(JSON.stringify(answer)) as typeof answer, 7);
      await ask(model, [...before, message, results(message)]);
      const { messages } = wires[wire].read(server.requests[1]!.body);
      assert.deepEqual(withoutMarks(messages.slice(1)), sentBack[wire]);
    });

    test("refusals, filters and length stops are reported as by the provider", async () => {
      for (const [finish, expected, blocks] of finishes[wire]) {
        const said = blocks ?? [spoken];
        const answer = { blocks: said, ...(finish === undefined ? {} : { finish }) };
        await using server = await startWire(wire, [{ reply: "answer", answer }]);
        const heard = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
        assert.equal(heard.answer.finish, expected, `${wire}: ${finish}`);
      }
    });

    test("the limit of output on the wire is the one that was reserved", async () => {
      await using server = await startWire(wire, () => ({ reply: "answer", answer: { blocks: [spoken] } }));
      for (const outputTokensMax of [16, 1_500, 4_096]) {
        await ask(modelOn(wire, server.url), opening(wire, says("Compute.")), { outputTokensMax });
        const text = server.requests.at(-1)!.text;
        const limit = /"(?:max_tokens|max_output_tokens|maxOutputTokens)":(\d+)/.exec(text)?.[1];
        assert.equal(Number(limit), outputTokensMax);
      }
    });
  });
}

describe("what only some wires have", () => {
  const wordy = names.filter((wire) => wire !== "google");

  test("arguments that are not JSON are kept as text and marked", async () => {
    for (const wire of wordy) {
      const blocks: WireBlock[] = [{ type: "call", id: "one", tool: "read", input: '{"path": "a.js' }];
      await using server = await startWire(wire, [{ reply: "answer", answer: { blocks } }]);
      const { answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      const call = { type: "tool-call", call: "one", tool: "read", input: '{"path": "a.js', malformed: true };
      assert.deepEqual(answer.blocks.map(bare), [call], wire);
    }
  });

  test("arguments that no log could hold are marked too", async () => {
    for (const wire of wordy) {
      for (const input of ['{"path":"a\\u0000"}', '{"path":"\\ud800"}', '{"__proto__":{"x":1}}']) {
        const blocks: WireBlock[] = [{ type: "call", id: "one", tool: "read", input }];
        await using server = await startWire(wire, [{ reply: "answer", answer: { blocks } }]);
        const { answer } = await ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
        const call = { type: "tool-call", call: "one", tool: "read", input, malformed: true };
        assert.deepEqual(answer.blocks.map(bare), [call], `${wire} ${input}`);
      }
    }
  });

  test("OpenAI stores nothing: reasoning comes encrypted, where there is any", async () => {
    await using server = await startWire("openai", () => ({ reply: "answer", answer: { blocks: [spoken] } }));
    await ask(modelOn("openai", server.url), opening("openai", says("Compute.")));
    await ask(modelOn("openai", server.url, "openai/gpt-4.1"), opening("openai", says("Compute.")));
    const [reasons, plain] = server.requests.map(({ body }) => body);
    assert.deepEqual([reasons!["store"], reasons!["include"]], [false, ["reasoning.encrypted_content"]]);
    assert.deepEqual([plain!["store"], plain!["include"]], [false, undefined]);
  });

  test("thinking of Anthropic's older models gets a share of the reserved output, never more", async () => {
    const name = "anthropic/claude-haiku-4-5";
    await using server = await startWire("anthropic", () => ({
      reply: "answer",
      answer: { blocks: [spoken] },
    }));
    for (const outputTokensMax of [16, 2_048, 8_000, 64_000]) {
      await ask(modelOn("anthropic", server.url, name), opening("anthropic", says("Go.")), {
        outputTokensMax,
      });
      const { max_tokens: most, thinking } = server.requests.at(-1)!.body;
      const budget = (thinking as { budget_tokens?: number }).budget_tokens;
      assert.equal(most, outputTokensMax);
      assert.ok(
        outputTokensMax < 2_048 ? budget === undefined : budget! >= 1_024 && budget! < outputTokensMax,
      );
    }
  });

  test("with a budget, results of calls made without a thought go without thinking", async () => {
    const name = "anthropic/claude-haiku-4-5";
    await using server = await startWire("anthropic", () => ({
      reply: "answer",
      answer: { blocks: [spoken] },
    }));
    const signed = { type: "reasoning", text: "Hm.", metadata: { anthropic: { signature: "s" } } } as const;
    const call = { type: "tool-call", call: "call_7", tool: "read", input: {} } as const;
    const cases = [
      [[call], 8_000, "disabled", ["tool_use"]],
      [[signed, call], 8_000, "enabled", ["thinking", "tool_use"]],
      [[signed, call], 500, "disabled", ["tool_use"]],
    ] as const;
    for (const [content, outputTokensMax, expected, types] of cases) {
      const made: MessagePart = { part: "message", role: "assistant", content };
      const parts = [...opening("anthropic", says("Compute.")), made, results(made)];
      await ask(modelOn("anthropic", server.url, name), parts, { outputTokensMax });
      const { thinking, messages } = server.requests.at(-1)!.body;
      assert.equal(field(thinking, "type"), expected);
      const blocks = list(field(list(messages)[1], "content"));
      assert.deepEqual(
        blocks.map((block) => field(block, "type")),
        types,
      );
    }
  });

  test("Anthropic drops a thought whose past has changed, where it would refuse the request", async () => {
    const thinks = { type: "adaptive", display: "summarized" };
    const drops = { block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const cases = [
      ["claude-opus-5-5", "high", { ...thinks, ...drops }, "high"],
      ["claude-sonnet-5-5", undefined, { ...thinks, ...drops }, undefined],
      ["claude-opus-5-5", "none", drops, "low"],
      ["claude-sonnet-5-5", "none", { type: "between_tools" }, undefined],
      ["claude-opus-5", "high", thinks, "high"],
      ["claude-opus-5", undefined, undefined, undefined],
    ] as const;
    await using server = await startWire("anthropic", () => ({
      reply: "answer",
      answer: { blocks: [spoken] },
    }));
    for (const [model, reasoning, thinking, effort] of cases) {
      const settings = { model, images: true, ...(reasoning === undefined ? {} : { reasoning }) };
      const parts = [...opening("anthropic", says("Compute.")), { part: "settings", settings } as const];
      await ask(modelOn("anthropic", server.url, `anthropic/${model}`), parts);
      const { body, headers } = server.requests.at(-1)!;
      const asked = (body["output_config"] as { effort?: string } | undefined)?.effort;
      assert.deepEqual([body["thinking"], asked], [thinking, effort], `${model} ${reasoning}`);
      const beta = String(headers["anthropic-beta"] ?? "").includes("thinking-binding-controls");
      assert.equal(beta, thinking !== undefined && "block_binding" in thinking);
    }
  });

  test("Anthropic's hidden thoughts go back as they came", async () => {
    const blocks: WireBlock[] = [{ type: "reasoning", text: "", seal: "EmwKAhgBEgy3va3p" }, spoken];
    await using server = await startWire("anthropic", () => ({ reply: "answer", answer: { blocks } }));
    const model = modelOn("anthropic", server.url);
    const before = opening("anthropic", says("Compute."));
    const { answer } = await ask(model, before);
    await ask(model, [...before, answered(answer, 7), says("And now?")]);
    const { messages } = wires.anthropic.read(server.requests[1]!.body);
    assert.deepEqual(withoutMarks(messages)[1], {
      role: "assistant",
      content: [
        { type: "redacted_thinking", data: "EmwKAhgBEgy3va3p" },
        { type: "text", text: spoken.text },
      ],
    });
  });

  test("Anthropic's usage includes cache writes", async () => {
    const usage = { input: 1_000, output: 50, cached: 600, written: 300 };
    await using server = await startWire("anthropic", [
      { reply: "answer", answer: { blocks: [spoken], usage } },
    ]);
    const { answer } = await ask(modelOn("anthropic", server.url), opening("anthropic", says("Compute.")));
    assert.deepEqual(answer.usage, {
      inputTokens: 1_000,
      outputTokens: 50,
      cachedInputTokens: 600,
      cacheWriteTokens: 300,
    });
  });

  test("Gemini's block of a prompt is a content filter, its broken call is garbled", async () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: counts };
    await using server = await startWire("google", [
      { reply: "stream", texts: [serverSent(blocked)] },
      { reply: "answer", answer: { blocks: [], finish: "MALFORMED_FUNCTION_CALL" } },
    ]);
    const model = modelOn("google", server.url);
    const { answer } = await ask(model, opening("google", says("Compute.")));
    assert.deepEqual([answer.blocks, answer.finish], [[], "content-filter"]);
    const failure = await failureOf(model, opening("google", says("Compute.")));
    assert.equal(failure.kind, "garbled");
  });

  test('a server may report "stop" with tool calls, and no usage', async () => {
    const blocks = [reads("one", "a.json")];
    const texts = wires.compatible
      .events({ blocks, finish: "stop" })
      .filter((text) => !text.includes("usage"));
    await using server = await startWire("compatible", [{ reply: "stream", texts }]);
    const { answer } = await ask(modelOn("compatible", server.url), opening("compatible", says("Compute.")));
    assert.deepEqual([answer.finish, answer.usage], ["tool-calls", null]);
  });
});

const counts = { promptTokenCount: 5, totalTokenCount: 5 };

/** What the second request holds after the first message of the user. */
const sentBack: Readonly<Record<WireName, unknown>> = {
  anthropic: [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: thought.text, signature: thought.seal },
        { type: "text", text: spoken.text },
        { type: "tool_use", id: "call_7", name: "read", input: { path: "a.json" } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "call_7", content: "what call_7 gave" }] },
  ],
  openai: [
    {
      type: "reasoning",
      id: "rs_67ccd3a9da748190baa7f1570fe91ac604becb25c45c1d40",
      encrypted_content: thought.seal,
      summary: [{ type: "summary_text", text: thought.text }],
    },
    { role: "assistant", content: spoken.text },
    { type: "function_call", call_id: "call_7", name: "read", arguments: '{"path":"a.json"}' },
    { type: "function_call_output", call_id: "call_7", output: "what call_7 gave" },
  ],
  compatible: [
    {
      role: "assistant",
      content: spoken.text,
      reasoning_content: thought.text,
      tool_calls: [
        { id: "call_7", type: "function", function: { name: "read", arguments: '{"path":"a.json"}' } },
      ],
    },
    { role: "tool", tool_call_id: "call_7", content: "what call_7 gave" },
  ],
  google: [
    {
      role: "model",
      parts: [
        { text: thought.text, thought: true, thoughtSignature: thought.seal },
        { text: spoken.text },
        {
          functionCall: { id: "call_7", name: "read", args: { path: "a.json" } },
          thoughtSignature: "signature/of+call==",
        },
      ],
    },
    {
      role: "user",
      parts: [
        {
          functionResponse: {
            id: "call_7",
            name: "read",
            response: { name: "read", content: "what call_7 gave" },
          },
        },
      ],
    },
  ],
};

const refused: readonly WireBlock[] = [{ type: "refusal", text: "I will not do that." }];
type Ending = readonly [finish: string | undefined, expected: FinishReason, blocks?: readonly WireBlock[]];
const finishes: Readonly<Record<WireName, readonly Ending[]>> = {
  anthropic: [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
    [undefined, "refusal", refused],
  ],
  openai: [
    [undefined, "stop"],
    ["max_output_tokens", "length"],
    ["content_filter", "content-filter"],
    [undefined, "refusal", refused],
  ],
  compatible: [
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["stop", "refusal", refused],
    ["whatever", "other"],
  ],
  google: [
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["OTHER", "other"],
  ],
};

function bare(block: AnswerBlock): object {
  const { metadata: _, ...rest } = block;
  return rest;
}

/** The marks of the prompt cache move with the end; they are no part of what is said. */
function withoutMarks(value: readonly unknown[]): readonly unknown[] {
  const skip = (key: string, inner: unknown): unknown => (key === "cache_control" ? undefined : inner);
  return JSON.parse(JSON.stringify(value, skip)) as unknown[];
}
