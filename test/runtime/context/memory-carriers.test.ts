/** Which sessions carry an entry of memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { all } from "../place.ts";
import { scripted } from "../turn/scripted.ts";

test("memoryCarriers names the sessions that carry an entry, and whether its current value", async () => {
  const { models } = scripted(["Well."]);
  await using engine = await openEngine({ store: "memory:", models });
  await engine.addAgent({ name: "payroll", instructions: "Pay." });
  await engine.addAgent({ name: "other", instructions: "Else." });
  const rate = { scope: "agent", owner: "payroll", kind: "fact", key: "base-rate" } as const;
  await engine.remember({ ...rate, value: "4.3" });
  const objective = "What is the base rate?";
  const [first, second] = [
    await engine.open({ objective, agent: "payroll", name: "First" }),
    await engine.open({ objective, agent: "payroll" }),
  ];
  await engine.open({ objective, agent: "payroll", memory: false });
  await engine.open({ objective, agent: "other" });
  const carriers = async () => {
    const page = await engine.memoryCarriers(rate);
    assert.deepEqual([page.looked, page.cursor], [3, null]);
    return page.carriers.toSorted((a, b) => (a.session < b.session ? -1 : 1));
  };
  const both = await carriers();
  assert.deepEqual(
    both.map(({ session, name, current }) => [session, name, current]),
    [
      [first.id, "First", true],
      [second.id, null, true],
    ],
  );
  for (const { session, seq } of both) {
    const [event] = await all((await engine.session(session)).events({ types: ["memory.carried"] }));
    assert.equal(event?.seq, seq);
  }
  await engine.remember({ ...rate, value: "4.4" });
  await all(first.ask("And now?"));
  assert.deepEqual(
    (await carriers()).map(({ session, current }) => [session, current]),
    [
      [first.id, true],
      [second.id, false],
    ],
  );
});

test("memoryCarriers refuses what is not there or not right", async () => {
  await using engine = await openEngine({ store: "memory:", models: scripted(["Well."]).models });
  await engine.remember({ scope: "workspace", kind: "fact", key: "base-rate", value: "4.3" });
  const of = (more: object) =>
    engine.memoryCarriers({ scope: "workspace", kind: "fact", key: "base-rate", ...more });
  assert.deepEqual((await of({})).carriers, []);
  await assert.rejects(of({ key: "base-rat" }), { code: "not-found", hint: /did you mean "base-rate"\?/ });
  await assert.rejects(of({ scope: "galaxy" }), { code: "invalid", message: /memoryCarriers: scope: / });
  await assert.rejects(of({ scope: "agent" }), { code: "invalid", message: /owner/ });
  await assert.rejects(of({ cursor: "nonsense" }), { code: "invalid", message: /cursor/ });
});
