/** Nothing lost: 200 kills of processes that write to one store, and an audit after each round. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crash } from "./kill.ts";
import { freshSeed } from "./random.ts";

const kills = 200;

test("after 200 kills every acknowledged write is there, and every other whole or absent", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const report = await crash({ kills, seed });
  const { problems, kept, ...counts } = report;
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}; the stores are kept in ${kept}`);
  assert.equal(counts.duplicates, 0);
  assert.ok(counts.kills >= kills, "there were as many kills as were asked for");
  // A loop that killed writers before they wrote anything would pass without having tried anything.
  assert.ok(counts.acknowledged >= kills, `only ${counts.acknowledged} writes were acknowledged`);
  assert.ok(counts.found + counts.absent >= kills / 10, "hardly anybody was killed in the middle of a write");
});
