/** The Markdown of models is rendered with its structure, and can do nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseMarkdown, type MarkdownNode } from "../../src/console/view/session/markdown.ts";

/** `<p>text <code>code</code></p>`, with the attributes that an element has. */
function shown(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === "string") return node;
      const { tag, children, ...attributes } = node;
      const given = Object.entries(attributes).map(([name, value]) => ` ${name}=${value}`);
      return `<${tag}${given.join("")}>${shown(children)}</${tag}>`;
    })
    .join("");
}
const parsed = (...lines: readonly string[]): string => shown(parseMarkdown(lines.join("\n")));

test("paragraphs, headings, quotes, rules and code are distinguished", () => {
  assert.equal(
    parsed(
      "# What was found",
      "",
      "Two lines",
      "of one paragraph with `code`, **weight**, *stress* and ~~regret~~.",
      "",
      "> said",
      "> so",
      "---",
      "```ts",
      "const a = `1`;",
      "",
      "# no heading",
      "```",
    ),
    "<h1>What was found</h1><p>Two lines\nof one paragraph with <code>code</code>, " +
      "<strong>weight</strong>, <em>stress</em> and <s>regret</s>.</p>" +
      "<blockquote><p>said\nso</p></blockquote><hr></hr>" +
      "<pre language=ts>const a = `1`;\n\n# no heading</pre>",
  );
});

test("lists are nested, and numbered from their first number", () => {
  assert.equal(
    parsed("- one", "  goes on", "  - inner", "", "3. three", "4. four"),
    "<ul><li><span>one\ngoes on</span><ul><li><span>inner</span></li></ul></li></ul>" +
      "<ol start=3><li><span>three</span></li><li><span>four</span></li></ol>",
  );
});

test("tables have a head and the alignment of their columns", () => {
  assert.equal(
    parsed("| a | b |", "|---|--:|", "| 1 | `2` |"),
    "<table><thead><tr><th>a</th><th align=right>b</th></tr></thead>" +
      "<tbody><tr><td>1</td><td align=right><code>2</code></td></tr></tbody></table>",
  );
});

test("a fence that has not ended yet is code to the end", () => {
  assert.equal(parsed("```", "half"), "<pre language=>half</pre>");
});

test("marks without their other half stay as they are written", () => {
  for (const text of ["a ` b", "a ** b", "2 ** 3 ** 4", "``", "`` `"])
    assert.equal(parsed(text), `<p>${text}</p>`);
});

test("links lead to http, https and mailto only", () => {
  const link = (href: string): string => `<p><a href=${href}>x</a></p>`;
  for (const href of ["https://example.org/a?b=1", "http://example.org", "mailto:a@example.org"])
    assert.equal(parsed(`[x](${href})`), link(href));
  assert.equal(
    parsed("see https://example.org/a."),
    "<p>see <a href=https://example.org/a>https://example.org/a</a>.</p>",
  );
  const bad = ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java&#115;cript:alert(1)", "data:text/html,x"];
  for (const href of [
    ...bad,
    "vbscript:x",
    "file:///etc/passwd",
    "//example.org",
    "/v1/tokens",
    "#a",
    "blob:x",
  ])
    assert.doesNotMatch(parsed(`[x](${href}) <${href}> ![x](${href}) [y]\n\n[y]: ${href}`), /<a|href=/, href);
});

test("markup stays text, and images are not loaded", () => {
  const text = '<script>alert(1)</script> <img src=x onerror="alert(1)">';
  assert.equal(parsed(text), `<p>${text}</p>`);
  assert.equal(parsed(`<div onclick="a()">`, "", "b"), `<p><div onclick="a()"></p><p>b</p>`);
  assert.equal(
    parsed("![a picture](https://evil.example/x.png)"),
    "<p>a picture (https://evil.example/x.png)</p>",
  );
});

const tags = new Set(
  "p h1 h2 h3 h4 h5 h6 ul ol li blockquote strong em s a code pre hr br span"
    .split(" ")
    .concat("table thead tbody tr th td".split(" ")),
);

test("nothing but known elements comes out, and no word is lost", () => {
  const pieces = [
    "a",
    "`",
    "```",
    "**",
    " ",
    "\n",
    "- ",
    "# ",
    "> ",
    "| ",
    "1. ",
    "[",
    "](http://x)",
    "<b>",
    "\n\n",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces)), (list) => {
      const text = list.join("");
      let letters = 0;
      const visit = (nodes: readonly MarkdownNode[]): void => {
        for (const node of nodes) {
          if (typeof node === "string") letters += node.split("a").length - 1;
          else {
            assert.ok(tags.has(node.tag), node.tag);
            letters += (node.language ?? "").split("a").length - 1;
            visit(node.children);
          }
        }
      };
      visit(parseMarkdown(text));
      assert.ok(letters <= text.split("a").length - 1);
      if (!text.includes("|")) assert.equal(letters, text.split("a").length - 1);
    }),
  );
});

test("hostile texts are parsed in time that grows with their length alone", () => {
  const units = [
    "`",
    "**a",
    "``x`",
    "- ",
    "a`",
    "> ",
    "-\n",
    "\n",
    "| ",
    "#",
    "```\n",
    " ",
    "* * ",
    "1. ",
    "~",
  ];
  const more = ["[", "![", "[a](", "<", "&", "a@", "http://a ", "_a", "|-\n", "\\", "[a][", "> - ", "<!--"];
  for (const unit of [...units, ...more]) {
    const text = unit.repeat(Math.ceil(200_000 / unit.length));
    // Of this process, since others may have the processor for seconds.
    const begun = process.cpuUsage();
    parseMarkdown(text);
    const { user } = process.cpuUsage(begun);
    const ms = user / 1_000;
    assert.ok(ms < 5_000, `${JSON.stringify(unit)} took ${ms} ms`);
  }
});
