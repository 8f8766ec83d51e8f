/** Agent files: Markdown with front matter, or JSON; and what is said about those that do not parse. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { SkeinError } from "../../../src/core/error.ts";
import { parseAgent } from "../../../src/runtime/workspace/agent-file.ts";

const complaintOf = (text: string, path?: string): [string, string | undefined] => {
  try {
    parseAgent(text, path === undefined ? {} : { path });
  } catch (error) {
    if (error instanceof SkeinError && error.code === "invalid") return [error.message, error.hint];
    throw error;
  }
  return ["fine", undefined];
};

test("front matter gives the fields, and the rest of the file the instructions", () => {
  const text = [
    "---",
    "name: reviewer",
    "tools: [read_file, 'record_*']",
    "permissions:",
    "  - { tool: shell, rule: ask, pattern: { command: 'git *' } }",
    "budget:",
    "  usd: 0.5",
    "onUnknown: tell",
    "---",
    "",
    "# Who you are",
    "",
    "You review.",
    "",
  ];
  const expected = {
    name: "reviewer",
    instructions: "# Who you are\n\nYou review.",
    tools: ["read_file", "record_*"],
    permissions: [{ tool: "shell", rule: "ask", pattern: { command: "git *" } }],
    budget: { usd: 0.5 },
    onUnknown: "tell",
  };
  assert.deepEqual(parseAgent(text.join("\n")), expected);
  assert.deepEqual(parseAgent(`\uFEFF${text.join("\r\n")}`), expected);
});

test("JSON says the same", () => {
  const definition = { name: "reviewer", instructions: "You review.", stepsMax: 3 };
  assert.deepEqual(parseAgent(JSON.stringify(definition, null, 2)), definition);
});

test("a file that does not name its agent gives it the name of the file, or the one at hand", () => {
  const definition = { name: "scout", instructions: "Look around." };
  assert.deepEqual(parseAgent("Look around.\n", { path: "agents/scout.md" }), definition);
  assert.deepEqual(parseAgent("---\n---\nLook around.", { name: "scout", path: "x.md" }), definition);
  assert.deepEqual(parseAgent("---\nname: scout\n---\nLook around.", { name: "other" }), definition);
  assert.deepEqual(complaintOf("Look around."), ["the agent file: name: missing", undefined]);
});

test("a mistake is reported with its line and the right spelling, without a stack trace", () => {
  const fields = "write one field per line, as `name: value`";
  const table: [string, string, string | undefined][] = [
    ["---\nname: a\nmodell: x/y\n---\nGo.", 'a.md, line 3: unknown field "modell"', 'did you mean "model"?'],
    [
      "---\nname: a\npermissions:\n  - tool: shell\n    rule: dney\n---\nGo.",
      'a.md, line 5: permissions[0].rule: expected one of allow, ask, deny, got "dney"',
      'did you mean "deny"?',
    ],
    [
      "---\nname: a\npermissions:\n  - tool: shell\n---\nGo.",
      "a.md, line 4: permissions[0].rule: missing",
      "one of allow, ask, deny",
    ],
    ["---\nname: a\ntools: read\n---\nGo.", "a.md, line 3: tools: expected a list, got a text", undefined],
    ["---\nname: a\n---\n \n", "a.md: instructions: missing", undefined],
    [
      "---\nname: a\nGo.",
      "a.md, line 1: unterminated front matter",
      "add a line with --- after the last field",
    ],
    ["---\njust words\n---\nGo.", "a.md, line 2: no fields", fields],
    ["---\n- a\n---\nGo.", "a.md, line 2: no fields", fields],
    ["---\nname: a\nname: b\n---\nGo.", "a.md, line 3: Map keys must be unique", fields],
    [
      "---\ninstructions: Go.\n---\nGo there.",
      "a.md: instructions: given both in the front matter and below it",
      "remove one of them",
    ],
    [
      '{\n  "name": "a",\n  "instructons": "Go."\n}',
      'a.md, line 3: unknown field "instructons"',
      'did you mean "instructions"?',
    ],
  ];
  for (const [text, message, hint] of table) assert.deepEqual(complaintOf(text, "a.md"), [message, hint]);
});

test("broken YAML and broken JSON are reported as such", () => {
  const [yaml] = complaintOf("---\nname: a\ntools: [read\n---\nGo.", "a.md");
  assert.match(yaml, /^a\.md, line \d: /);
  const [json] = complaintOf('{ "name": "a", }', "a.json");
  assert.match(json, /^a\.json: invalid JSON: /);
  const bomb = `---\na: &a [${"x,".repeat(9)}x]\n${Array.from("bcdefghi")
    .map((name, place) => `${name}: &${name} [${`*${"abcdefghi"[place]},`.repeat(9)}*${"abcdefghi"[place]}]`)
    .join("\n")}\n---\nGo.`;
  assert.match(complaintOf(bomb, "a.md")[0], /^a\.md: Excessive alias count/);
});

test("no text makes it fail in another way", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "---",
      "name: a",
      "tools:",
      "  - x",
      "budget: {usd: 1}",
      "{",
      "}",
      "a: &a *a",
      "? x",
      "!!js x",
    ),
    fc.string({ maxLength: 12 }),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (lines, front) => {
      const [message] = complaintOf([...(front ? ["---"] : []), ...lines].join("\n"), "a.md");
      assert.ok(message === "fine" || (message.startsWith("a.md") && !message.includes("\n")));
    }),
    { numRuns: 300 },
  );
});

test("the examples are agents", () => {
  const folder = join(import.meta.dirname, "../../../examples/agents");
  const files = readdirSync(folder);
  assert.ok(files.length >= 2);
  for (const file of files) {
    const { name } = parseAgent(readFileSync(join(folder, file), "utf8"), { path: file });
    assert.equal(`${name}.md`, file);
  }
});
