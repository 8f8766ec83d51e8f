/** Kinds of items: the built-in ones, those of an agent, and what older programs make of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { all, inMemory } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const poet: AgentDefinition = {
  name: "poet",
  instructions: "Write.",
  kinds: {
    verse: {
      description: "a line of the poem",
      schema: {
        type: "object",
        properties: { text: { type: "string" }, line: { type: "integer" } },
        required: ["text"],
        additionalProperties: false,
      },
    },
  },
};

test("new kinds and rejected decisions are written as version 2, old kinds as version 1", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Find the leak" });
  await session.record("fact", "heap", "4 GB");
  await session.record("hypothesis", "cache", "The cache leaks", {
    confidence: 0.6,
    evidence: ["4x8kz1@12"],
  });
  await session.record("decision", "rewrite", "Rewrite it", { status: "rejected", because: "too slow" });
  await session.record("constraint", "no-downtime", "Never stop the server");
  await session.record("decision", "profile", "Profile first", { because: "cheap" });
  await session.retract("constraint", "no-downtime");
  const events = await all(session.events({ types: ["item.recorded", "item.retracted"] }));
  assert.deepEqual(
    events.map(({ v, body }) => [v, (body as { kind: string }).kind]),
    [
      [1, "fact"],
      [2, "hypothesis"],
      [2, "decision"],
      [2, "constraint"],
      [1, "decision"],
      [2, "constraint"],
    ],
  );
  const [hypothesis] = (await session.items()).filter(({ kind }) => kind === "hypothesis");
  assert.equal(hypothesis?.status, "open");
  assert.equal(hypothesis?.confidence, 0.6);
  assert.deepEqual(hypothesis?.evidence, ["4x8kz1@12"]);
  const { text } = await session.handoff();
  assert.match(text, /## Hypotheses\n\n- \[[^\]]+\] cache: open, confidence 0\.6: The cache leaks/);
  assert.match(text, /rewrite: rejected: Rewrite it; because too slow/);
});

test("a merge brings kind, status, confidence and evidence along", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Find the leak" });
  const fork = await session.fork({ objective: "Look at the cache" });
  await fork.record("finding", "leak", "The cache never evicts", {
    confidence: 0.9,
    evidence: ["heap dump"],
  });
  await fork.record("hypothesis", "cache", "The cache leaks", { status: "supported" });
  await session.merge({ from: fork.id });
  const items = await session.items();
  assert.deepEqual(
    items.map(({ kind, status, confidence, evidence }) => ({ kind, status, confidence, evidence })),
    [
      { kind: "finding", status: null, confidence: 0.9, evidence: ["heap dump"] },
      { kind: "hypothesis", status: "supported", confidence: undefined, evidence: undefined },
    ],
  );
});

test("an agent's own kind is offered to the model, and its values match the schema", async () => {
  const script = scripted([
    [use("record", { kind: "verse", key: "one", value: { text: 5 } }, "bad")],
    [use("record", { kind: "verse", key: "one", value: { text: "Roses" } }, "good")],
    "Done.",
  ]);
  await using engine = engineWith(script);
  await engine.addAgent(poet);
  const session = await engine.open({ objective: "Write a poem", agent: "poet" });
  await session.ask("Begin.").result;
  const offered = script.calls[0]?.parts.find((part) => part.part === "tools");
  const record = offered?.part === "tools" ? offered.tools.find(({ name }) => name === "record") : undefined;
  assert.ok(record !== undefined);
  assert.match(record.description, /verse: a line of the poem/);
  const { kind } = (record.input as { properties: { kind: { enum: string[] } } }).properties;
  assert.ok(kind.enum.includes("verse") && kind.enum.includes("hypothesis"));
  const settled = await all(session.events({ types: ["tool.settled"] }));
  assert.deepEqual(
    settled.map(({ body }) => (body as { status: string }).status),
    ["error", "ok"],
  );
  assert.match(JSON.stringify(settled[0]?.content), /verse .*value: text: expected/);
  assert.deepEqual(
    (await session.items()).map(({ kind: one, value }) => [one, value]),
    [["verse", { text: "Roses" }]],
  );
  await assert.rejects(session.record("verse", "two", { words: 1 }), { code: "invalid" });
  await assert.rejects(session.record("vers", "two", 1), {
    message: /record: kind: expected one of fact, .*, verse, got "vers"/,
    hint: "did you mean verse?",
  });
});

test("an agent's kinds are refused when they take a built-in name or an unsafe schema", async () => {
  await using place = inMemory();
  const add = (kinds: unknown) => place.engine.addAgent({ ...poet, kinds } as AgentDefinition);
  await assert.rejects(add({ fact: {} }), { message: /built in/ });
  await assert.rejects(add({ "Bad Kind": {} }), { code: "invalid" });
  await assert.rejects(add({ verse: { schema: { type: "string", pattern: "(a+)+" } } }), {
    message: /kinds\.verse\.schema: pattern: .*exponential/,
  });
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, place) => [`k${place}`, {}]));
  await assert.rejects(add(many), { message: /at most 20 kinds/ });
});
