/** Opening once by a key, beginning with handoffs, and closing at an expected position. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inMemory } from "../place.ts";

test("two calls of open with one key give one session", async () => {
  await using place = inMemory();
  const { engine } = place;
  const options = { objective: "Review the retry logic", key: "review 1" };
  const [first, second] = await Promise.all([engine.open(options), engine.open(options)]);
  assert.equal(first.id, second.id);
  assert.equal((await engine.sessions()).rows.length, 1);
  assert.notEqual((await engine.open({ ...options, key: "review 2" })).id, first.id);
  await first.save("here");
  await first.save("there");
  assert.deepEqual(Object.keys((await first.state()).checkpoints), ["here", "there"]);
});

test("a session begins with the handoffs it is opened with, and takes over nothing else", async () => {
  await using place = inMemory();
  const { engine } = place;
  const earlier = await engine.open({ objective: "Collect rates", labels: { team: "web" } });
  await earlier.record("fact", "base-rate", 4.1);
  const next = await engine.open({ objective: "Write the report", handoffs: [earlier.id] });
  const { parts } = await next.context();
  assert.match(JSON.stringify(parts), /base-rate/);
  assert.deepEqual((await next.state()).labels, {});
  await assert.rejects(engine.open({ objective: "x", handoffs: ["zzzz"] }), { code: "not-found" });
});

test("close with an expected position is refused once the session has moved past it", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "Wait" });
  const { seq } = await session.head();
  await session.input("one more thing");
  await assert.rejects(session.close({ expect: { seq } }), { code: "conflict" });
  assert.equal((await session.state()).status, "open");
  const now = await session.head();
  await session.close({ expect: { seq: now.seq } });
  assert.equal((await session.state()).status, "closed");
});

test("a binding of the options replaces the agent's of the same name", async () => {
  await using place = inMemory();
  const { engine } = place;
  await engine.addAgent({ name: "reader", instructions: "Read.", bind: [{ kind: "directory", path: "." }] });
  const bind = [{ kind: "directory", name: ".", path: "/", mode: "read" }] as const;
  const session = await engine.open({ objective: "Read", agent: "reader", bind });
  const bound: unknown[] = [];
  for await (const { type } of session.events()) if (/bound/.test(type)) bound.push(type);
  assert.deepEqual(
    (await session.state()).bindings.map(({ name }) => name),
    ["."],
  );
  assert.equal(bound.length, 1, "one binding of the name is written");
});
