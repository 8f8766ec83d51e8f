/** Scores: judgments of a session that are records. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { all, inFile } from "../place.ts";

test("a score is a record, and the last of each name counts", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  await session.score("accuracy", 0.5);
  assert.deepEqual(await session.score("accuracy", 0.8, { seq: 1, because: "8 of 10" }), {
    seq: 3,
    headSeq: 3,
    duplicate: false,
  });
  await session.score("tone", -1);
  await session.close();
  await session.score("speed", 1e3);
  assert.deepEqual((await session.state()).scores, {
    accuracy: { value: 0.8, seq: 3 },
    speed: { value: 1000, seq: 6 },
    tone: { value: -1, seq: 4 },
  });
  const [, judged] = await all(session.events({ types: ["score.recorded"] }));
  assert.deepEqual(judged!.body, { name: "accuracy", value: 0.8, seq: 1 });
  assert.deepEqual(judged!.content, { because: "8 of 10" });
  // A fork is judged for itself.
  assert.deepEqual((await (await session.fork()).state()).scores, {});
});

test("a score that is none is refused, and nothing is written", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const long = "b".repeat(limit.reasonCharsMax + 1);
  await assert.rejects(session.score("n", Number.NaN), {
    code: "invalid",
    message: /expected a number, got NaN/,
  });
  await assert.rejects(session.score("", 1), { code: "invalid", message: /cannot be empty/ });
  await assert.rejects(session.score("n", "1" as never), { code: "invalid" });
  await assert.rejects(session.score("n", 1, { seq: 2 }), { code: "not-found" });
  await assert.rejects(session.score("n", 1, { because: long }), { code: "invalid" });
  await assert.rejects(session.score("n", 1, { reason: "r" } as never), { code: "invalid" });
  assert.equal((await session.head()).seq, 1);
});
