/** What the server takes of an engine besides its public calls stays one small interface. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { internalsOf } from "../../src/runtime/engine/internals.ts";
import { inMemory } from "../runtime/place.ts";

test("the internals of an engine have at most ten members", async () => {
  await using place = inMemory();
  const members = Object.keys(internalsOf(place.engine));
  assert.ok(members.length <= 10, members.join(", "));
});

test("nothing outside the runtime makes a session out of dependencies", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((one) =>
    /\.tsx?$/.test(one),
  );
  assert.ok(files.length > 500);
  const using = (word: RegExp) => files.filter((one) => word.test(readFileSync(`src/${one}`, "utf8")));
  const outside = (found: readonly string[]) => found.filter((one) => !one.startsWith("runtime/"));
  assert.deepEqual(outside(using(/\bnew Session\(/)), []);
});
