/** The tokenizer: real counts, kept, and linear in the length of whatever it is given. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { ContextPart } from "../../../src/core/context/part.ts";
import { roughTokens } from "../../../src/core/context/token-count.ts";
import { makeTokenizer } from "../../../src/runtime/turn/tokenizer.ts";
import { digest } from "../../core/digest.ts";

const message = (text: string): ContextPart => ({
  part: "message",
  role: "user",
  content: [{ type: "text", text }],
});

test("counts are those of o200k_base, also for text that looks like a special token", async () => {
  const { count } = makeTokenizer({ digest });
  const texts = ["", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "a <|endoftext|> b"];
  assert.deepEqual(await Promise.all(texts.map(count)), [0, 4, 10, 9]);
});

test("a step pays for its new parts only", async () => {
  let digests = 0;
  const counted = makeTokenizer({ digest: (prefix, text) => ((digests += 1), digest(prefix, text)) });
  const long = readFileSync("ARCHITECTURE.md", "utf8");
  const parts = Array.from({ length: 20 }, (_, place) => message(`${place}\n${long}`));
  const first = performance.now();
  const before = await counted.estimate(parts);
  const counting = performance.now();
  const next = [...structuredClone(parts), message("one more")];
  const middle = performance.now();
  const grown = await counted.estimate(next);
  const last = performance.now();
  assert.deepEqual(grown.perPart.slice(0, 20), before.perPart);
  assert.equal(grown.tokens, before.tokens + 6);
  assert.equal(digests, 40);
  assert.ok(last - middle < (counting - first) / 2, `${counting - first} ms, then ${last - middle} ms`);
});

test("a megabyte of one letter, of spaces or of unbroken ideographs takes no long time", async () => {
  const { count } = makeTokenizer({ digest });
  const began = performance.now();
  for (const letter of ["a", " ", "\n", "語", "😀"]) {
    const tokens = await count(letter.repeat(1_048_576 / letter.length));
    assert.ok(tokens > 1_000 && tokens <= 2_200_000, `${letter}: ${tokens}`);
  }
  const ms = performance.now() - began;
  assert.ok(ms < 10_000, `${ms} ms`);
});

test("cutting long runs changes the count by little", async () => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  const { count } = makeTokenizer({ digest });
  const word = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1_500 });
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 5 }), async (words) => {
      const text = words.join(" ");
      const exact = countTokens(text, { disallowedSpecial: new Set() });
      assert.ok(Math.abs((await count(text)) - exact) <= 2 * Math.ceil(text.length / 256));
    }),
    { numRuns: 50 },
  );
});

test("the rough count is within a quarter of the real one for prose, code and numbers", async () => {
  const { count } = makeTokenizer({ digest });
  const files = ["README.md", "GLOSSARY.md", "src/core/tool/decide.ts", "package.json"];
  const texts = files.map((path) => readFileSync(path, "utf8"));
  const numbers = ["file 0 ".repeat(500), JSON.stringify(Array.from({ length: 100 }, (_, at) => ({ at })))];
  for (const text of [...texts, ...numbers]) {
    const error = roughTokens(text) / (await count(text)) - 1;
    assert.ok(Math.abs(error) < 0.25, `${text.slice(0, 40)}: ${error}`);
  }
});
