/** Kills of senders, receivers and relays: a short slice of the campaign of message-campaign.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { killMessages } from "./message-kill.ts";
import { sliced } from "../slice.ts";
import { freshSeed } from "./random.ts";

const messages = sliced(240, 600);

test(`${messages} messages in and between two stores, with kills: each once, in order`, async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { problems, ...counts } = await killMessages({
    messages,
    sessions: 6,
    seed,
    forMs: sliced(2_500, 5_000),
  });
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
  const { lost, twice, disordered, received, sent } = counts;
  assert.deepEqual(
    { lost, twice, disordered, received, sent },
    {
      lost: 0,
      twice: 0,
      disordered: 0,
      received: messages,
      sent: messages,
    },
  );
  // Kills that hit nobody at work would pass without having tried anything.
  assert.ok(counts.kills + counts.points >= sliced(2, 4), "hardly anybody was killed");
  assert.ok(counts.away > messages / 4, "hardly anything went to the other store");
});
