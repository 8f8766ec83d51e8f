/** Unified diffs: what they say leads from the one text to the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { unifiedDiff } from "../../src/core/text/text-diff.ts";

/** Applies hunks as `patch` does, without any tolerance. */
function apply(from: string, hunks: readonly string[]): string {
  const lines = from.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const result: string[] = [];
  let at = 0;
  for (const [place, row] of hunks.entries()) {
    const heading = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(row);
    if (heading !== null) {
      const first = Number(heading[2]) === 0 ? Number(heading[1]) : Number(heading[1]) - 1;
      result.push(...lines.slice(at, first));
      at = first;
      continue;
    }
    if (row.startsWith("\\")) continue;
    const text = `${row.slice(1)}${hunks[place + 1]?.startsWith("\\") === true ? "" : "\n"}`;
    if (!row.startsWith("+")) assert.equal(lines[at++], text);
    if (!row.startsWith("-")) result.push(text);
  }
  return [...result, ...lines.slice(at)].join("");
}

test("applied to the one text it gives the other", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "", "d e"), { maxLength: 30 })
    .chain((lines) => fc.constantFrom(lines.join("\n"), lines.map((line) => `${line}\n`).join("")));
  fc.assert(
    fc.property(text, text, (from, to) => {
      assert.equal(apply(from, unifiedDiff(from, to)), to);
    }),
  );
});

test("three lines surround a change, and nearby changes are shown together", () => {
  const lines = Array.from({ length: 20 }, (_, place) => `${place + 1}\n`);
  const changed = lines.with(3, "four\n").with(9, "ten\n").with(19, "end");
  assert.deepEqual(unifiedDiff(lines.join(""), changed.join("")), [
    "@@ -1,13 +1,13 @@",
    " 1",
    " 2",
    " 3",
    "-4",
    "+four",
    " 5",
    " 6",
    " 7",
    " 8",
    " 9",
    "-10",
    "+ten",
    " 11",
    " 12",
    " 13",
    "@@ -17,4 +17,4 @@",
    " 17",
    " 18",
    " 19",
    "-20",
    "+end",
    "\\ No newline at end of file",
  ]);
  assert.deepEqual(unifiedDiff("same\n", "same\n"), []);
});
