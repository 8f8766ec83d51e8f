/** Globs, finding and searching, and what bounds them. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileTools } from "../../src/tool/files.ts";
import { globMatcher } from "../../src/core/text/glob.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import { openRoot } from "../../src/tool/root.ts";
import { callTool, failure, openFolder } from "./calling.ts";

async function openTree(
  files: Readonly<Record<string, string | Buffer>>,
): Promise<AsyncDisposable & { readonly tools: readonly OuterTool[]; readonly path: string }> {
  const folder = await openFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder.path, path, ".."), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  const root = await openRoot({ kind: "directory", name: "tree", mode: "read", path: folder.path });
  return { ...folder, tools: fileTools([root]) };
}

test("globs match as people expect", () => {
  const cases: readonly [string, readonly string[], readonly string[]][] = [
    ["*.ts", ["a.ts", "x/y/a.ts", ".ts"], ["a.tsx", "a.ts/b"]],
    ["src/*.ts", ["src/a.ts"], ["src/x/a.ts", "a.ts", "lib/src/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["lib/a.ts"]],
    ["src/**", ["src/a", "src/x/y"], ["lib/src"]],
    ["**/x/**/z", ["x/z", "a/x/b/x/z"], ["x/zz", "z"]],
    ["./a?.{js,ts}", ["q/ab.ts", "ab.js"], ["a.ts", "abc.ts"]],
    ["[a-c][!0-9].md", ["bx.md"], ["b1.md", "dx.md"]],
    ["a\\*[", ["a*["], ["ab["]],
    ["{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c", "{a}"]],
    ["日?語*", ["日本語.txt"], ["日語"]],
  ];
  for (const [pattern, yes, no] of cases) {
    const matches = globMatcher(pattern);
    assert.deepEqual(
      [pattern, yes.filter((path) => !matches(path)), no.filter((path) => matches(path))],
      [pattern, [], []],
    );
  }
  const slow = globMatcher(`${"*a".repeat(200)}b`);
  assert.equal(slow("a".repeat(4_000)), false);
  assert.throws(() => globMatcher("{a,b}".repeat(10)), /more than 100 alternatives/);
  assert.throws(() => globMatcher("a".repeat(501)), /1 to 500 characters/);
  assert.throws(() => globMatcher(""), /1 to 500 characters/);
});

test("files are found by name, and large and generated ones are left out", async () => {
  await using tree = await openTree({
    "a.ts": "",
    "src/b.ts": "",
    "src/deep/c.ts": "",
    "node_modules/m/d.ts": "",
    ".git/e.ts": "",
  });
  const find = async (input: object) => (await callTool(tree.tools, "find_files", input)).text;
  assert.equal(await find({ pattern: "*.ts" }), "a.ts\nsrc/b.ts\nsrc/deep/c.ts");
  assert.equal(await find({ pattern: "deep/*.ts", path: "src" }), "src/deep/c.ts");
  assert.equal(await find({ pattern: "src/**", path: "src" }), "src/b.ts\nsrc/deep/c.ts");
  assert.equal(await find({ pattern: "node_modules/**/*.ts" }), "node_modules/m/d.ts");
  assert.equal(await find({ pattern: "*.ts", path: "node_modules" }), "node_modules/m/d.ts");
  assert.equal(await find({ pattern: "*.py" }), "no file matches");
  assert.equal(await failure(find({ pattern: "*", path: "gone" })), "not-found: gone does not exist");
});

test("more than a thousand found files are cut, and it says so", async () => {
  const names = Array.from({ length: 1_001 }, (_, n) => [`f${String(n).padStart(4, "0")}`, ""]);
  await using tree = await openTree(Object.fromEntries(names) as Record<string, string>);
  const { text } = await callTool(tree.tools, "find_files", { pattern: "*" });
  assert.match(text, /\nf0999\n\[stopped after 1000; narrow it down\]$/);
  const listed = await callTool(tree.tools, "list_files", {});
  assert.match(listed.text, /\nf0999\n\[and 1 more\]$/);
});

test("lines are searched, without large and binary files", async () => {
  await using tree = await openTree({
    "a.ts": "const rate = 4.1;\r\nconst Rate = 4.2;\n",
    "b.md": "the rate\n\nis high",
    "c.bin": "rate\0",
    "d.txt": `${"x".repeat(5_242_881)}rate`,
    "e.txt": `${"y".repeat(500)}rate`,
  });
  const grep = async (input: object) =>
    (await callTool(tree.tools, "grep_files", { pattern: "rate", ...input })).text;
  const large = "\n[too large to be searched: d.txt]";
  assert.equal(
    await grep({}),
    `a.ts:1: const rate = 4.1;\nb.md:1: the rate\ne.txt:1: ${"y".repeat(400)}…${large}`,
  );
  assert.equal(
    await grep({ ignoreCase: true, files: "*.ts" }),
    "a.ts:1: const rate = 4.1;\na.ts:2: const Rate = 4.2;",
  );
  assert.equal(await grep({ pattern: "^is \\p{L}+$", path: "b.md" }), "b.md:3: is high");
  assert.equal(await grep({ pattern: "\\-\\d", path: "b.md" }), "no line matches");
  assert.match(await failure(grep({ pattern: "(" })), /^invalid: invalid regular expression/);
});

test("at most two hundred lines are given", async () => {
  await using tree = await openTree({ "a.txt": "x\n".repeat(200), "b.txt": "x\n" });
  const grep = async (path?: string) =>
    (await callTool(tree.tools, "grep_files", { pattern: "x", path })).text;
  assert.match(await grep("a.txt"), /\na\.txt:200: x$/);
  assert.match(await grep(), /\na\.txt:200: x\n\[stopped after 200; narrow it down\]$/);
});

test("an expression that takes for ever holds up nothing and ends with the call", async () => {
  await using tree = await openTree({ "a.txt": `${"a".repeat(40)}b` });
  const call = new AbortController();
  const searching = callTool(tree.tools, "grep_files", { pattern: "^(a+)+$" }, call.signal);
  const begun = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(performance.now() - begun < 1_000, "the event loop goes on meanwhile");
  call.abort();
  assert.match(await failure(searching), /^refused: the search timed out/);
});
