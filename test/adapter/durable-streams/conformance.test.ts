/** The official suite of Durable Streams on named streams; `npm test` runs a slice, where it is installed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLong } from "../../slice.ts";
import { installSuite, isInstalled, runSuite } from "./conformance.ts";

/**
 * Subscriptions are not served. A stream's writer would make the server call an address of its choice, with
 * retries, leases and keys of their own; webhooks, which an operator sets, and triggers do the same work.
 */
const unserved: readonly string[] = [
  "creates and idempotently re-confirms a webhook subscription",
  "rejects unsafe webhook URLs",
  "webhook synchronous done auto-acks the wake snapshot",
  "webhook callback acks and fences stale wake generations",
  "adds and removes explicit subscription streams",
  "pull-wake claim, ack, and release use subscription-scoped leases",
].map((name) => `skein Reserved subscription APIs ${name}`);

test("the official suite passes", async (t) => {
  if (!(isLong ? installSuite() : isInstalled())) return t.skip("npm run test:long installs the suite");
  const { passed, failed, troubles } = await runSuite(isLong ? undefined : "Fork - Creation|JSON Mode");
  assert.deepEqual(
    failed.map(({ name }) => name),
    isLong ? unserved : [],
    failed.map(({ why }) => why).join("\n"),
  );
  if (isLong) assert.equal(passed.length + unserved.length, 338);
  else assert.ok(passed.length >= 30, `${passed.length} cases ran`);
  assert.deepEqual(troubles, []);
});
