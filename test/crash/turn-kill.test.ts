/** Random kills: a short slice of the campaign of turn-campaign.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sliced } from "../slice.ts";
import { freshSeed } from "./random.ts";
import { killTurns } from "./turn-kill.ts";

const kills = sliced(10, 20);

test(`after ${kills} random kills every call has one outcome, none unsafe ran twice`, async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { problems, ...counts } = await killTurns({ kills, seed });
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
  assert.ok(counts.kills >= kills, "there were as many kills as were asked for");
  // Kills that hit nobody at work would pass without having tried anything.
  const cutOff = counts.again + counts.unknown + counts.requested - counts.asked;
  assert.ok(cutOff > kills / 4, `only ${cutOff} calls were cut off`);
  assert.equal(counts.ok + counts.unknown, counts.calls);
});
