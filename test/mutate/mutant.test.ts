/** Mutation testing: which changes are planted, where, and which tests are asked about them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseSource, root } from "../repo/source.ts";
import { equivalent } from "./equivalent.ts";
import { guarded } from "./guarded.ts";
import { mutantsOf } from "./mutant.ts";
import { importsOf, nearTests } from "./near.ts";
import { runRanges, testsFor, type Reach } from "./reach.ts";

const planted = (text: string): string[] =>
  mutantsOf(parseSource("src/core/a.ts", text)).map(({ line, from, to }) => `${line}: ${from} → ${to}`);

test("operators, conditions, literals and calls are changed", () => {
  assert.deepEqual(planted("export const isFull = (a: number): boolean => a >= 1 && !done;"), [
    "1: >= → >",
    "1: 1 → (1 + 1)",
    "1: && → ||",
    "1: ! → ",
  ]);
  assert.deepEqual(planted("if (open) close();\nfor (const one of all) await one.end();"), [
    "1: open → true",
    "1: open → false",
    "1: close(); → ;",
    "2: await one.end(); → ;",
  ]);
  assert.deepEqual(planted("const a = b ? c.some(d) : true;"), [
    "1: b → !(b)",
    "1: some → every",
    "1: true → false",
  ]);
});

test("types, imports and error texts are not mutated, a throw is", () => {
  assert.deepEqual(planted('import { a } from "./b.ts";\ntype A = 1 | true;\nlet c: A & { d: 2 };'), []);
  assert.deepEqual(planted('throw new SkeinError("refused", `at most ${limit - 1}` + "x");'), [
    '1: throw new SkeinError("refused", `at most ${limit - 1}` + "x"); → ;',
  ]);
  assert.deepEqual(planted("const a = `${b + 1}`;"), []);
});

test("a mutant is given to the tests that run its place, the nearest and fastest first", () => {
  const file = "src/core/a.ts";
  const reach = (name: string, ms: number, ran: Reach["ran"], ok = true): Reach => ({
    test: `test/${name}.test.ts`,
    ok,
    ms,
    ran,
    digests: {},
  });
  const reaches = [
    reach("server/far", 1, { [file]: [[0, 50]] }),
    reach("core/b", 900, { [file]: [[0, 50]] }),
    reach("core/c", 100, { [file]: [[0, 50]] }),
    reach("core/a", 5_000, { [file]: [[10, 20]] }),
    reach("core/elsewhere", 1, { [file]: [[60, 70]] }),
    reach("core/red", 1, { [file]: [[0, 50]] }, false),
    reach("core/other", 1, {}),
  ];
  const names = (at: number): string[] => testsFor(reaches, file, at).map(({ test }) => test);
  const near = [
    "test/core/a.test.ts",
    "test/core/c.test.ts",
    "test/core/b.test.ts",
    "test/server/far.test.ts",
  ];
  assert.deepEqual(names(15), near);
  assert.deepEqual(names(65), ["test/core/elsewhere.test.ts"]);
  assert.deepEqual(names(80), []);
});

test("the tests near a file are those named after it, then those that import it", () => {
  const text =
    'import { a } from "./b.ts";\nimport type { C } from "../c.ts";\nexport {\n  d,\n} from "../d.ts";';
  assert.deepEqual(importsOf("src/core/a.ts", text), ["src/core/b.ts", "src/d.ts"]);
  const near = nearTests(root, "src/core/budget/money.ts", 5);
  assert.equal(near.length, 5);
  assert.equal(near[0], "test/core/money.test.ts");
});

test("a place ran if the innermost range around it ran", () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({
    startOffset,
    endOffset,
    count,
  });
  const called = { ranges: [range(10, 60, 2), range(20, 30, 0)] };
  const idleInside = { ranges: [range(40, 50, 0)] };
  assert.deepEqual(runRanges([{ ranges: [range(0, 100, 1)] }, called, idleInside]), [
    [0, 20],
    [30, 40],
    [50, 100],
  ]);
  assert.deepEqual(runRanges([]), []);
});

test("every guarded file is there, and every equivalent mutant has a reason", () => {
  const files = Object.values(guarded).flat();
  for (const file of files) assert.ok(existsSync(join(root, file)), file);
  assert.equal(new Set(files).size, files.length);
  for (const { file, line, from, why } of equivalent) {
    assert.ok(files.includes(file), file);
    assert.ok(line.includes(from.split("\n")[0] ?? ""), line);
    assert.ok(why.length > 20, `${file}: ${line}`);
  }
});
