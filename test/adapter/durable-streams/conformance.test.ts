/** The official suite of Durable Streams on named streams; `npm test` runs a slice, where it is installed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLong } from "../../slice.ts";
import { installSuite, isInstalled, runSuite } from "./conformance.ts";

test("the official suite passes", async (t) => {
  if (!(isLong ? installSuite() : isInstalled())) return t.skip("npm run test:long installs the suite");
  const { passed, failed, troubles } = await runSuite(isLong ? undefined : "Fork - Creation|JSON Mode");
  assert.deepEqual(failed, []);
  assert.ok(passed.length >= (isLong ? 332 : 30), `${passed.length} cases ran`);
  assert.deepEqual(troubles, []);
});
