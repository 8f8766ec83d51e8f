/** A slice of `npm run test:platform`: one file each for /proc and modes of files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTestFile } from "../runner/test-file.ts";
import { bareEnvironment } from "./bare.ts";

const files = {
  "/proc": "test/runtime/turn/ended-holder.test.ts",
  "modes of files": "test/tool/file-watch.test.ts",
  "private modes": "test/server/local-token.test.ts",
};

for (const [what, file] of Object.entries(files)) {
  test(`without ${what}: ${file}`, async () => {
    const { events, problem, output } = await runTestFile(file, { env: bareEnvironment });
    const failed = events.flatMap((event) => (event.type === "test:fail" ? [event.data.name] : []));
    assert.deepEqual([failed, problem], [[], null], output);
    assert.ok(events.some(({ type }) => type === "test:pass"));
  });
}
