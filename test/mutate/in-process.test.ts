/**
 * Screening in one process: a mutant that a test notices is caught, another is not. What nothing handles is
 * noticed.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseSource } from "../repo/source.ts";
import { screen } from "./in-process.ts";
import { mutantsOf } from "./mutant.ts";

const source = `export const isFull = (count: number): boolean => count >= 3;
export const unused = (count: number): boolean => count > 7;
export function tellLater(count: number): void {
  if (count === 5) void Promise.reject(new Error("nobody waits for it"));
}
`;
const tests = `import assert from "node:assert/strict";
import { test } from "node:test";
import { isFull, tellLater } from "../src/a.ts";
test("full", () => assert.deepEqual([2, 3].map(isFull), [false, true]));
test("later", async () => {
  tellLater(6);
  await new Promise((resolve) => setTimeout(resolve, 10));
});
`;

test("the tests distinguish mutants, each with a fresh instance of the file", async (t) => {
  const tree = mkdtempSync(join(tmpdir(), "skein-screen-"));
  t.after(() => rmSync(tree, { recursive: true, force: true }));
  for (const folder of ["src", "test"]) mkdirSync(join(tree, folder));
  writeFileSync(join(tree, "package.json"), '{ "type": "module" }');
  writeFileSync(join(tree, "src/a.ts"), source);
  writeFileSync(join(tree, "test/a.test.ts"), tests);
  const mutants = mutantsOf(parseSource("src/a.ts", source));
  const caught = await screen(tree, mutants, ["test/a.test.ts"]);
  assert.deepEqual(
    mutants.map((mutant) => [mutant.line, mutant.from, caught.has(mutant)]),
    [
      [1, ">=", true],
      [1, "3", true],
      [2, ">", false],
      [2, "7", false],
      [4, "count === 5", true],
      [4, "count === 5", false],
      [4, "===", true],
      [4, "5", true],
      [4, 'void Promise.reject(new Error("nobody waits for it"));', false],
    ],
  );
});
