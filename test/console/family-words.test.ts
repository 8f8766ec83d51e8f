import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareWords, valueText, type WordRun } from "../../src/console/view/compare/words.ts";

const joined = (pieces: readonly WordRun[]): string => pieces.map(({ text }) => text).join("");
const own = (pieces: readonly WordRun[]): string[] =>
  pieces.filter(({ isOwn }) => isOwn).map(({ text }) => text);

test("the words that only one of two texts has are its own", () => {
  const [ours, theirs] = compareWords(
    "The table of the ministry, 5 November.",
    "The draft of it, 10 November.",
  );
  assert.deepEqual(own(ours), ["table", "the ministry", "5"]);
  assert.deepEqual(own(theirs), ["draft", "it", "10"]);
  assert.deepEqual(compareWords("4.1", "4.1"), [
    [{ text: "4.1", isOwn: false }],
    [{ text: "4.1", isOwn: false }],
  ]);
  assert.deepEqual(compareWords("rate 4.2", "rate 4.6").map(own), [["4.2"], ["4.6"]]);
  assert.deepEqual(compareWords('["Graz"\n]', '["Graz",\n"Linz"\n]').map(own), [[], [',\n"Linz"']]);
  assert.deepEqual(compareWords("", "new"), [[], [{ text: "new", isOwn: true }]]);
});

test("the pieces add up to the text, and equal texts have no changed piece", () => {
  const texts = fc.array(fc.constantFrom("a", "b", "rate", " ", "\n", ".", "é", "4", '"', "\ud800"), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(texts, texts, (first, second) => {
      const [a, b] = [first.join(""), second.join("")];
      const [ours, theirs] = compareWords(a, b);
      assert.equal(joined(ours), a);
      assert.equal(joined(theirs), b);
      assert.deepEqual(own(compareWords(a, a)[0]), []);
      for (const [place, { isOwn }] of ours.entries()) assert.notEqual(ours[place - 1]?.isOwn, isOwn);
    }),
  );
});

test("texts too long for a comparison by words keep their common beginning and end", () => {
  const long = (say: string): string => `begin ${`${say} `.repeat(3_000)}end`;
  const [ours] = compareWords(long("one"), long("two"));
  assert.deepEqual([ours[0]?.text, ours.at(-1)?.text], ["begin ", " end"]);
});

test("a text is shown as it is, and all else as JSON", () => {
  assert.deepEqual(["4", 4, { a: [1] }, null].map(valueText), [
    "4",
    "4",
    '{\n  "a": [\n    1\n  ]\n}',
    "null",
  ]);
});
