/** Upcasting: pure steps, one version at a time, with a table of steps made for the test. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { entryOf, eventTypes } from "../../src/core/catalog.ts";
import { steps, upcast, type Step } from "../../src/core/upcast.ts";

const table: readonly Step[] = [
  { type: "a.named", from: 1, up: (body, content) => ({ body: { was: body }, content }) },
  { type: "a.named", from: 2, up: (body, content) => ({ body: { next: body }, content: { said: content } }) },
  { type: "b.named", from: 1, up: () => assert.fail("a step of another type") },
];
const record = { type: "a.named", v: 1, body: 1, content: "hi" };

test("a record passes every step from its version to the requested one", () => {
  assert.deepEqual(upcast(record, 1, table), { body: 1, content: "hi" });
  assert.deepEqual(upcast(record, 2, table), { body: { was: 1 }, content: "hi" });
  assert.deepEqual(upcast(record, 3, table), { body: { next: { was: 1 } }, content: { said: "hi" } });
  assert.deepEqual(upcast({ ...record, v: 2 }, 3, table), { body: { next: 1 }, content: { said: "hi" } });
});

test("a missing step is damage, and says which", () => {
  const wrong = { code: "corrupt", message: "a.named: no upcast from version 3 to 4" };
  assert.throws(() => upcast(record, 4, table), wrong);
  assert.throws(() => upcast(record, 2), { code: "corrupt" });
});

test("every version of every event of the catalogue can be brought to the newest", () => {
  for (const type of eventTypes) {
    const newest = entryOf(type)?.v ?? 0;
    for (let version = 1; version < newest; version++) {
      const known = steps.filter((step) => step.type === type && step.from === version);
      assert.equal(known.length, 1, `${type} ${version}`);
    }
  }
  for (const { type, from } of steps)
    assert.ok(from < (entryOf(type)?.v ?? 0), `a step that leads nowhere: ${type}`);
});
