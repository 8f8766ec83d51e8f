/**
 * Simulated lives: the same engine, workers, triggers, leases and turn loop, in virtual time, over a store
 * whose lines fail and in processes that die. `SKEIN_SIM_SEED=7 node --test test/sim/sim.test.ts` shows one life.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { planted } from "./planted.ts";
import { simulate, type Plant } from "./simulation.ts";
import { addCounts, tellProblems } from "./tell.ts";
import type { Fault } from "./witness.ts";

const given = process.env["SKEIN_SIM_SEED"];
const lives = 1_000;
/** Half of the seeds are always the same, so that what was once found stays found. */
const known = lives / 2;

test("whatever goes wrong, no session is harmed", { skip: isReplay() }, async (context) => {
  const from = 1_000 + (freshSeed() % 1_000_000_000);
  context.diagnostic(`seeds 1 to ${known}, and ${from} to ${from + lives - known - 1}`);
  const counts = new Map<string, number>();
  const problems: string[] = [];
  for (let count = 0; count < lives; count++) {
    const seed = count < known ? 1 + count : from + count - known;
    const report = await simulate(seed);
    addCounts(counts, report.counts);
    problems.push(...tellProblems(report));
  }
  assert.deepEqual(problems, []);
  // A life without trouble proves nothing.
  const troubles = ["crash", "pause", "lose-answer", "lose-request", "late", "unavailable", "run fenced"];
  const work = ["ran look", "ran put", "ran pay", "ran wire", "message.sent", "session.forked"];
  const turns = ["session.rewound", "session.interrupted", "tool.approved", "context rebuilt", "again look"];
  const times = ["trigger.fired", "trigger.skipped", "session.woken", "message.refused", "template done"];
  const workers = ["worker began", "worker yielded", "worker failed", "jump", "stop", "run conflict"];
  const missing = [...troubles, ...work, ...turns, ...times, ...workers].filter(
    (kind) => (counts.get(kind) ?? 0) === 0,
  );
  assert.deepEqual(missing, []);
});

test("one seed twice is one trace, and another seed is another", { skip: isReplay() }, async () => {
  const hashes = new Set<string>();
  for (let seed = 1; seed <= 12; seed++) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    assert.equal(first.traceHash, second.traceHash, `seed ${seed}`);
    assert.deepEqual(first.trace, second.trace);
    hashes.add(first.traceHash);
  }
  assert.equal(hashes.size, 12);
});

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
  ["a model call for which nothing is set aside", planted.noReservation, "money"],
];
for (const [name, plant, ...faults] of bugs) {
  test(`${name} is found out`, { skip: isReplay() }, async (context) => {
    for (let seed = 1; seed <= lives; seed++) {
      const { problems } = await simulate(seed, plant);
      const found = problems.find(({ fault }) => faults.includes(fault));
      if (found === undefined) continue;
      return context.diagnostic(`seed ${seed}: ${found.fault}: ${found.text}`);
    }
    assert.fail("nobody noticed");
  });
}

if (given !== undefined) {
  test("a life is replayed", async () => {
    const report = await simulate(Number(given));
    console.log(report.trace.join("\n"));
    assert.deepEqual(tellProblems(report), []);
  });
}

function isReplay(): string | false {
  return given === undefined ? false : "one life is replayed";
}
