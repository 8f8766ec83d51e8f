/** The cost of a call: exact, whole, rounded up, and unknown when the price is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { costOf } from "../../src/core/budget/price.ts";

const price = { input: 3_000, output: 15_000, cachedInput: 300, cacheWrite: 3_750 };

test("each kind of token is paid at its own price, and none twice", () => {
  const usage = { inputTokens: 1_000, outputTokens: 10, cachedInputTokens: 600, cacheWriteTokens: 300 };
  assert.equal(costOf(price, usage), 100 * 3_000 + 600 * 300 + 300 * 3_750 + 10 * 15_000);
});

test("tokens of a cache are never more than the input, however many are reported", () => {
  const usage = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 6, cacheWriteTokens: 6 };
  assert.equal(costOf(price, usage), 6 * 300 + 4 * 3_750);
  assert.equal(costOf(price, { ...usage, cachedInputTokens: 20 }), 10 * 300);
});

test("cached tokens without a separate price cost as much as input", () => {
  const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 600, cacheWriteTokens: 300 };
  assert.equal(costOf({ input: 3_000, output: 15_000 }, usage), 3_000_000);
});

test("a usage that reports no tokens of a cache is paid as input and output alone", () => {
  assert.equal(costOf(price, { inputTokens: 10, outputTokens: 1 }), 10 * 3_000 + 15_000);
  assert.equal(
    costOf(price, { inputTokens: 10, outputTokens: 0, cachedInputTokens: 4 }),
    6 * 3_000 + 4 * 300,
  );
});

test("an unknown price or usage is an unknown cost, never zero", () => {
  assert.equal(costOf(null, { inputTokens: 1, outputTokens: 1 }), null);
  assert.equal(costOf(price, null), null);
  assert.equal(costOf({ input: 0, output: 0 }, { inputTokens: 1, outputTokens: 1 }), 0);
});

test("a part of a nano-dollar is rounded up, a binary crumb is not", () => {
  assert.equal(costOf({ input: 37.5, output: 0 }, { inputTokens: 1, outputTokens: 0 }), 38);
  assert.equal(costOf({ input: 0.1, output: 0.2 }, { inputTokens: 10, outputTokens: 10 }), 3);
  assert.equal(costOf({ input: 0.1, output: 0.7 }, { inputTokens: 3, outputTokens: 1 }), 1);
  assert.equal(costOf({ input: 1.000_000_1, output: 0 }, { inputTokens: 1, outputTokens: 0 }), 1);
  assert.equal(costOf({ input: 1.000_001, output: 0 }, { inputTokens: 1, outputTokens: 0 }), 2);
});

test("a cost is a whole number, and more tokens never cost less", () => {
  const tokens = fc.nat({ max: 2_000_000 });
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, tokens, (input, output, cached, written, more) => {
      const usage = { inputTokens: input, outputTokens: output };
      const cache = { cachedInputTokens: cached, cacheWriteTokens: written };
      const cost = costOf(price, { ...usage, ...cache });
      assert.ok(cost !== null && Number.isSafeInteger(cost) && cost >= 0);
      const greater = costOf(price, { ...usage, ...cache, outputTokens: output + more });
      assert.ok(greater !== null && greater >= cost);
    }),
  );
});
