/** What is wrong with a context besides its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextPart, MessagePart } from "../../src/core/context/part.ts";
import { hasDrifted } from "../../src/core/context/drift.ts";
import { isSlowing, noPace, withAnswer, type Timed } from "../../src/core/context/latency.ts";
import { readSignals } from "../../src/core/context/signal.ts";
import cases from "./context/drift-cases.json" with { type: "json" };
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

test("a decision recorded anew with another value is a contradiction, unless a person asked for it", () => {
  const decide = (value: string, before: string, kind = "decision") =>
    called("record", { kind, key: "store", value }, "ok", `recorded ${kind} store${before}`);
  const was = '; before it was "sqlite"';
  assert.deepEqual(signals(decide("sqlite", ""), decide("sqlite", "")), []);
  assert.deepEqual(signals(decide("postgres", was)), ["contradiction"]);
  assert.deepEqual(signals(decide("never delete", '; before it was "delete"', "constraint")), [
    "contradiction",
  ]);
  assert.deepEqual(signals(decide("postgres", was, "fact")), []);
  const asked = said("user", "Use Postgres for the store after all");
  assert.deepEqual(signals([asked], decide("postgres", was)), []);
  const other = said("user", "Go on with the store");
  assert.deepEqual(signals([asked, other], decide("postgres", was)), ["contradiction"]);
});

/** Sessions as people write them, with the answers of a model; in the drifted ones the last three differ. */
interface DriftCase {
  readonly objective: string;
  readonly said: readonly (readonly string[])[];
}
const { ordinary, drifted }: Readonly<Record<"ordinary" | "drifted", readonly DriftCase[]>> = cases;

const exchanges = (given: readonly (readonly string[])[]): ContextPart[] =>
  given.flatMap(([input = "", answer = ""]) => [said("user", input), said("assistant", answer)]);
const driftIn = ({ objective, said: given }: DriftCase, count: number): boolean =>
  hasDrifted([
    { part: "system", text: `Objective of this session:\n${objective}` },
    ...exchanges(given.slice(0, count)),
  ]);

test("no ordinary session drifts, at any place of it", () => {
  for (const one of ordinary)
    for (const [place] of one.said.entries())
      assert.equal(driftIn(one, place + 1), false, `${one.objective} ${place + 1}`);
});

test("three exchanges about something else drift in most sessions, and not before the third", () => {
  const found = drifted.filter((one) => driftIn(one, one.said.length)).length;
  assert.ok(found >= 6, `${found} of ${drifted.length}`);
  for (const one of drifted) assert.equal(driftIn(one, one.said.length - 1), false, one.objective);
  // Any task after any other.
  const mixed = ordinary.flatMap((one) =>
    ordinary.flatMap((other) =>
      other === one ? [] : [{ ...one, said: [...one.said, ...other.said.slice(0, 3)] }],
    ),
  );
  const drifting = mixed.filter((one) => driftIn(one, one.said.length)).length;
  assert.ok(drifting >= mixed.length * 0.75, `${drifting} of ${mixed.length}`);
});

test("short inputs, and a session without a subject, do not drift", () => {
  const [one] = ordinary;
  assert.ok(one !== undefined);
  const short = ["Yes", "go on", "ok", "and now?"].map((text) => [text, "Done."] as const);
  assert.equal(driftIn({ ...one, said: [...one.said, ...short] }, 99), false);
  const bare = { objective: "Chat", said: one.said.map(([input = ""]) => [input, "Ok."]) };
  assert.equal(driftIn(bare, 99), false);
});

test("latency grows when the latest answers take three times as long, by their length", () => {
  const after = (given: readonly Timed[]): boolean => isSlowing(given.reduce(withAnswer, noPace));
  const many = (ms: number, tokens: number, times: number): Timed[] =>
    Array.from({ length: times }, () => [ms, tokens]);
  assert.equal(after([...many(3_000, 100, 8), ...many(9_000, 100, 8)]), true);
  assert.equal(after([...many(3_000, 100, 8), ...many(9_000, 100, 7)]), false);
  assert.equal(after([...many(3_000, 100, 8), ...many(8_900, 100, 8)]), false);
  // Longer answers take longer.
  assert.equal(after([...many(3_000, 100, 8), ...many(30_000, 2_000, 8)]), false);
  // Quick ones bother nobody.
  assert.equal(after([...many(100, 100, 8), ...many(1_900, 100, 8)]), false);
  assert.equal(after([...many(3_000, 100, 8), ...many(9_000, 100, 8), ...many(3_000, 100, 8)]), false);
});

test("of 300 sessions of 200 answers with steady latency at most one is found slow", () => {
  // A generator of its own: the figure is the same in every run.
  let seed = 7;
  const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
  const normal = (): number => Math.sqrt(-2 * Math.log(next() || 1)) * Math.cos(2 * Math.PI * next());
  let found = 0;
  for (let session = 0; session < 300; session++) {
    let pace = noPace;
    let slow = false;
    for (let answer = 0; answer < 200; answer++) {
      const tokens = Math.round(300 * Math.exp(0.8 * normal()));
      const ms = (2_000 + 20 * tokens) * Math.exp(0.4 * normal());
      pace = withAnswer(pace, [ms, tokens]);
      slow ||= isSlowing(pace);
    }
    if (slow) found += 1;
  }
  assert.ok(found <= 1, `${found} of 300`);
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
