/** What a search found, as it is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  askedFor,
  grouped,
  kindOf,
  outdated,
  pieces,
  type Hit,
} from "../../src/console/view/search/search-results.ts";

const shown = (snippet: string, asked: string): string =>
  pieces(snippet, asked)
    .map(({ text, isMeant }) => (isMeant ? `[${text}]` : text))
    .join("");

test("whole words are marked, and with a star beginnings of words", () => {
  assert.equal(shown("The base rate, and rates: RATE", "rate base"), "The [base] [rate], and rates: [RATE]");
  assert.equal(shown("The base rate, and rates", "rat*"), "The base [rate], and [rates]");
});

test("accents and case do not matter, and no character is lost", () => {
  assert.equal(shown("Café CAFE cafe\u0301s", "café"), "[Café] [CAFE] cafe\u0301s");
  assert.equal(shown("İstanbul und Straße", "strasse straße"), "İstanbul und [Straße]");
  assert.equal(shown("👍 ok 👍", "ok"), "👍 [ok] 👍");
});

test("one typed word with signs in it is several words", () => {
  assert.equal(shown("v2.10 and 2.1", "v2.10"), "[v2].[10] and 2.1");
  assert.equal(shown("nothing", ""), "nothing");
  assert.equal(shown("a * b", "*"), "a * b");
});

test("whatever is cut, the pieces are the snippet", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (snippet, asked) => {
      assert.equal(
        pieces(snippet, asked)
          .map(({ text }) => text)
          .join(""),
        snippet,
      );
    }),
  );
});

test("the last word may be unfinished, unless a space follows it", () => {
  assert.equal(askedFor(" base ra"), "base ra*");
  assert.equal(askedFor("base rate "), "base rate");
  assert.equal(askedFor("rat*"), "rat*");
  for (const nothing of ["  ", "(", '"', "…"]) assert.equal(askedFor(nothing), "");
});

const hit = (session: string, seq: number): Hit =>
  ({ session, seq, at: 0, type: "x", snippet: "", mind: "live" }) as unknown as Hit;

test("hits stand by their sessions, in the order in which each was found first", () => {
  const found = grouped([hit("b", 9), hit("a", 4), hit("b", 2)]);
  assert.deepEqual(
    found.map(({ log, hits }) => [log, hits.map(({ seq }) => seq)]),
    [
      ["b", [9, 2]],
      ["a", [4]],
    ],
  );
});

test("a result is named in a word; an unknown one by its type", () => {
  assert.deepEqual(
    ["input.received", "model.responded", "tool.settled", "tool.requested", "x.other"].map(kindOf),
    ["input", "model", "tool result", "tool call", "x.other"],
  );
});

test("forgotten memory entries are marked; sessions are not", () => {
  const found = [hit("wsp_a", 1), hit("wsp_a", 2), hit("wsp_a", 3)].map((one) => ({
    ...one,
    type: one.seq === 3 ? "memory.forgotten" : "memory.promoted",
  }));
  const memory = [{ seq: 2 }] as unknown as Parameters<typeof outdated>[1];
  assert.deepEqual([...outdated([...found, hit("ses_b", 1)], memory)], [1]);
});
