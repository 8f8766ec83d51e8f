/** A short slice of the campaign of kills of PostgreSQL: `npm run campaign:postgres` is the whole of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { killServer } from "./kill.ts";
import { noPostgres } from "./place.ts";

const skip = await noPostgres();

test(
  "PostgreSQL is killed under writers: they resume, and no acknowledged write is lost",
  {
    skip,
    timeout: 120_000,
  },
  async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const { problems, recoveriesMs, ...counts } = await killServer({
      processes: 2,
      sessions: 8,
      kills: 2,
      forMs: 60_000,
      everyMs: 700,
      cutEveryMs: 60,
      pauseMs: 40,
      seed,
      inMemory: true,
    });
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.equal(counts.kills, 2);
    assert.equal(recoveriesMs.length, 4);
    assert.ok(counts.cuts > 0, "no connection was cut");
    assert.ok(counts.acknowledged >= 50, `only ${counts.acknowledged} writes were acknowledged`);
  },
);
