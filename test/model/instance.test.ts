/** Models of the AI SDK, of each version of the specification, as models of sessions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { openEngine } from "../../src/index.ts";
import { makeModels } from "../../src/model/models.ts";
import { offlineModel } from "../../src/model/offline.ts";

const said = (text: string) => [
  { type: "text-start", id: "t" } as const,
  { type: "text-delta", id: "t", delta: text } as const,
  { type: "text-end", id: "t" } as const,
];
const inputTokens = { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens, outputTokens: { total: 3, text: 3, reasoning: 0 } };
const finishReason = { unified: "stop", raw: undefined } as const;
const end = { type: "finish", finishReason, usage } as const;

const instances = () => [
  new MockLanguageModelV4({
    provider: "house.chat",
    modelId: "best model",
    doStream: async () => ({ stream: ReadableStream.from([...said("four"), end]) }),
  }),
  new MockLanguageModelV3({
    provider: "third",
    modelId: "m",
    doStream: async () => ({ stream: ReadableStream.from([...said("three"), end]) }),
  }),
  {
    specificationVersion: "v2" as const,
    provider: "second",
    modelId: "m",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("only streams")),
    doStream: async () => ({
      stream: ReadableStream.from([
        ...said("two"),
        {
          type: "finish",
          finishReason: "stop",
          usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
        } as const,
      ]),
    }),
  },
];

test("instances answer under their names; the first is the default, and its price is unknown", async () => {
  await using engine = await openEngine({ store: "memory:", env: {}, languageModels: instances() });
  assert.equal((await engine.model()).price, null);
  for (const [model, text] of [
    [undefined, "four"],
    ["third/m", "three"],
    ["second/m", "two"],
  ] as const) {
    const session = await engine.open({ objective: "Try", ...(model === undefined ? {} : { model }) });
    const { status } = await session.ask("Hi").result;
    assert.equal(status, "open");
    const answers: unknown[] = [];
    for await (const event of session.events({ types: ["model.responded"] })) answers.push(event);
    const [answer] = answers as { body: Record<string, unknown>; content: { blocks: unknown[] } }[];
    assert.deepEqual(answer?.content.blocks, [{ type: "text", text }]);
    assert.equal(answer?.body["costNanoUsd"], null);
    assert.equal(answer?.body["model"], model ?? "house/best-model");
    const { cost } = await session.state();
    assert.deepEqual([cost.unpriced, cost.inputTokens, cost.outputTokens], [1, 7, 3]);
  }
});

test("a listed name has the listed facts; the configuration overrides; duplicates are refused", async () => {
  const [first] = instances();
  assert.ok(first);
  const known = new MockLanguageModelV4({ provider: "anthropic.messages", modelId: "claude-sonnet-5" });
  const facts = { windowTokens: 5_000, price: { input: 1, output: 2, asOf: "2026-11-01" } };
  const models = makeModels({
    env: {},
    offline: offlineModel(),
    instances: [known, first],
    config: { models: { "house/best-model": facts } },
  });
  assert.equal(models.byDefault, "anthropic/claude-sonnet-5");
  assert.notEqual((await models.model("anthropic/claude-sonnet-5")).facts.price, null);
  assert.equal((await models.model("house/best-model")).facts.windowTokens, 5_000);
  assert.ok(models.list().some(({ name, ready }) => name === "house/best-model" && ready));
  const two = { env: {}, offline: offlineModel(), instances: [first, first] };
  assert.throws(() => makeModels(two), /two models are named "house\/best-model"/);
  for (const wrong of ["anthropic/x", null, {}, { specificationVersion: "v9", provider: "a", modelId: "b" }])
    assert.throws(() => makeModels({ ...two, instances: [wrong as never] }), /expected models of the AI SDK/);
});
