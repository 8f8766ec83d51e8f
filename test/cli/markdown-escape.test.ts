/** Markdown for people: HTML is made plain, and code is left as it was written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeHtml } from "../../src/cli/format/markdown-escape.ts";
import { makeFolder, skeinIn } from "./skein.ts";

/** Lines as they are, with `«` where a `<` must be escaped. */
const cases: Readonly<Record<string, readonly string[]>> = {
  "text is escaped": ["a «b> c", "«script>"],
  "a fence is left alone": ["see «x>", "```html", "<div>", "", "a < b && c > d", "```", "«b>"],
  "a fence of tildes, with backticks inside": ["~~~ `x`", "<a>", "```", "<b>", "~~~", "«c>"],
  "a longer fence holds shorter ones": ["````md", "```", "<a>", "```", "<b>", "````", "«c>"],
  "a fence that is never closed reaches to the end": ["```", "<a>", "", "<b>"],
  "a fence below a list item": ["1. Run:", "   ```sh", "   cat <file", "   ```", "2. «b>"],
  "three backticks in a line of text are a span": ["```a <b> c``` «d>", "```", "<e>", "```"],
  "spans of code": ["`a < b` «c> ``d ` <e>`` «f>"],
  "a span that goes over lines is not certain": ["`a «b>", "«c>` `«d>`", "", "`<e>`"],
  "an escaped backtick opens no span": ["\\`«a>`", "`«b>`", "", "`<c>`"],
  "cells of a table cut a span": ["| `a | «b>` |"],
  "a list item may end its fence": ["- a", "  ```", "  <b>", "«script>", "```", "«c>", "```", "«d>"],
  "a fence of a list item may be closed further right": ["- a", "  ```", "     ```", "  «script>"],
  "a fence behind a list's sign is not certain": ["- ```", "  «a>", "  ```", "«script>"],
  "an indented fence may be part of a paragraph": ["text", "    ```", "    «a>", "    ```", "«script>"],
};

for (const [name, lines] of Object.entries(cases)) {
  test(name, () => {
    const given = lines.join("\n").replaceAll("«", "<");
    assert.deepEqual(
      escapeHtml(given),
      lines.map((line) => line.replaceAll("«", "\\<")),
    );
  });
}

test("hostile lines take linear time", () => {
  const started = performance.now();
  for (const line of ["-".repeat(1e6), " ".repeat(1e6), "` ".repeat(5e5), "1. ".repeat(3e5), "`".repeat(1e6)])
    escapeHtml(line);
  assert.ok(performance.now() - started < 5_000);
});

test("the Markdown export shows code as it was written", async () => {
  const skein = skeinIn(makeFolder());
  const [opened] = await skein.look("open", "Page");
  const id = String(opened!["id"]);
  await skein.look("input", id, "Fix <b>this</b>:\n```tsx\nreturn <div>{a < b}</div>;\n```\nand `<i>`");
  const { stdout } = await skein.here("export", id, "--format", "markdown");
  const page = Buffer.from(stdout, "latin1").toString("utf8");
  assert.ok(
    page.includes("> Fix \\<b>this\\</b>:\n> ```tsx\n> return <div>{a < b}</div>;\n> ```\n> and `<i>`"),
  );
});
