/** Session tools: from arguments to acts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionTools } from "../../src/tool/session.ts";

async function act(name: string, input: unknown): Promise<unknown> {
  const tool = sessionTools.find((one) => one.name === name);
  assert.ok(tool !== undefined);
  const checked = await tool.check(input);
  return checked.ok ? tool.act(checked.value) : checked.message;
}

const given: readonly [string, object, object][] = [
  ["record", { kind: "fact", key: "base-rate", value: 4.1 }, {}],
  ["record", { kind: "decision", key: "db", value: "sqlite", because: "one file" }, {}],
  ["record", { kind: "task", key: "ship", value: { step: [1] }, status: "done" }, {}],
  ["retract", { kind: "fact", key: "base-rate" }, {}],
  ["scratch", { key: "plan", value: ["a", { b: null }] }, {}],
  ["scratch", { key: "plan" }, {}],
  ["recall", { fromSeq: 3, toSeq: 9 }, {}],
  ["recall", { fromSeq: 3, fromChar: 0 }, {}],
  ["recall", { text: "base rate" }, {}],
  ["recall", { kind: "fact" }, {}],
  ["send", { to: "ses_x", text: "hello", topic: "rates" }, {}],
  ["fork", { objective: "What if?", budget: { usd: 1 } }, {}],
  ["open", { objective: "Look it up", agent: "scout", budget: { steps: 3 }, wait: true }, {}],
  ["plan", {}, {}],
  ["plan", { tickets: [{ id: "api", title: "Serve it", after: ["db"], accept: ["file: a.txt"] }] }, {}],
  ["sleep", {}, {}],
];

test("arguments become the act of the same name, and nothing is added", async () => {
  for (const [name, input, more] of given)
    assert.deepEqual(await act(name, input), { act: name, ...input, ...more });
});

test("a time to sleep until, or a while, becomes milliseconds", async () => {
  const moment = Date.UTC(2026, 11, 1, 9);
  assert.deepEqual(await act("sleep", { until: "2026-12-01T09:00:00Z" }), { act: "sleep", untilMs: moment });
  assert.deepEqual(await act("sleep", { until: "2026-12-01T10:00:00+01:00", reason: "rates" }), {
    act: "sleep",
    untilMs: moment,
    reason: "rates",
  });
  assert.deepEqual(await act("sleep", { until: "2026-12-01" }), {
    act: "sleep",
    untilMs: Date.UTC(2026, 11, 1),
  });
  assert.deepEqual(await act("sleep", { forSeconds: 1.5 }), { act: "sleep", forMs: 1_500 });
});

test("the model gets an error for invalid requests", async () => {
  const refused: readonly [string, object, RegExp][] = [
    ["record", { kind: "decision", key: "db", value: "sqlite" }, /because: required for a decision/],
    ["record", { kind: "fact", key: "a", value: 1, status: "open" }, /status: not a status of this kind/],
    ["record", { kind: "fact", key: "", value: 1 }, /key: expected one line of 1 to 200/],
    ["record", { kind: "fact", key: "a".repeat(201), value: 1 }, /key: expected one line of 1 to 200/],
    ["record", { kind: "fact", key: "a\nb", value: 1 }, /key: expected one line/],
    ["record", { kind: "fact", key: "a" }, /value/],
    ["record", { kind: "A note", key: "a", value: 1 }, /kind/],
    ["record", { kind: "fact", key: "a", value: 1, extra: 1 }, /extra/],
    ["recall", {}, /specify fromSeq/],
    ["recall", { toSeq: 3 }, /toSeq: requires fromSeq at or before it/],
    ["recall", { fromSeq: 4, toSeq: 3 }, /toSeq: requires fromSeq at or before it/],
    ["recall", { key: "a" }, /kind: requires key/],
    ["recall", { fromChar: 3 }, /fromChar: requires the fromSeq/],
    ["recall", { fromSeq: 0 }, /fromSeq/],
    ["plan", { tickets: [] }, /tickets/],
    ["plan", { tickets: [{ id: "a b", title: "A" }] }, /id: expected at most 40 letters/],
    ["send", { to: "ses_x" }, /text/],
    ["sleep", { until: "tomorrow" }, /until: expected an ISO 8601 time/],
    ["sleep", { until: "2026-12-01T09:00:00" }, /with a zone/],
    ["sleep", { until: "2026-12-01", forSeconds: 3 }, /not both/],
    ["sleep", { forSeconds: -1 }, /forSeconds/],
  ];
  for (const [name, input, says] of refused) assert.match(String(await act(name, input)), says);
});

test("the schemas say a type for everything, since not every provider takes one without", () => {
  const untyped = (schema: unknown, path: string): string[] => {
    if (typeof schema !== "object" || schema === null) return [];
    const { type, anyOf, properties = {}, items } = schema as Record<string, object | undefined>;
    return [
      ...(type === undefined && anyOf === undefined ? [path] : []),
      ...Object.entries(properties).flatMap(([name, inner]) => untyped(inner, `${path}.${name}`)),
      ...(Array.isArray(anyOf) ? anyOf.flatMap((inner, place) => untyped(inner, `${path}|${place}`)) : []),
      ...untyped(items, `${path}[]`),
    ];
  };
  assert.deepEqual(untyped({ type: "object", properties: { a: {} } }, "x"), ["x.a"]);
  for (const { name, input } of sessionTools) assert.deepEqual(untyped(input, name), []);
  assert.deepEqual(
    sessionTools.map(({ name }) => name),
    ["record", "retract", "remember", "scratch", "recall", "lookup", "send", "fork", "open", "plan", "sleep"],
  );
});
