/** A short slice of the campaign of fail-overs: `npm run campaign:failover` is the whole of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { failOver } from "./failover.ts";
import { noPostgres } from "./place.ts";

const skip = await noPostgres();

test(
  "a synchronous failover loses nothing; an asynchronous one reports the loss",
  { skip, timeout: 120_000 },
  async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const { problems, ...report } = await failOver({
      modes: ["synchronous", "asynchronous"],
      sessions: 6,
      loadMs: 500,
      behindMs: 500,
      seed,
      inMemory: true,
    });
    t.diagnostic(JSON.stringify(report));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.equal(report.recoveriesMs.length, 2);
    assert.ok(report.lost > 0, "the asynchronous fail-over lost nothing");
    assert.ok(report.setBack > 0, "no writer was told that its session was set back");
    assert.ok(report.streamsEnded > 0, "no stream was ended");
  },
);
