/**
 * Processes that are killed while they work on one PostgreSQL: short slices of the campaigns of test/crash,
 * which run at length on files.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { killMessages } from "../crash/message-kill.ts";
import { freshSeed } from "../crash/random.ts";
import { endRunners, finishAll, killAt, makePool, warmRunner } from "../crash/turn-case.ts";
import { prepare, type Cast } from "../crash/turn-place.ts";
import { killWorkers } from "../crash/work-kill.ts";
import { sliced, slicedEvery } from "../slice.ts";
import { standOnPostgres } from "./again.ts";

const skip = await standOnPostgres();

/** Calls whose outcome a death leaves open, or takes back, or cannot touch. */
const casts: readonly Cast[] = [
  { name: "outer", turns: [[["read", "unsafe"], ["idempotent"]]] },
  { name: "told", turns: [[["unsafe"], ["probed"]]], onUnknown: "tell" },
  { name: "own", turns: [[["record", "send"], ["fork"]]] },
];

const points: readonly string[] = [
  "after lease.taken 1",
  "after model.requested 1",
  "in stream 1",
  // The answer that ends the turn, with the end of the turn and of the lease.
  "before model.responded 3",
];
const callPoints: readonly string[] = ["after tool.started 1", "in tool 1", "before tool.settled 1"];

describe("on PostgreSQL", { skip }, () => {
  test("a killed turn is resumed by another process, each call with one outcome", async (t) => {
    const cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
    after(endRunners);
    t.after(() => rm(cache, { recursive: true, force: true }));
    await warmRunner(cache);
    const inPool = makePool(3);
    const killed = [...slicedEvery(points, 2, freshSeed()), ...callPoints].map((point) =>
      inPool(async () => {
        const cast = callPoints.includes(point) ? casts.filter(({ name }) => name !== "own") : casts;
        const places = await prepare(point, cast);
        return finishAll(places, await killAt(point, places, cache));
      }),
    );
    const reports = (await Promise.all(killed)).flat();
    assert.deepEqual(
      reports.flatMap(({ problems }) => problems),
      [],
    );
    const unknown = reports.flatMap(({ calls }) => calls).filter(({ status }) => status === "unknown");
    assert.ok(unknown.length >= 3, "no unsafe call was cut off");
  });

  test("workers are killed: their sessions are taken over, all end, none is in two places", async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const sessions = 12;
    const how = { workers: 3, sessions, seed, forMs: 3_000, everyMs: 500 };
    const { problems, ...counts } = await killWorkers(how);
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.equal(counts.ended, sessions);
    assert.ok(counts.atWork >= 1, "nobody was killed at work");
  });

  test("messages in and between two tenants, all killed now and then: each once, in order", async (t) => {
    const seed = freshSeed();
    t.diagnostic(`seed ${seed}`);
    const messages = sliced(80, 120);
    const { problems, ...counts } = await killMessages({
      messages,
      sessions: 4,
      seed,
      forMs: sliced(1_500, 2_500),
    });
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    const { lost, twice, disordered, received, sent } = counts;
    const all = { lost: 0, twice: 0, disordered: 0, received: messages, sent: messages };
    assert.deepEqual({ lost, twice, disordered, received, sent }, all);
    assert.ok(counts.kills + counts.points >= 2, "hardly anybody was killed");
  });
});
