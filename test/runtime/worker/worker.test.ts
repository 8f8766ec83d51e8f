/** Workers: what has something to do is run by one of them, and what time brings about is done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";

const open = () => openEngine({ store: kind().place() });
const until = async (holds: () => Promise<boolean>, ms = 30_000): Promise<void> => {
  const world = realWorld();
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
};

test("a worker runs sessions with input, now and later", async () => {
  await using engine = await open();
  const first = await engine.open({ objective: "One", model: "offline/offline" });
  await first.input("remember a is 1");
  await using worker = await engine.work({ concurrency: 2 });
  const second = await engine.open({ objective: "Two", model: "offline/offline" });
  await second.input("remember b is 2");
  await until(async () => (await first.items()).length + (await second.items()).length === 2);
  for (const session of [first, second]) {
    await until(async () => !(await session.fold()).standing.lease.held);
    assert.equal((await session.fold()).standing.status, "open");
  }
  await worker.stop();
  assert.deepEqual(await engine.workers(), []);
});

test("a session that sleeps until a time is woken by the worker, with the reason", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "Sleep", model: "offline/offline" });
  await session.sleep({ untilMs: Date.now() + 200 });
  await using _ = await engine.work();
  await until(async () => (await session.fold()).standing.lastTurn === 1);
  const types = [];
  const told = session.events({ types: ["session.woken", "input.received"] });
  for await (const { type } of told) types.push(type);
  assert.deepEqual(types, ["session.woken", "input.received"]);
});

test("a trigger fires at its time, again and again, each time once, with two workers", async () => {
  await using engine = await open();
  const session = await engine.open({ objective: "Tick", model: "offline/offline" });
  await session.trigger("tick", { kind: "every", everyMs: 1_000 });
  await session.sleep();
  await using _ = await engine.work({ name: "one" });
  await using __ = await engine.work({ name: "two" });
  await until(async () => (await session.fold()).standing.lastTurn >= 2);
  const fired = [];
  for await (const event of session.events({ types: ["trigger.fired"] })) fired.push(event.body);
  const due = fired.map((body) => (body as { dueMs: number }).dueMs);
  assert.equal(new Set(due).size, due.length);
  assert.equal((due[1] ?? 0) - (due[0] ?? 0), 1_000);
});
