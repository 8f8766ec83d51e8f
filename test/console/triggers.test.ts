/** Triggers and agents as they are written in forms, and said in words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionOf, emptyForm, formOf } from "../../src/console/view/agents/definition.ts";
import { emptySpec, everyWords, specOf, specWords } from "../../src/console/view/triggers/spec.ts";

test("a form becomes a trigger", () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  assert.deepEqual(specOf(emptySpec), { kind: "cron", cron: "0 9 * * 1-5", zone: own });
  assert.deepEqual(specOf({ ...emptySpec, cron: " 0 9 * * 1 ", zone: "" }), {
    kind: "cron",
    cron: "0 9 * * 1",
  });
  assert.deepEqual(specOf({ ...emptySpec, zone: " Europe/Vienna" }), {
    kind: "cron",
    cron: "0 9 * * 1-5",
    zone: "Europe/Vienna",
  });
  assert.deepEqual(specOf({ ...emptySpec, kind: "every", everyMinutes: "1.5" }), {
    kind: "every",
    everyMs: 90_000,
  });
  assert.deepEqual(specOf({ ...emptySpec, kind: "at", at: "2026-12-01T09:00Z" }), {
    kind: "at",
    at: Date.UTC(2026, 11, 1, 9),
  });
  assert.deepEqual(specOf({ ...emptySpec, kind: "webhook" }), { kind: "webhook" });
});

test("missing fields of a form are named", () => {
  for (const everyMinutes of ["", "0", "-1", "soon", "0.001"])
    assert.throws(() => specOf({ ...emptySpec, kind: "every", everyMinutes }), /^Error: Interval: expected/);
  assert.throws(() => specOf({ ...emptySpec, kind: "at", at: "" }), /^Error: Time: required/);
});

test("an interval is shown in the largest unit that fits", () => {
  assert.deepEqual([1_000, 60_000, 5_400_000, 86_400_000, 172_800_000, 1_500].map(everyWords), [
    "second",
    "minute",
    "90 minutes",
    "day",
    "2 days",
    "1,500 milliseconds",
  ]);
  const exact = (): string => "then";
  assert.equal(specWords({ kind: "every", everyMs: 3_600_000 }, exact), "every hour");
  assert.equal(specWords({ kind: "at", at: 1 }, exact), "once, then");
  assert.equal(specWords({ kind: "cron", cron: "\u001b[31m* *" }, exact), "cron ⟨U+001B⟩[31m* *");
  assert.match(specWords(null, exact), /^unreadable/);
});

test("a definition survives the form unchanged", () => {
  const definition = { name: "clerk", instructions: "Keep the books.", tools: ["record"], stepsMax: 5 };
  assert.deepEqual(definitionOf(formOf(definition)), definition);
  const whole = { ...definition, description: "A clerk", model: "offline/offline" };
  assert.deepEqual(definitionOf(formOf(whole)), whole);
});

test("settings that are not a JSON object, or repeat a field of the form, are rejected", () => {
  const form = { ...emptyForm, name: "clerk", instructions: "Keep." };
  assert.deepEqual(definitionOf({ ...form, rest: "  " }), { name: "clerk", instructions: "Keep." });
  assert.throws(() => definitionOf({ ...form, rest: "{" }), /expected JSON/);
  assert.throws(() => definitionOf({ ...form, rest: "[1]" }), /JSON object/);
  assert.throws(() => definitionOf({ ...form, rest: '{"model":"a/b"}' }), /has a separate field/);
});
