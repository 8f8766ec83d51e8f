/** Untrusted work: it is ended by its processor time, and a busy machine is no reason to end it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inTime } from "../../src/platform/run-with-timeout.ts";

test("a regular expression that would run for years is ended", () => {
  const text = `${"a".repeat(60)}b`;
  assert.equal(
    inTime(() => ({ found: /^(a+)+$/.test(text) }), 20),
    null,
  );
});

test("work that waited for a processor is begun again, and has its result", () => {
  let begun = 0;
  const starved = (): object => {
    begun += 1;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, begun === 1 ? 1_000 : 1);
    return { begun };
  };
  assert.deepEqual(inTime(starved, 20), { begun: 2 });
});

test("work that never yields is ended too", () => {
  const hangs = (): object => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return {};
  };
  assert.equal(inTime(hangs, 5), null);
});

test("an error of the work is its own, and the next work runs", () => {
  const fails = (): never => {
    throw new RangeError("its own");
  };
  assert.throws(() => inTime(fails, 1_000), { message: "its own" });
  assert.deepEqual(
    inTime(() => ({ done: true }), 1_000),
    { done: true },
  );
});
