/** The official suite of Durable Streams on named streams; `npm test` runs a slice, where it is installed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLong } from "../../slice.ts";
import { installSuite, isInstalled, runSuite } from "./conformance.ts";

test("the official suite passes", async (t) => {
  if (!(isLong ? installSuite() : isInstalled())) return t.skip("npm run test:long installs the suite");
  const { passed, failed, troubles } = await runSuite(
    isLong ? undefined : "Fork - Creation|JSON Mode|Reserved subscription",
  );
  assert.deepEqual(
    failed.map(({ name }) => name),
    [],
    failed.map(({ why }) => why).join("\n"),
  );
  if (isLong) assert.equal(passed.length, 338);
  else assert.ok(passed.length >= 30, `${passed.length} cases ran`);
  assert.deepEqual(troubles, []);
});
