/**
 * Simulated lives: the same engine, workers, triggers, leases and turn loop, in virtual time, over a store
 * whose lines fail and in processes that die. `SKEIN_SIM_SEED=7 node --test test/sim/sim.test.ts` shows one
 * life.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sliced } from "../slice.ts";
import { assertUnharmed, replayed, skip } from "./lives.ts";
import { simulate } from "./simulation.ts";
import { tellProblems } from "./tell.ts";

test("whatever goes wrong, no session is harmed", { skip }, (context) => assertUnharmed(context, 1));

test("one seed twice is one trace, and another seed is another", { skip }, async () => {
  const hashes = new Set<string>();
  const seeds = sliced(4, 12);
  for (let seed = 1; seed <= seeds; seed++) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    assert.equal(first.traceHash, second.traceHash, `seed ${seed}`);
    assert.deepEqual(first.trace, second.trace);
    hashes.add(first.traceHash);
  }
  assert.equal(hashes.size, seeds);
});

if (replayed !== null) {
  const seed = replayed;
  test("a life is replayed", async () => {
    const report = await simulate(seed);
    console.log(report.trace.join("\n"));
    assert.deepEqual(tellProblems(report), []);
  });
}
