/** Kills of senders, receivers and relays: a short slice of the campaign of message-campaign.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { killMessages } from "./message-kill.ts";
import { freshSeed } from "./random.ts";

const messages = 600;

test("600 messages within and between two stores, everybody killed now and then: each once, in order", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { problems, ...counts } = await killMessages({ messages, sessions: 6, seed, forMs: 6_000 });
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
  assert.ok(counts.kills + counts.points >= 4, "hardly anybody was killed");
  assert.ok(counts.away > messages / 4, "hardly anything went to the other store");
});
