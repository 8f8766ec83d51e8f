/** Streams and kills under load: short slices of streams-campaign.ts and kill-campaign.ts. */
// Process of its own: it measures times under load.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { killServer } from "./kill-load.ts";
import { cutReaders, idleStreams } from "./stream-load.ts";

suite("under load", { concurrency: 2 }, () => {
  test("20 readers of a busy session or of all, cut at random, have the exact log", async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const cut = { ms: 300, chars: 60_000 };
    const { problems, ...counts } = await cutReaders({ readers: 20, records: 150, cut, seed });
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems, [], `seed ${seed}`);
    assert.ok(counts.events >= 20 * 151, JSON.stringify(counts));
    // Readers that are hardly cut would pass without having tried anything.
    assert.ok(counts.cuts >= 20 && counts.torn >= 5, JSON.stringify(counts));
  });

  test("a waiting stream costs less than 100 KiB, and gets new events", async (t) => {
    const { problems, ...counts } = await idleStreams(150);
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems, []);
    assert.ok(counts.rssBytes - counts.beforeBytes < 150 * 102_400, JSON.stringify(counts));
  });

  test("killed and started again under load, the server loses nothing it acknowledged", async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const options = { kills: 2, writers: 6, readers: 4, lifeMs: 500, seed };
    const { problems, ...counts } = await killServer(options);
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.ok(counts.again > 0 && counts.acknowledged > 10, JSON.stringify(counts));
  });
});
