/** Bugs that are planted on purpose: the simulator is there to find each of them, within a thousand lives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planted } from "./planted.ts";
import { simulate, type Plant } from "./simulation.ts";
import type { Fault } from "./witness.ts";
import { longOnly } from "../slice.ts";

const seedsMax = 1_000;

const bugs: readonly (readonly [string, Plant, ...Fault[]])[] = [
  ["a store that does not look at the epoch", planted.noFence, "fence"],
  ["a store that lets the clock say whose a lease is", planted.clockOwns, "fence"],
  ["a ledger that does not see that a call was started", planted.noStart, "unsafe-twice"],
  ["a writer that takes a lost answer for a failure", planted.writeAgain, "inputs", "told"],
  ["a store that forgets the keys of what was written", planted.forgetful, "inputs", "told"],
  ["a firing that does not look whether its time is the next", planted.blindFire, "trigger"],
  ["an index that loses what came to be due", planted.lostDue, "rest"],
  ["a time that wakes nobody", planted.lostWake, "rest"],
  ["a trigger that lets a session sleep on", planted.deafSleep, "trigger"],
  ["a worker that does not give leases back", planted.noRelease, "release"],
  ["a message that comes twice", planted.twice, "inputs"],
  ["a rollover that leaves behind what waits", planted.lostQueue, "chain"],
  ["a key that is forgotten where it was sent", planted.keyElsewhere, "inputs", "told"],
  ["a model call for which nothing is set aside", planted.noReservation, "money"],
];
for (const [name, plant, ...faults] of bugs) {
  test(`${name} is found out`, { skip: longOnly }, async (context) => {
    for (let seed = 1; seed <= seedsMax; seed++) {
      const { problems } = await simulate(seed, plant);
      const found = problems.find(({ fault }) => faults.includes(fault));
      if (found === undefined) continue;
      return context.diagnostic(`seed ${seed}: ${found.fault}: ${found.text}`);
    }
    assert.fail("nobody noticed");
  });
}
