/** The table of the tests that run on both stores is whole. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { groups, table } from "./again.ts";

const root = join(import.meta.dirname, "..");

test("every test of engine, crashes and command line runs on PostgreSQL, or says why not", () => {
  const files = globSync("{runtime,crash,cli}/**/*.test.ts", { cwd: root }).toSorted();
  assert.ok(files.length > 90, `only ${files.length} files were found`);
  assert.deepEqual(Object.keys(table).toSorted(), files);
  for (const [file, how] of Object.entries(table))
    assert.ok(typeof how === "number" || how.length > 20, `${file} has no reason`);
});

test("every group of the table has a file that runs it", () => {
  const numbers = globSync("postgres/again-*.test.ts", { cwd: root }).map((file) =>
    Number(/\d+/.exec(file)?.[0]),
  );
  assert.deepEqual(
    numbers.toSorted((one, other) => one - other),
    [...groups],
  );
  assert.deepEqual(new Set(Object.values(table).filter((how) => typeof how === "number")), new Set(groups));
});
