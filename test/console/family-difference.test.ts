import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compareItems,
  fieldText,
  fieldWords,
  type DiffItem,
} from "../../src/console/view/compare/difference.ts";

const item = (key: string, value: unknown, more: Partial<DiffItem> = {}): DiffItem => ({
  kind: "fact",
  key,
  value,
  because: null,
  status: null,
  erased: false,
  ...more,
});

const change = (key: string, from: DiffItem | null, to: DiffItem | null) => ({
  change: from === null ? ("added" as const) : to === null ? ("removed" as const) : ("changed" as const),
  kind: "fact" as const,
  key,
  from,
  to,
});

test("each side is compared with the common ancestor", () => {
  const base = [item("rate", 4.1), item("note", { a: 1, b: 2 }), item("old", "x")];
  const changes = compareItems(
    [
      change("rate", item("rate", 4.2), item("rate", 4.6)),
      change("note", item("note", { b: 2, a: 1 }), null),
      change("old", null, item("old", "x", { because: "now with a reason" })),
      change("left", item("left", 1), null),
      change("right", null, item("right", 1)),
    ],
    base,
  ).map(({ key, base: was, leftChange, rightChange }) => [key, was?.value ?? null, leftChange, rightChange]);
  assert.deepEqual(changes, [
    ["rate", 4.1, "changed", "changed"],
    ["note", { a: 1, b: 2 }, null, "retracted"],
    ["old", "x", "retracted", "changed"],
    ["left", null, "added", null],
    ["right", null, null, "added"],
  ]);
});

test("without anything in common all was added", () => {
  const [one] = compareItems([change("rate", item("rate", 1), item("rate", 2))], []);
  assert.deepEqual([one?.base, one?.leftChange, one?.rightChange], [null, "added", "added"]);
});

test("fields of a state are shown in words", () => {
  assert.equal(fieldWords("budget.used.toolCalls"), "budget, used, tool calls");
  assert.equal(fieldWords("labels.constructor"), "labels, constructor");
  assert.deepEqual([undefined, null, "", 0, false, "open", [1, "a"]].map(fieldText), [
    null,
    null,
    null,
    "0",
    "false",
    "open",
    '[1,"a"]',
  ]);
});
