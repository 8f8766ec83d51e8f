/** Several connections to one file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { draftOf } from "../../../src/store/conformance/conformance.ts";
import { digest } from "../../core/digest.ts";
import { inFile } from "../../runtime/place.ts";

const session = makeSessionId({ nowMs: 1, random: Uint8Array.from({ length: 10 }, () => 7) });

test("appends of two connections in turn keep the chain", async () => {
  await using place = await inFile();
  const stores = [place.store, await place.open(), await place.open()];
  const index = {
    status: "open",
    agent: null,
    name: null,
    objective: null,
    priority: 5,
    labels: {},
  } as const;
  await place.store.append([{ session, expect: "absent", drafts: [draftOf({}, digest)], index }]);
  for (let seq = 1; seq < 40; seq++) {
    const drafts = [draftOf({ body: { seq } }, digest)];
    const outcome = await stores[seq % 3]!.append([{ session, expect: { seq }, drafts }]);
    assert.equal(outcome.kind, "ok");
  }
  const report = await (await place.engine.session(session)).verify();
  assert.deepEqual([report.ok, report.records], [true, 40]);
});
