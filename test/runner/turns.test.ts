/** Files that run in turns: over the seeds each of them runs, and each is a file that exists. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesInTurns, leftOutBy } from "./turns.ts";

const root = join(import.meta.dirname, "../..");

test("every file that runs in turns exists, and some seed runs it", () => {
  assert.deepEqual(
    filesInTurns.filter((file) => !existsSync(join(root, file))),
    [],
  );
  for (const file of filesInTurns) {
    const runs = [7, 8].filter((seed) => !leftOutBy(seed).includes(file));
    assert.equal(runs.length, 1, file);
  }
  assert.equal(new Set(filesInTurns).size, filesInTurns.length);
});

test("a seed up to the greatest leaves out one of the halves", () => {
  for (const seed of [0, 1, 2 ** 31, 2 ** 32 - 1]) {
    const [out, other] = [leftOutBy(seed), leftOutBy((seed + 1) % 2 ** 32)];
    assert.ok(out.length > 0 && other.length > 0, `${seed}`);
    assert.equal(out.length + other.length, filesInTurns.length, `${seed}`);
  }
});
