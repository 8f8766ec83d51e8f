/** Estimates of tokens without a tokenizer, and their correction by what providers counted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ContextPart } from "../../src/core/context/part.ts";
import {
  corrected,
  estimateError,
  estimateParts,
  estimateTokens,
  fileTokens,
  imageTokens,
  roughTokens,
} from "../../src/core/context/token-count.ts";

const length = (text: string): number => text.length;
const tools = (name: string): ContextPart => ({
  part: "tools",
  tools: [{ name, description: "", input: {} }],
});

test("each part is counted, with a frame around it; images and files count flat", () => {
  const parts: ContextPart[] = [
    { part: "settings", settings: { model: "offline/offline", images: false } },
    tools("read"),
    { part: "system", text: "12345" },
    {
      part: "message",
      role: "user",
      content: [
        { type: "text", text: "123" },
        { type: "image", blob: "a", mediaType: "image/png" },
        { type: "file", blob: "b", mediaType: "application/pdf" },
      ],
    },
    {
      part: "message",
      role: "assistant",
      content: [
        { type: "reasoning", text: "12" },
        { type: "tool-call", call: "call_1", tool: "read", input: { a: 1 } },
      ],
    },
    {
      part: "message",
      role: "tool",
      content: [
        {
          type: "tool-result",
          call: "call_1",
          tool: "read",
          status: "ok",
          text: "1234567",
          images: [{ blob: "c", mediaType: "image/png" }],
        },
      ],
    },
  ];
  assert.deepEqual(estimateParts(parts, length), [
    0,
    12 + 4 + 0 + 2,
    4 + 5,
    4 + 3 + imageTokens + fileTokens,
    4 + 2 + 8 + 4 + 7,
    4 + 8 + 7 + imageTokens,
  ]);
  assert.equal(
    estimateTokens(parts, length),
    estimateParts(parts, length).reduce((sum, tokens) => sum + tokens, 0),
  );
});

test("of several lists of tools only the last is counted, since only it is sent", () => {
  assert.deepEqual(estimateParts([tools("a"), tools("bb"), tools("ccc")], length), [0, 0, 17]);
});

test("a provider's count corrects the next estimate", () => {
  assert.equal(corrected(1_000, 0, 0), 1_000, "nothing is known yet");
  assert.equal(corrected(1_000, 1_000, 1_200), 1_200, "the same context has the count it had");
  assert.equal(corrected(1_500, 1_000, 1_200), 1_800, "what is new errs as the rest did");
  assert.equal(corrected(500, 1_000, 1_200), 600, "a context that was compacted is scaled");
  assert.equal(corrected(1_100, 1_000, 10), 10 + Math.round(100 / 3), "an odd count does not spoil the rest");
});

test("the error of an estimate is relative to the counted tokens", () => {
  assert.equal(estimateError(110, 100), 0.1);
  assert.equal(estimateError(90, 100), -0.1);
  assert.equal(estimateError(90, 0), null);
});

test("the rough count is a whole number, grows with the text, and knows empty from not", () => {
  const units = fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes));
  assert.equal(roughTokens(""), 0);
  fc.assert(
    fc.property(units, units, (a, b) => {
      const [less, more] = [roughTokens(a), roughTokens(a + b)];
      assert.ok(Number.isInteger(less) && more >= less && more <= 2 * (a + b).length + 1);
    }),
  );
});
