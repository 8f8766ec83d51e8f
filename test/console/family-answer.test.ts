import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countOpen,
  firstAnswer,
  mergeAnswer,
  nextOpen,
  ownAnswer,
  standingOf,
  takesOf,
  type Answers,
  type Conflict,
  type ConflictSide,
} from "../../src/console/view/merge/conflict-answer.ts";

const side = (value: unknown, seq: number, more: Partial<ConflictSide> = {}): ConflictSide => ({
  value,
  status: null,
  actor: "system",
  at: 1,
  because: null,
  seq,
  gone: null,
  ...more,
});

const conflict = (key: string, more: Partial<Conflict> = {}): Conflict => ({
  name: `fact/${key}`,
  kind: "fact",
  key,
  base: null,
  ours: side(4.2, 70),
  theirs: side(4.6, 80),
  ...more,
});

const rate = conflict("rate");
const note = conflict("note", { ours: side("by hand", 71) });

test("an answer has the form that the engine accepts", () => {
  const given = (take: "ours" | "theirs" | "both", because = ""): Answers => ({
    "fact/rate": { ...firstAnswer(rate, take, undefined), because },
  });
  assert.equal(mergeAnswer(rate, {}), undefined);
  assert.deepEqual(mergeAnswer(rate, given("ours")), { take: "ours" });
  assert.deepEqual(mergeAnswer(rate, given("both", " it is newer ")), {
    take: "both",
    because: "it is newer",
  });
});

test("a custom value starts as ours, and is JSON or text", () => {
  const first = firstAnswer(rate, "value", undefined);
  assert.deepEqual([first.text, first.isJson], ["4.2", true]);
  assert.deepEqual(mergeAnswer(rate, { "fact/rate": first }), { take: "value", value: 4.2 });
  const wrong: Answers = { "fact/rate": { ...first, text: "{" } };
  assert.equal(standingOf(rate, wrong["fact/rate"]), "wrong");
  assert.equal(mergeAnswer(rate, wrong), undefined);
  const text: Answers = { "fact/note": { ...firstAnswer(note, "value", undefined), text: "4.3" } };
  assert.deepEqual(mergeAnswer(note, text), { take: "value", value: "4.3" });
  const task = conflict("send", { kind: "task", ours: side("send", 5, { status: "done" }) });
  const own: Answers = { "fact/send": firstAnswer(task, "value", undefined) };
  assert.deepEqual(mergeAnswer(task, own), { take: "value", value: "send", status: "done" });
});

test("an answer is cached, and requested again when a side has changed", () => {
  const answers: Answers = {
    "fact/rate": { ...firstAnswer(rate, "theirs", undefined), because: "newer" },
    "fact/note": firstAnswer(note, "ours", undefined),
  };
  const moved = conflict("rate", { theirs: side(4.7, 81) });
  assert.deepEqual(
    [moved, note].map((one) => standingOf(one, ownAnswer(answers, one.name))),
    ["moved", "answered"],
  );
  assert.equal(mergeAnswer(moved, answers), undefined);
  const again = firstAnswer(moved, "theirs", answers["fact/rate"]);
  assert.deepEqual(mergeAnswer(moved, { "fact/rate": again }), { take: "theirs", because: "newer" });
});

test("both are offered only where both are there", () => {
  assert.deepEqual(takesOf(rate), ["ours", "theirs", "value", "both"]);
  const gone = conflict("rate", { theirs: side(null, 9, { gone: "retracted" }) });
  assert.deepEqual(takesOf(gone), ["ours", "theirs", "value"]);
});

test("the next open conflict is the one after this, and round", () => {
  const third = conflict("third");
  const all = [rate, note, third];
  const answers: Answers = { "fact/note": firstAnswer(note, "ours", undefined) };
  assert.equal(nextOpen(all, answers, null), "fact/rate");
  assert.equal(nextOpen(all, answers, "fact/rate"), "fact/third");
  assert.equal(nextOpen(all, answers, "fact/third"), "fact/rate");
  assert.equal(countOpen(all, answers), 2);
  assert.equal(nextOpen([note], answers, null), null);
  assert.equal(countOpen([note], answers), 0);
});

test("a key like a name of every object is a key like others", () => {
  const odd = conflict("x", { name: "constructor" });
  assert.equal(standingOf(odd, ownAnswer({}, odd.name)), "open");
});
