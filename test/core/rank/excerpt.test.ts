/** Excerpts of documents, and the relevance that chooses them. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { entries, objectives, rate } from "../../../bench/memory-labels.ts";
import { documentExcerpt, excerptText } from "../../../src/core/rank/excerpt.ts";
import { rank } from "../../../src/core/rank/rank.ts";

const readOn = "recall with fromSeq 12 reads it";
const filler = "Nothing of what stands in this paragraph is of any consequence to readers. ".repeat(30);
const tome = Array.from({ length: 500 }, (_, page) =>
  page === 321
    ? `## Page ${page}: Withholding tax\n\nDividends paid abroad bear a withholding tax of 17.5 percent.\n`
    : `## Page ${page}: Remarks\n\n${filler}\n`,
).join("\n");

suite("excerpt", () => {
  test("of 500 pages it shows the outline, the beginning, and what the question is about", () => {
    const made = documentExcerpt(tome, 16_000, "Which withholding tax do dividends bear?", { readOn });
    assert.ok(made.text.length <= 16_000 && made.text.length > 12_000, String(made.text.length));
    assert.match(
      made.text,
      /^\[1\d{6} characters in 500 sections; recall with fromSeq 12 reads it, with section one of them, with/,
    );
    assert.match(made.text, /- Page 0: Remarks \[page-0-remarks\] 2\d\d\d\n/);
    assert.match(made.text, /- and \d+ more\n/);
    assert.match(made.text, /withholding tax of 17\.5 percent/);
    assert.ok(made.text.indexOf("Page 1: Remarks\n\nNothing") < made.text.indexOf("17.5"));
    assert.match(made.text, /\[… \d+ characters left out …\]/);
    assert.equal(excerptText(tome, made.ranges, { readOn }), made.text);
  });

  test("a text that fits is shown as it is; with hardly any room only its sections are named", () => {
    assert.deepEqual(documentExcerpt("# A\nb", 100, "b", { readOn }), {
      text: "# A\nb",
      ranges: [[0, 5]],
      listed: 0,
    });
    const small = documentExcerpt(tome, 100, "tax", { readOn });
    assert.deepEqual(small.ranges, []);
    assert.ok(small.text.length <= 300, small.text);
    assert.equal(excerptText(tome, [], { readOn }), small.text);
  });

  test("for any text and room it keeps to the room, and can be made again from its ranges", () => {
    const line = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom("# tax", "## rate", "", "1.2 Tax rate", "tax ".repeat(500)),
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 60 }),
        fc.integer({ min: 400, max: 9_000 }),
        fc.constantFrom("tax rate", "", "nothing of it"),
        (lines, charsMax, query) => {
          const text = lines.join("\n");
          const made = documentExcerpt(text, charsMax, query, { readOn });
          assert.ok(made.text.length <= charsMax, `${made.text.length} of ${charsMax}`);
          assert.equal(excerptText(text, made.ranges, { readOn }), made.text);
          for (const [from, to] of made.ranges) assert.ok(from < to || text === "");
        },
      ),
    );
  });
});

suite("rank", () => {
  const candidates = entries.map(({ key, value, because = "" }) => ({
    id: key,
    title: key,
    text: value,
    note: because,
  }));
  const relevant = (query: string): readonly string[] =>
    rank(query, candidates)
      .filter(({ isRelevant }) => isRelevant)
      .map(({ id }) => id);

  test("on the labeled set it finds most of the relevant texts, and few others", () => {
    const { precision, recall } = rate(relevant);
    assert.ok(precision >= 0.85, `precision ${precision}`);
    assert.ok(recall >= 0.75, `recall ${recall}`);
    assert.ok(objectives.length > 50);
  });

  test("one shared word is not relevance, unless it is the question, or an identifier", () => {
    const few = [
      { id: "key", title: "search-api-key", text: "Kept in the vault" },
      { id: "invoice", title: "note", text: "Invoice INV-20931 was paid twice, refund sent" },
      { id: "deadline", title: "deadline", text: "1 March" },
    ];
    const found = (query: string): readonly string[] =>
      rank(query, few)
        .filter(({ isRelevant }) => isRelevant)
        .map(({ id }) => id);
    assert.deepEqual(found("Search a birthday present for grandmother's garden party"), []);
    assert.deepEqual(found("What became of number 20931 from the letter of that strange customer?"), [
      "invoice",
    ]);
    assert.deepEqual(found("When is the deadline?"), ["deadline"]);
    assert.deepEqual(found("the and of"), []);
    assert.deepEqual(rank("", few), []);
  });

  test("scores are shares, the best first, equals in the given order", () => {
    const same = ["a", "b", "c"].map((id) => ({ id, title: "tax rate", text: "" }));
    const ranked = rank("tax rate", same);
    assert.deepEqual(
      ranked.map(({ id, score, words }) => [id, score, words.toSorted()]),
      ["a", "b", "c"].map((id) => [id, 1, ["rate", "tax"]]),
    );
    fc.assert(
      fc.property(fc.array(fc.string()), fc.string(), (texts, query) => {
        const all = rank(
          query,
          texts.map((text, place) => ({ id: String(place), title: text.slice(0, 5), text })),
        );
        for (const { score } of all) assert.ok(score > 0 && score <= 1);
        assert.deepEqual(
          all.map(({ score }) => score),
          all.map(({ score }) => score).toSorted((a, b) => b - a),
        );
      }),
    );
  });
});
