/** A short slice of the campaign of the feed: `npm run campaign:feed` is the whole of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { followFeed } from "./feed.ts";
import { noPostgres } from "./place.ts";
import { startPostgres } from "./server.ts";

const skip = await noPostgres();

test(
  "two readers of the feed see each record once and in order, however long transactions take",
  {
    skip,
    timeout: 60_000,
  },
  async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    // Of its own: a long transaction is felt in every database of a server.
    await using server = await startPostgres({ inMemory: true });
    const report = await followFeed({
      url: await server.newDatabase(),
      writers: 4,
      processes: 2,
      records: 5_000,
      readers: 2,
      batch: [10, 30],
      heldShare: 0.02,
      rolledBackShare: 0.02,
      seed,
    });
    const { problems, readers, written, held, rolledBack } = report;
    t.diagnostic(JSON.stringify({ written, held, rolledBack, ms: report.ms }));
    assert.deepEqual(problems, [], `seed ${seed}`);
    assert.deepEqual(
      readers.map(({ records }) => records),
      [written, written],
    );
    assert.ok(written >= 5_000);
    assert.ok(held + rolledBack > 0, "no transaction took long");
  },
);
