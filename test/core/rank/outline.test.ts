/** Outlines of documents: sections with names, for texts of every form. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { findSection, outlineOf, sectionCharsMax } from "../../../src/core/rank/outline.ts";

const shape = (text: string, path: string | null = null): readonly string[] =>
  outlineOf(text, path).map(({ name, title, level }) => `${level} ${name}: ${title}`);

suite("outline", () => {
  test("headings of Markdown, also underlined ones, but not those in code", () => {
    const text = [
      "Before.",
      "# Rates ##",
      "```sh\n# no heading\n```",
      "",
      "Reduced rate",
      "------------",
      "7 %",
      "#hashtag",
      "### Rates",
      "1. First step",
    ].join("\n");
    assert.deepEqual(shape(text), [
      "0 part-1: Before.",
      "1 rates: Rates",
      "2 reduced-rate: Reduced rate",
      "3 rates.2: Rates",
    ]);
  });

  test("numbered headings and capitals of plain text, but no lists", () => {
    const text = [
      "TERMS OF SERVICE",
      "",
      "1. Scope",
      "",
      "1. buy milk",
      "2. sell milk",
      "",
      "1.2 Exceptions",
      "None.",
      "",
      "§ 12 Kündigung",
      "",
      "Article 5: Liability",
      "",
      "Article 6 applies too,",
    ].join("\n");
    assert.deepEqual(shape(text), [
      "1 terms-of-service: TERMS OF SERVICE",
      "1 1-scope: 1. Scope",
      "2 1-2-exceptions: 1.2 Exceptions",
      "1 12-kündigung: § 12 Kündigung",
      "3 article-5-liability: Article 5: Liability",
    ]);
  });

  test("declarations of code, by the path", () => {
    const text =
      "import x;\n\nexport async function pay(a) {\n  const b = 1;\n}\nclass Till {}\n# no heading\n";
    assert.deepEqual(shape(text, "src/pay.ts"), [
      "0 part-1: import x;",
      "1 export-async-function-pay-a: export async function pay(a)",
      "1 class-till: class Till",
    ]);
  });

  test("a long section has parts, and its end is the end of all; a subsection belongs to it", () => {
    const long = "A sentence of some length. ".repeat(200);
    const text = `# One\n${long}\n## Below\nx\n# Two\ny`;
    const sections = outlineOf(text);
    assert.deepEqual(
      sections.map(({ name, part }) => [name, part]),
      [
        ["one", 1],
        ["one~2", 2],
        ["below", 1],
        ["two", 1],
      ],
    );
    assert.equal(sections[0]?.end, text.indexOf("# Two"));
    assert.equal(sections[1]?.end, text.indexOf("## Below"));
  });

  test("a text without headings has parts that open with their words", () => {
    const text = Array.from({ length: 300 }, (_, place) => `Paragraph ${place} says little.\n\n`).join("");
    const sections = outlineOf(text);
    assert.equal(sections.length, 3);
    assert.deepEqual(sections.map(({ name }) => name).slice(0, 2), ["part-1", "part-2"]);
    assert.match(sections[1]?.title ?? "", /^Paragraph \d+ says little/);
    assert.deepEqual(outlineOf(" \n "), []);
    assert.deepEqual(outlineOf(""), []);
  });

  test("a section is found by its name, its title or its number", () => {
    const sections = outlineOf("# 3.2 Reduced rates\nx\n# 3.21 Other\ny\n# 4. Ends\nz");
    const named = (wanted: string): string | undefined => findSection(sections, wanted)?.title;
    assert.equal(named("3-2-reduced-rates"), "3.2 Reduced rates");
    assert.equal(named("3.2 reduced RATES"), "3.2 Reduced rates");
    assert.equal(named("3.2"), "3.2 Reduced rates");
    assert.equal(named("4"), "4. Ends");
    assert.equal(named("9"), undefined);
  });

  test("sections cover any text without gaps, with unique names and bounded length", () => {
    const line = fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }),
      fc.constantFrom("# a", "## a", "", "===", "1. Item", "1.2 Item", "```", "PART IV", "x".repeat(9_000)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.constantFrom(null, "a.ts"), (lines, path) => {
        const text = lines.join("\n");
        const sections = outlineOf(text, path);
        let at = 0;
        for (const { from, to, end } of sections) {
          assert.equal(from, at);
          assert.ok(to - from <= sectionCharsMax && end >= to && end <= text.length);
          at = to;
        }
        assert.equal(at, sections.length === 0 ? 0 : text.length);
        assert.equal(new Set(sections.map(({ name }) => name)).size, sections.length);
        for (const section of sections) assert.equal(findSection(sections, section.name), section);
      }),
    );
  });

  test("hostile texts of two megabytes take linear time and have few sections", () => {
    const size = 2_000_000;
    const texts = [
      "#",
      "# a\n",
      "\n",
      "1.1.1.1.1 A\n\n",
      "§ ",
      " ",
      "\u{1F600}",
      "```\n",
      "A\n===\n\n",
      "a\u0301",
    ];
    for (const unit of texts) {
      const text = unit.repeat(size / unit.length);
      const before = process.cpuUsage();
      const sections = outlineOf(text);
      const { user } = process.cpuUsage(before);
      assert.ok(user < 3_000_000, `${JSON.stringify(unit)}: ${user} µs`);
      assert.ok(sections.length <= 2_001 + size / 1_000, `${JSON.stringify(unit)}: ${sections.length}`);
    }
  });
});
