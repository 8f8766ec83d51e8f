/** Kept responses: one request under a key at a time, and a failed one is not kept. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { makeKeptAnswers } from "../../src/server/http/stored-response.ts";
import { ProblemError } from "../../src/server/http/problem.ts";

const request = { digest: "d", session: "ses_1" };

test("the same idempotency key after a failure runs again", async () => {
  const kept = makeKeptAnswers();
  let runs = 0;
  const work = async (): Promise<string> => {
    runs += 1;
    if (runs === 1) throw new Error("busy");
    return `run ${runs}`;
  };
  const failing = kept.once("k", request, work);
  // A second request during the first one shares its failure.
  const waiting = kept.once("k", request, work);
  await assert.rejects(failing, /busy/);
  await assert.rejects(waiting, /busy/);
  assert.equal(runs, 1);
  assert.equal(kept.has("k", "d"), false);
  assert.equal(await kept.once("k", request, work), "run 2");
  assert.equal(await kept.once("k", request, work), "run 2");
  assert.equal(kept.has("k", "d"), true);
});

test("a key of another request is refused while cached, and a long response is not cached", async () => {
  const kept = makeKeptAnswers();
  const long = "x".repeat(limit.keptAnswerBytesMax + 1);
  assert.equal(await kept.once("long", request, async () => long), long);
  assert.equal(kept.has("long", "d"), false);
  const most = "x".repeat(limit.keptAnswerBytesMax);
  await kept.once("most", request, async () => most);
  assert.equal(kept.has("most", "d"), true);
  await assert.rejects(
    kept.once("most", { ...request, digest: "e" }, async () => ""),
    ProblemError,
  );
  assert.throws(() => kept.check("most", "ses_1"), ProblemError);
  kept.check("most", "ses_2");
  kept.check("free", "ses_1");
});

test("the oldest kept response goes first", async () => {
  const kept = makeKeptAnswers();
  for (let number = 0; number <= limit.keptAnswersMax; number++)
    await kept.once(`k${number}`, request, async () => "");
  assert.equal(kept.has("k0", "d"), false);
  assert.equal(kept.has("k1", "d"), true);
});

test("a response that was replaced under its key does not remove the newer one", async () => {
  const kept = makeKeptAnswers();
  const first = Promise.withResolvers<string>();
  const early = kept.once("k", request, () => first.promise);
  for (let number = 0; number < limit.keptAnswersMax; number++)
    await kept.once(`k${number}`, request, async () => "");
  await kept.once("k", request, async () => "newer");
  first.reject(new Error("late"));
  await assert.rejects(early, /late/);
  assert.equal(await kept.once("k", request, async () => "again"), "newer");
});
