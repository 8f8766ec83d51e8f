/** What models write is shown with a little structure, and can do nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { piecesOf, spansOf, type Piece, type Span } from "../../src/console/view/session/markdown.ts";

const plain = (text: string): Span => ({ kind: "plain", text });

test("paragraphs, headings, lists, quotes, rules and code are told apart", () => {
  const text = [
    "# What was found",
    "",
    "Two lines",
    "of one paragraph with `code` and **weight**.",
    "- one",
    "  goes on",
    "  - inner",
    "2. two",
    "> said",
    "> so",
    "---",
    "```ts",
    "const a = `1`;",
    "",
    "# no heading",
    "```",
    "| a | b |",
    "| 1 | 2 |",
  ].join("\n");
  assert.deepEqual(piecesOf(text), [
    { kind: "heading", level: 1, spans: [plain("What was found")] },
    {
      kind: "paragraph",
      spans: [
        plain("Two lines\nof one paragraph with "),
        { kind: "code", text: "code" },
        plain(" and "),
        { kind: "strong", text: "weight" },
        plain("."),
      ],
    },
    {
      kind: "list",
      items: [
        { depth: 0, number: null, spans: [plain("one\ngoes on")] },
        { depth: 1, number: null, spans: [plain("inner")] },
        { depth: 0, number: "2.", spans: [plain("two")] },
      ],
    },
    { kind: "quote", spans: [plain("said\nso")] },
    { kind: "rule" },
    { kind: "code", language: "ts", text: "const a = `1`;\n\n# no heading", closed: true },
    { kind: "code", language: "", text: "| a | b |\n| 1 | 2 |", closed: true },
  ] satisfies Piece[]);
});

test("a fence that has not ended yet is code to the end", () => {
  assert.deepEqual(piecesOf("```\nhalf"), [{ kind: "code", language: "", text: "half", closed: false }]);
});

test("marks without their other half stay as they are written", () => {
  for (const text of ["a ` b", "a ** b", "2 ** 3 ** 4", "``", "****", "`` `"])
    assert.deepEqual(spansOf(text), [plain(text)]);
});

test("markup and addresses stay text", () => {
  const text = '<script>alert(1)</script> [here](javascript:alert(1)) <img src=x onerror="alert(1)">';
  assert.deepEqual(piecesOf(text), [{ kind: "paragraph", spans: [plain(text)] }]);
});

test("nothing that was written is lost but the marks", () => {
  const words = fc.array(
    fc.constantFrom("a", "`", "``", "```", "**", " ", "\n", "- ", "# ", "> ", "|", "1. "),
  );
  fc.assert(
    fc.property(words, (list) => {
      const text = list.join("");
      const said = JSON.stringify(piecesOf(text));
      const letters = (one: string): number => one.split("a").length - 1;
      const names = letters(JSON.stringify(piecesOf(text).map(skeleton)));
      // A fence's language is kept beside its text.
      assert.equal(letters(said) - names, letters(text));
    }),
  );
});

/** The piece without what was said in it. */
function skeleton(piece: Piece): unknown {
  const bare = (spans: readonly Span[]): unknown => spans.map(({ kind }) => ({ kind, text: "" }));
  if (piece.kind === "code") return { ...piece, text: "", language: "" };
  if (piece.kind === "list")
    return { ...piece, items: piece.items.map((item) => ({ ...item, spans: bare(item.spans) })) };
  return piece.kind === "rule" ? piece : { ...piece, spans: bare(piece.spans) };
}

test("5 MB of anything is read in time that grows with its length alone", () => {
  const worst = ["`", "**a", "``x`", "- "].map((unit) => [unit, 5_000_000] as const);
  const others = ["a`", "> ", "-\n", "\n", "| ", "#", "```\n", " ", "* * ", "1. ", "~"];
  for (const [unit, size] of [...worst, ...others.map((one) => [one, 500_000] as const)]) {
    const text = unit.repeat(Math.ceil(size / unit.length));
    const begun = performance.now();
    assert.ok(piecesOf(text).length >= 0);
    assert.ok(performance.now() - begun < 20_000, `${JSON.stringify(unit)} took too long`);
  }
});
