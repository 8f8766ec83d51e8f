/** Turns: from an input to the session being idle again. */
import assert from "node:assert/strict";
import { test } from "node:test";
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
