/** Kills of workers: a short slice of the campaign of work-campaign.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "./random.ts";
import { killWorkers } from "./work-kill.ts";
import { sliced } from "../slice.ts";

const sessions = sliced(12, 40);

test(`4 workers, ${sessions} sessions, workers killed all the time: all end, none twice`, async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { problems, ...counts } = await killWorkers({
    workers: 4,
    sessions,
    seed,
    forMs: sliced(3_500, 8_000),
    everyMs: sliced(500, 700),
  });
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
  assert.equal(counts.ended, sessions);
  // Kills that hit nobody at work would pass without having tried anything.
  assert.ok(counts.atWork >= sliced(1, 2), "hardly anybody was killed at work");
});
