/** A directory that several triggers share, where changes are found by polling. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Tree } from "../../../src/runtime/trigger/folder-tree.ts";
import { realWorld } from "../../../src/runtime/world.ts";

test("a poll that finds a change calls every listener, also those that poll later", async () => {
  const root = mkdtempSync(join(tmpdir(), "skein-tree-"));
  const tree = new Tree(realWorld(), root, { passedOver: [], watched: false });
  try {
    const heard: string[] = [];
    tree.listen(() => void heard.push("one"));
    const unlisten = tree.listen(() => void heard.push("two"));
    assert.deepEqual(await tree.list(() => true), []);
    assert.equal(await tree.poll(), false);
    assert.deepEqual(heard, []);
    writeFileSync(join(root, "a"), "1");
    assert.equal(await tree.poll(), true);
    assert.deepEqual(heard, ["one", "two"]);
    assert.equal(await tree.poll(), false);
    unlisten();
    writeFileSync(join(root, "b"), "1");
    assert.equal(await tree.poll(), true);
    assert.deepEqual(heard, ["one", "two", "one"]);
  } finally {
    tree.end();
    rmSync(root, { recursive: true });
  }
});
