/** Keeps the code small and its names honest; the rules are in tidy.ts, with what to do instead. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Rule } from "./source.ts";
import { assertKept, assertTells, readSources, root } from "./source.ts";
import * as tidy from "./tidy.ts";

const code = ["src", "test", "bench", "examples"];
const everywhere: readonly Rule[] = [
  tidy.fileLength,
  tidy.functionLength,
  tidy.unitLength,
  tidy.lineLength,
  tidy.fileName,
  tidy.emptyName,
  tidy.shape,
  tidy.leftover,
];

test("all code keeps the rules of size, naming and shape", () => {
  assertKept(readSources(...code), ...everywhere);
});

test("src uses the words of the glossary, and every file describes itself", () => {
  assertKept(readSources("src"), tidy.avoidedWord, tidy.wholeZod, tidy.header);
});

test("Markdown keeps to the width, tables and the generated catalogue aside", () => {
  const paths = globSync(["*.md", "docs/**/*.md"], {
    cwd: root,
    exclude: ["docs/event-catalog.md", "docs/calls.md", "docs/cli.md", "docs/built-in-tools.md"],
  });
  assert.ok(paths.length > 0, "the rule saw no files");
  const texts = paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
  assert.deepEqual(texts.flatMap(tidy.lineLength), []);
});

const lines = (count: number) => "let a = 1;\n".repeat(count);
const path = "src/core/a.ts";

test("a file has at most 500 lines", () => {
  assertTells(tidy.fileLength, { path, good: lines(500), bad: lines(501), says: /501 lines, at most 500/ });
  const header = "/** One subject: the engine. */\n";
  const good = header + lines(699);
  assertTells(tidy.fileLength, { path, good, bad: header + lines(700), says: /701 lines, at most 700/ });
});

test("a function has at most 70 lines, a describe block any number", () => {
  const factory = `function f() {\n${lines(60)}const g = () => {\n${lines(60)}};\n}`;
  const good = `function f() {\n${lines(68)}}\ndescribe("x", () => {\n${lines(200)}});\n${factory}`;
  assertTells(tidy.functionLength, {
    path,
    good,
    bad: `const f = () => {\n${lines(69)}}`,
    says: /:1: .* 71 lines/,
  });
});

test("a class or a factory of closures has at most 300 lines", () => {
  const closures = (count: number) => "const g = () => {\n  h();\n};\n".repeat(count);
  assertTells(tidy.unitLength, {
    path,
    good: `function f() {\n${closures(99)}}`,
    bad: `function f() {\n${closures(100)}}`,
    says: /:1: 302 lines that share state, at most 300/,
  });
});

test("a line has at most 110 columns", () => {
  const line = (columns: number) => `// ${"é".repeat(columns - 3)}`;
  assertTells(tidy.lineLength, { path, good: line(110), bad: `\n${line(111)}`, says: /:2: 111 columns/ });
  assert.deepEqual(tidy.lineLength({ path: "docs/a.md", text: `| ${"x".repeat(200)} |` }), []);
  assert.equal(tidy.lineLength({ path: "docs/a.md", text: "x".repeat(111) }).length, 1);
});

test("file and folder names are kebab nouns, and there is one index", () => {
  const name = { path: "src/core/merge-base.ts", good: "", bad: "" };
  assertTells(tidy.fileName, { ...name, badPath: "src/core/utils.ts", says: /"utils" accepts anything/ });
  assertTells(tidy.fileName, { ...name, badPath: "src/shared/lease.ts", says: /"shared" accepts anything/ });
  assertTells(tidy.fileName, { ...name, badPath: "src/core/mergeBase.ts", says: /kebab/ });
  assertTells(tidy.fileName, { ...name, badPath: "src/core/index.ts", says: /only src\/index.ts/ });
  assert.deepEqual(tidy.fileName({ path: "src/index.ts", text: "" } as never), []);
});

test("names hold no empty words", () => {
  const good = "type MergeBase = 1; function parseLease() {} const dataset = 1; class Renewal {}";
  const names = [
    "class LeaseManager {}",
    "interface NewSession {}",
    "type BaseStore = 1;",
    "type SessionInfo = 1;",
  ];
  for (const bad of [...names, "function openV2() {}", "const sessionData = 1;"]) {
    assertTells(tidy.emptyName, { path, good, bad, says: /says nothing/ });
  }
});

test("src avoids the words that the glossary avoids", () => {
  const good = 'const both = { role: "assistant" }; const session = both;';
  for (const bad of ["type ChatLog = 1;", "const threads = 1;", "function openConversation() {}"]) {
    assertTells(tidy.avoidedWord, { path, good, bad, says: /say "session"/ });
  }
  const bad = "const assistantMessage = 1;";
  const example = { path: "src/model/ai-sdk.ts", badPath: path, good: bad, bad, says: /say "agent"/ };
  assertTells(tidy.avoidedWord, example);
});

test("no enum, namespace, default export or star export", () => {
  const good = 'export const a = 1; export { b } from "./b.ts"; declare global {}';
  const shapes = ["enum A { b }", "namespace A {}", "export default 1;", 'export * from "./b.ts";'];
  for (const bad of [...shapes, "const a = 1; export { a as default };"]) {
    assertTells(tidy.shape, { path, good, bad, says: /:1: no / });
  }
});

test("zod is imported so that bundles can drop unused parts", () => {
  const bad = 'import { z } from "zod";';
  for (const good of [
    'import * as z from "zod";',
    'import type { z } from "zod";',
    'import { z } from "./z.ts";',
  ])
    assertTells(tidy.wholeZod, { path, good, bad, says: /:1: write `import \* as z/ });
});

test("a file of src begins with a sentence about itself", () => {
  for (const bad of ["let a = 1;", "/** nameless */\nlet a = 1;", "// A comment.\nlet a = 1;"]) {
    assertTells(tidy.header, {
      path,
      good: "#!/usr/bin/env node\n/** Says why. */\n",
      bad,
      says: /begin with/,
    });
  }
});

test("no leftovers in comments", () => {
  assertTells(tidy.leftover, { path, good: 'const a = "TODO";', bad: "\n// TODO: later", says: /:2: TODO/ });
});
