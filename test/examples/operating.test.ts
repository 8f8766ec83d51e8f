/** Keeps docs/operating.md true: its table of limits is src/core/limit.ts. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { root } from "../repo/source.ts";

test("docs/operating.md has every limit, in order, with its value", () => {
  const text = readFileSync(join(root, "docs/operating.md"), "utf8").split("## Limits")[1] ?? "";
  const told = [...text.matchAll(/^\| `(\w+)` \| ([\d,]+) \| \S/gm)].map(([, name = "", value = ""]) => [
    name,
    Number(value.replaceAll(",", "")),
  ]);
  assert.deepEqual(told, Object.entries(limit));
});
