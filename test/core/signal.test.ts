/** What is wrong with a context besides its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextPart, MessagePart } from "../../src/core/context/part.ts";
import { readSignals } from "../../src/core/context/signal.ts";
import { readZone, zoneReasons } from "../../src/core/context/zone.ts";

let number = 0;
function called(
  tool: string,
  input: Record<string, unknown>,
  status: "ok" | "error",
  text: string,
): MessagePart[] {
  const call = `call_${++number}`;
  return [
    { part: "message", role: "assistant", content: [{ type: "tool-call", call, tool, input }] },
    { part: "message", role: "tool", content: [{ type: "tool-result", call, tool, status, text }] },
  ];
}
const said = (role: "user" | "assistant", text: string): MessagePart => ({
  part: "message",
  role,
  content: [{ type: "text", text }],
});
const signals = (...parts: readonly (readonly ContextPart[])[]) =>
  readSignals(parts.flat(), (tool) => tool === "read");

test("the same call that fails three times is a signal, until it succeeds", () => {
  const fails = () => called("build", { target: "all" }, "error", "exit 1");
  assert.deepEqual(signals(fails(), fails()), []);
  assert.deepEqual(signals(fails(), called("build", { target: "one" }, "error", "x"), fails()), []);
  assert.deepEqual(signals(fails(), fails(), fails()), ["repeated-failure"]);
  assert.deepEqual(signals(fails(), fails(), fails(), called("build", { target: "all" }, "ok", "built")), []);
});

test("reading the same unchanged file three times is a signal, other reads are not", () => {
  const read = (text: string) => called("read", { path: "a.ts" }, "ok", text);
  assert.deepEqual(signals(read("1"), read("1"), read("1")), ["reread"]);
  assert.deepEqual(signals(read("1"), read("2"), read("1")), []);
  const post = () => called("post", { path: "a.ts" }, "ok", "1");
  assert.deepEqual(signals(post(), post(), post()), []);
});

test("a decision with another value under the same key is a contradiction", () => {
  const decide = (key: string, value: unknown) =>
    called("record", { kind: "decision", key, value }, "ok", "ok");
  assert.deepEqual(signals(decide("store", "sqlite"), decide("store", "sqlite"), decide("log", 1)), []);
  assert.deepEqual(signals(decide("store", "sqlite"), decide("store", "postgres")), ["contradiction"]);
  const fact = () => called("record", { kind: "fact", key: "rate", value: ++number }, "ok", "ok");
  assert.deepEqual(signals(fact(), fact()), []);
});

test("three inputs in a row about nothing that was said before are another task", () => {
  const work = [
    { part: "system", text: "Keep the payroll running and correct." } as const,
    ...[
      "Check the payroll of March for missing overtime",
      "Compare overtime hours with the roster",
      "Fix overtime of crew seven in payroll",
    ].flatMap((text) => [said("user", text), said("assistant", "The overtime payroll entries match.")]),
  ];
  const trip = [
    "Book flights from Lisbon towards Oslo",
    "Which hotel near harbour has breakfast",
    "Rent bikes along fjord trails tomorrow",
  ];
  const asked = trip.map((text) => said("user", text));
  assert.deepEqual(signals(work), []);
  assert.deepEqual(signals(work, asked.slice(0, 2)), []);
  assert.deepEqual(signals(work, asked), ["drift"]);
  assert.deepEqual(signals(work, asked.slice(0, 2), [said("user", "Then show payroll entries again")]), []);
  assert.deepEqual(
    signals(
      work,
      ["Yes", "go on", "ok"].map((text) => said("user", text)),
    ),
    [],
  );
});

test("a signal strains a context of any size and is named; it never makes it full", () => {
  const measure = { tokens: 1_000, windowTokens: 1_000_000, turns: 1, ageMs: 0 };
  assert.equal(readZone(measure).zone, "smart");
  const reading = readZone({ ...measure, signals: ["reread", "drift"] });
  assert.deepEqual([reading.zone, reading.by], ["strained", ["reread", "drift"]]);
  assert.deepEqual(zoneReasons({ ...reading }), [
    "the same is read again and again",
    "the last inputs look like another task",
  ]);
  assert.deepEqual(readZone({ ...measure, tokens: 900_000, signals: ["drift"] }).by, ["share", "drift"]);
});

test("three hours and 120,000 tokens are strained on every window", () => {
  for (const windowTokens of [128_000, 200_000, 400_000, 1_000_000, 2_000_000]) {
    const { zone } = readZone({ tokens: 120_000, windowTokens, turns: 40, ageMs: 3 * 3_600_000 });
    assert.notEqual(zone, "smart", String(windowTokens));
  }
});
