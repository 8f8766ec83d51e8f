/** Usage that cannot be true: the answer is kept, Skein counts by itself, and marks it as estimated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenUsage } from "../../../src/model/port.ts";
import { readUsage } from "../../../src/core/budget/reported-usage.ts";
import { freshSeed, makeRandom } from "../../crash/random.ts";
import { engineWith, say, scripted } from "./scripted.ts";

const odd: readonly unknown[] = [
  -1_000,
  10.5,
  1e18,
  2 ** 53 - 1,
  2 ** 53,
  "1000",
  null,
  undefined,
  Number.NaN,
  Infinity,
  -0.5,
  true,
  {},
  [],
];

async function answered(usage: unknown) {
  const script = scripted([{ blocks: [say("Kept.")], usage: usage as TokenUsage | null }]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Count", budget: { usd: 1 } });
  for await (const _ of session.ask("Go"));
  const { status, cost } = await session.state();
  const bodies: unknown[] = [];
  for await (const { body } of session.events({ types: ["model.responded"] })) bodies.push(body);
  assert.equal(bodies.length, 1);
  assert.equal(script.calls.length, 1, "asked once");
  return { status, cost, usage: (bodies[0] as { usage: TokenUsage & { estimated?: boolean } }).usage };
}

test("an answer is stored whatever its provider counts", async () => {
  for (const value of odd) {
    for (const usage of [
      { inputTokens: value, outputTokens: 10 },
      { inputTokens: 10, outputTokens: value },
    ]) {
      const found = await answered(usage);
      assert.notEqual(found.status, "running");
      assert.equal(found.usage.estimated, true, String(value));
      assert.ok(found.usage.inputTokens > 0 && found.usage.outputTokens > 0);
    }
    const { usage } = await answered({ inputTokens: 100, outputTokens: 10, cachedInputTokens: value });
    assert.deepEqual(usage, { inputTokens: 100, outputTokens: 10 });
  }
});

test("any usage gives one that costs a safe, positive number, or none", async () => {
  const random = makeRandom(freshSeed());
  const values = [...odd, 0, 1, 100, 99_999_999, 100_000_001];
  for (let round = 0; round < 5_000; round++) {
    const names = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"];
    const usage = Object.fromEntries(names.map((name) => [name, random.pick(values)]));
    const read = readUsage(random.chance(0.05) ? random.pick(odd) : usage);
    if (read === null) continue;
    for (const count of Object.values(read)) assert.ok(Number.isSafeInteger(count) && count >= 0);
    const { inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = read;
    assert.ok(cachedInputTokens + cacheWriteTokens <= inputTokens);
    if (round % 500 === 0) await answered(usage);
  }
});
