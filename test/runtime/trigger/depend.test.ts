/** Dependencies: sessions that wait for others, and are told what these leave. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../../src/index.ts";
import { waitsFor } from "../../../src/core/trigger/schedule.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";

const open = () => openEngine({ store: kind().place() });
const world = realWorld();
const until = async (holds: () => Promise<boolean>, ms = 30_000): Promise<void> => {
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
};
const model = "offline/offline";

async function told(session: Session): Promise<string[]> {
  const texts: string[] = [];
  for await (const { content } of session.events({ types: ["input.received"] })) {
    const { blocks } = content as { blocks: readonly { text: string }[] };
    texts.push(blocks.map(({ text }) => text).join(""));
  }
  return texts;
}

async function fired(session: Session): Promise<number> {
  let count = 0;
  for await (const _ of session.events({ types: ["trigger.fired"] })) count += 1;
  return count;
}

const idle = async (engine: Engine): Promise<void> => {
  void engine;
  await world.sleep(150);
};

test("a session opened after others sleeps until all have ended, and gets their results", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "Find the rate", model });
  const b = await engine.open({ objective: "Find the base", model });
  await a.record("decision", "rate", "4.1", { because: "the bank says so" });
  const c = await engine.open({ objective: "Add them up", model, after: [a.id, b.id.slice(-10)] });
  const asleep = (await c.fold()).standing;
  assert.deepEqual([asleep.status, asleep.sleep?.triggers], ["sleeping", ["after"]]);
  await using _ = await engine.work({ name: "one" });
  await using __ = await engine.work({ name: "two" });
  await a.close();
  await idle(engine);
  assert.equal((await c.fold()).standing.status, "sleeping");
  await b.cancel();
  await until(async () => {
    const { lastTurn, turn } = (await c.fold()).standing;
    return lastTurn === 1 && turn === null;
  });
  const [text, ...more] = await told(c);
  assert.deepEqual(more, []);
  assert.match(text!, /^Trigger "after": all 2 sessions that you waited for have ended\./);
  assert.match(text!, new RegExp(`## ${a.id}: completed \\[${a.id.slice(-8)}@\\d+\\]`));
  assert.match(text!, /rate.*4\.1/s);
  assert.match(text!, new RegExp(`## ${b.id}: cancelled`));
  assert.equal(await fired(c), 1);
  // It waits for nobody any more.
  const { standing } = await c.fold();
  assert.deepEqual([[...standing.triggers.keys()], waitsFor(await c.fold())], [[], "input"]);
});

test("sessions that ended or were deleted before count; the session wakes through the worker", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "Done already", model });
  const b = await engine.open({ objective: "Goes away", model });
  await a.record("fact", "base", 12);
  await a.close();
  const c = await engine.open({
    objective: "Go on",
    model,
    after: { sessions: [a.id, b.id], give: "facts" },
  });
  await b.close();
  await engine.delete(b.id);
  {
    await using _ = await engine.work();
    await until(async () => (await c.fold()).standing.lastTurn === 1);
  }
  const [text] = await told(c);
  assert.match(text!, /- fact base: 12 \[/);
  assert.match(text!, new RegExp(`## ${b.id}: deleted`));
  // A worker that comes later finds nothing new.
  await using _ = await engine.work();
  await idle(engine);
  assert.equal(await fired(c), 1);
});

test("without all, each end fires once, and again when the session is reopened and ends again", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "One", model });
  const b = await engine.open({ objective: "Two", model });
  const c = await engine.open({ objective: "Listen", model });
  const spec = { kind: "session", sessions: [a.id, b.id], on: "end", give: "nothing" } as const;
  await c.trigger("ends", spec);
  await a.close();
  await using worker = await engine.work();
  await until(async () => (await fired(c)) === 1);
  await b.close({ outcome: "failed" });
  await until(async () => (await fired(c)) === 2);
  await worker.stop();
  await a.reopen();
  await a.close();
  await engine.delete(b.id);
  await using _ = await engine.work();
  await until(async () => (await fired(c)) === 3);
  await idle(engine);
  const texts = await told(c);
  const outcomes = texts.map((text) => /## (ses_\w+): (\w+)/.exec(text)?.slice(1));
  assert.deepEqual(outcomes, [
    [a.id, "completed"],
    [b.id, "failed"],
    [a.id, "completed"],
  ]);
});

test("a session trigger that is set again under the same name fires again", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "One", model });
  await a.close();
  for (const how of [{}, { all: true }]) {
    const c = await engine.open({ objective: "Listen", model });
    const spec = { kind: "session", sessions: [a.id], on: "end", give: "nothing", ...how } as const;
    await using _ = await engine.work();
    await c.trigger("ends", spec);
    await until(async () => (await fired(c)) === 1);
    await idle(engine);
    await c.trigger("ends", spec);
    await until(async () => (await fired(c)) === 2);
    await idle(engine);
    assert.equal(await fired(c), 2);
  }
});

test("an item that fits fires once, also one recorded while nothing ran", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "Record", model });
  await a.record("fact", "rate-old", 1);
  const c = await engine.open({
    objective: "Listen",
    model,
    wake: [{ kind: "session", sessions: [a.id], on: "item", item: { kind: "fact", key: "rate-*" } }],
  });
  await a.record("fact", "rate-de", 2);
  await a.record("fact", "other", 3);
  await a.record("decision", "rate-x", 3, { because: "so" });
  await using worker = await engine.work();
  await until(async () => (await fired(c)) === 1);
  await a.record("fact", "rate-fr", 4);
  await until(async () => (await fired(c)) === 2);
  await worker.stop();
  await a.record("fact", "rate-de", 5);
  await using _ = await engine.work();
  await using __ = await engine.work();
  await until(async () => (await fired(c)) === 3);
  const items = (await told(c)).map((text) => /recorded (fact .*) \[/.exec(text)?.[1]);
  assert.deepEqual(items, ["fact rate-de: 2", "fact rate-fr: 4", "fact rate-de: 5"]);
});

test("circles, unknown sessions and triggers that say nothing are refused when they are set", async () => {
  await using engine = await open();
  const a = await engine.open({ objective: "A", model });
  const b = await engine.open({ objective: "B", model, after: [a.id] });
  const c = await engine.open({ objective: "C", model, after: [b.id] });
  const end = (...sessions: string[]) => ({ kind: "session", sessions, on: "end" }) as const;
  const chain = [a, c, b, a].map(({ id }) => id).join(" waits for ");
  await assert.rejects(a.trigger("x", end(c.id)), {
    code: "invalid",
    message: `trigger "x": sessions: cycle: ${chain}`,
  });
  await assert.rejects(a.trigger("x", end(a.id)), { code: "invalid" });
  const gone = `ses_${"0".repeat(26)}`;
  await assert.rejects(a.trigger("x", end(gone)), { code: "not-found" });
  await assert.rejects(engine.open({ objective: "D", after: [gone] }), { code: "not-found" });
  await assert.rejects(engine.open({ objective: "D", after: [] }), { code: "invalid" });
  await assert.rejects(a.trigger("x", { kind: "session", sessions: [b.id], on: "item" }), {
    code: "invalid",
  });
  assert.equal((await a.fold()).standing.triggers.size, 0);
  // Once b has gone on, nobody waits for a any more.
  await b.cancel();
  await a.trigger("x", end(c.id));
});

test("a chain of sessions runs in order, each with the handoff of the one before", async () => {
  await using engine = await open();
  const first = await engine.open({ objective: "0", model });
  const chain = [first];
  for (let place = 1; place < 4; place++)
    chain.push(await engine.open({ objective: String(place), model, after: [chain.at(-1)!.id] }));
  await using _ = await engine.work({ concurrency: 4 });
  const order: string[] = [];
  await first.close();
  for (const session of chain.slice(1)) {
    await until(async () => (await session.fold()).standing.lastTurn === 1);
    const later = chain.slice(chain.indexOf(session) + 1);
    for (const one of later) assert.equal((await one.fold()).standing.status, "sleeping");
    order.push(session.id);
    await until(async () => (await session.fold()).standing.status === "open");
    await session.close();
  }
  assert.equal(order.length, 3);
});
