/**
 * Simulated lives: the same engine, workers, triggers, leases and turn loop, in virtual time, over a store
 * whose lines fail and in processes that die. `SKEIN_SIM_SEED=7 node --test test/sim/sim.test.ts` shows one
 * life.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { simulate } from "./simulation.ts";
import { addCounts, tellProblems } from "./tell.ts";

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
