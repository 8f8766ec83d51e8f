/** Turns: from an input to the session being idle again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { realWorld } from "../../../src/runtime/world.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import type { Store } from "../../../src/store/port.ts";
import { workspace } from "../place.ts";
import { engineWith, say, scripted, use } from "./scripted.ts";

test("a question is answered, and the log says how", async () => {
  const script = scripted(["Hello there."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Greet" });
  const heard: string[] = [];
  for await (const event of session.ask("Hi")) {
    heard.push(
      event.type === "delta" ? `delta ${JSON.stringify((event as { delta: unknown }).delta)}` : event.type,
    );
  }
  assert.deepEqual(heard, [
    "input.received",
    "lease.taken",
    "session.migrated",
    "tools.bound",
    "turn.started",
    "context.planned",
    "model.requested",
    'delta {"type":"text","text":"Hello there."}',
    "model.responded",
    "turn.ended",
    "lease.released",
  ]);
  const state = await session.state();
  assert.deepEqual([state.status, state.budget.used.steps, state.budget.used.tokens], ["open", 1, 110]);
  assert.equal(state.budget.used.nanoUsd, 100 * 1_000 + 10 * 5_000);
});

test("a tool call is recorded with its result, and every context can be rebuilt", async () => {
  const script = scripted([
    [say("I will keep that."), use("record", { kind: "fact", key: "base-rate", value: 4.1 })],
    "Noted.",
    "4.1",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Remember" });
  for await (const _ of session.ask("remember base-rate is 4.1"));
  for await (const _ of session.ask("what is it?"));
  assert.deepEqual(
    (await session.items()).map(({ kind, key, value }) => [kind, key, value]),
    [["fact", "base-rate", 4.1]],
  );
  let requests = 0;
  let before: readonly unknown[] = [];
  for await (const event of session.events({ types: ["model.requested"] })) {
    const context = await session.context({ atSeq: event.seq });
    assert.equal(context.matches, true, `request at ${event.seq}`);
    assert.equal(context.countedTokens, 100);
    assert.equal(typeof context.estimateError, "number");
    assert.deepEqual(context.parts, script.calls[requests]!.parts);
    assert.deepEqual(context.parts.slice(0, before.length), before);
    before = context.parts;
    requests += 1;
  }
  assert.equal(requests, 3);
});

test("a repeated call with the same key returns the first answer, and writes nothing", async () => {
  const script = scripted(["Hello there.", "Bye."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Greet" });
  const ask = async (key: string) => {
    const asking = session.ask(key, { key });
    const heard: string[] = [];
    for (;;) {
      const { done, value } = await asking.next();
      if (done) return { heard, ran: value };
      if (value.type !== "delta") heard.push(value.type);
    }
  };
  const first = await ask("Hi");
  const { seq } = await session.head();
  for (let times = 0; times < 2; times++) {
    const again = await ask("Hi");
    assert.deepEqual(again.heard, first.heard);
    assert.deepEqual(again.ran, { ...first.ran, seq });
  }
  assert.equal((await session.head()).seq, seq);
  await session.close();
  assert.equal((await ask("Hi")).ran.status, "closed");
  assert.equal(script.calls.length, 1);
});

test("an unanswered input with a key is processed", async () => {
  const script = scripted(["Hello there."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Greet" });
  await session.input("Hi", { key: "k" });
  for await (const _ of session.ask("Hi", { key: "k" }));
  const begun = await engine.open({ objective: "Greet", model: "test/scripted" });
  await begun.input("Hi", { key: "k" });
  {
    await using drive = await begun.drive();
    await drive.begin();
  }
  for await (const _ of begun.ask("Hi", { key: "k" }));
  assert.equal(script.calls.length, 2);
  assert.equal((await begun.fold()).standing.turn, null);
});

test("a run says why it failed, though the lease could not be given back either", async () => {
  const world = realWorld();
  let isBroken = false;
  let times = 0;
  const inner = memoryStore({ world, workspace });
  const append: Store["append"] = async (parts) => {
    if (isBroken) throw new Error(`read-only: ${++times}`);
    return inner.append(parts);
  };
  const store = { ...inner, append };
  const script = scripted([
    () => {
      isBroken = true;
      return "Hello there.";
    },
  ]);
  await using engine = engineWith(script, { world, store });
  const session = await engine.open({ objective: "Greet" });
  await session.input("Hi");
  await assert.rejects(session.run(), { name: "Error", message: "read-only: 1" });
  assert.equal(times, 2, "the lease was not given back");
  isBroken = false;
});
