/** What was used last is kept: at least so many, at most twice that. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeCache } from "../../src/core/cache.ts";

type Step = readonly ["get" | "delete", number] | readonly ["set", number, number];

const key = fc.integer({ min: 0, max: 12 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("get" as const), key),
  fc.tuple(fc.constant("delete" as const), key),
  fc.tuple(fc.constant("set" as const), key, fc.nat(1_000)),
);

test("get returns the last value set, or undefined; as many as the limit stay", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.array(step, { maxLength: 200 }), (least, steps) => {
      const kept = makeCache<number, number>(least);
      const model = new Map<number, number>();
      /** The latest used first. */
      let used: number[] = [];
      for (const [what, name, value] of steps) {
        // It still took the place of another.
        if (what === "delete") {
          kept.delete(name);
          model.delete(name);
          continue;
        }
        if (what === "set") {
          kept.set(name, value);
          model.set(name, value);
        }
        const found = kept.get(name);
        assert.ok(found === undefined || found === model.get(name));
        if (found !== undefined) used = [name, ...used.filter((other) => other !== name)];
        if (what === "set") assert.equal(found, value);
      }
      const sure = used.slice(0, least);
      assert.deepEqual(
        sure.map((name) => kept.get(name)),
        sure.map((name) => model.get(name)),
      );
    }),
    { numRuns: 2_000 },
  );
});

test("it never holds more than twice the limit", () => {
  for (const least of [2, 3, 10, 1_000]) {
    const kept = makeCache<number, number>(least);
    const names = Array.from({ length: least * 5 }, (_, name) => name);
    for (const name of names) kept.set(name, name);
    // The latest first: what is asked for one by one pushes others out.
    const held = names.toReversed().filter((name) => kept.get(name) === name);
    assert.ok(held.length < least * 2 && held.length >= least, `${held.length}, not ${least}`);
  }
});
