/** The version in the code is the one in package.json, and versions are told apart number by number. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isLater, version } from "../../src/core/version.ts";
import { root } from "../repo/source.ts";

test("the program knows the version of its package", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  assert.equal(version, manifest.version);
});

test("a version is later when its first different number is greater", () => {
  assert.deepEqual(
    [
      isLater("0.2.0", "0.1.9"),
      isLater("0.10.0", "0.9.0"),
      isLater("0.1.0", "0.1.0"),
      isLater("0.1.0", "1.0.0"),
    ],
    [true, true, false, false],
  );
});
