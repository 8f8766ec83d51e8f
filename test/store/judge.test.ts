/** Appends before any driver sees them: what is refused, and whether a log is as expected. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { agrees, partsFlaw } from "../../src/store/judge.ts";
import type { Draft, Expect, Part } from "../../src/store/port.ts";

const draft: Draft = {
  type: "x.made",
  v: 1,
  actor: "system",
  turn: null,
  cause: null,
  key: null,
  body: "{}",
  bodyHash: "",
  content: null,
  blobs: [],
};
const part = (drafts = 1, more: Partial<Part> = {}): Part => ({
  session: "ses_1" as SessionId,
  expect: "unchecked",
  drafts: Array.from({ length: drafts }, () => draft),
  ...more,
});
const parts = (count: number, drafts: number): Part[] =>
  Array.from({ length: count }, (_, log) => part(drafts, { session: `ses_${log}` as SessionId }));

test("a log meets its expectation", () => {
  const head = [3, "hash"] as const;
  const none = [0, undefined] as const;
  const rows: readonly (readonly [Expect, boolean, boolean])[] = [
    ["unchecked", true, true],
    ["absent", false, true],
    ["exists", true, false],
    [{ seq: 3 }, true, false],
    [{ seq: 3, hash: "hash" }, true, false],
    [{ seq: 3, hash: "other" }, false, false],
    [{ seq: 2 }, false, false],
    [{ seq: 4, hash: "hash" }, false, false],
    [{ seq: 0 }, false, true],
  ];
  for (const [expect, there, absent] of rows)
    assert.deepEqual(
      [agrees(...head, expect), agrees(...none, expect)],
      [there, absent],
      JSON.stringify(expect),
    );
  assert.deepEqual([agrees(1, "hash", "exists"), agrees(1, "hash", "absent")], [true, false]);
});

test("an append has parts, each for a separate log with either drafts or a drop", () => {
  const either = "append: expected either drafts or drop";
  for (const [given, expected] of [
    [[part()], null],
    [[part(2)], null],
    [[part(0, { drop: true })], null],
    [[], "append: no parts"],
    [[part(0)], either],
    [[part(1, { drop: true })], either],
    [[part(2, { drop: true })], either],
    [[...parts(2, 1), part(0, { session: "ses_9" as SessionId })], either],
    [[part(), part()], "append: the same log twice"],
    [parts(2, 1), null],
  ] as const)
    assert.equal(partsFlaw(given), expected, JSON.stringify(given));
});

test("an append has at most so many logs and records", () => {
  const { appendLogsMax: logs, appendRecordsMax: records } = limit;
  assert.equal(partsFlaw(parts(logs, 1)), null);
  assert.match(partsFlaw(parts(logs + 1, 1)) ?? "", /expected at most \d+ logs/);
  assert.equal(partsFlaw([part(records)]), null);
  assert.match(partsFlaw([part(records + 1)]) ?? "", /records: expected at most/);
  assert.match(partsFlaw(parts(2, records / 2 + 1)) ?? "", /records: expected at most/);
});

test("a part erases ranges of positions, with drafts that say so", () => {
  type Range = readonly [number, number];
  const flaw = (ranges: readonly Range[], count = 1): string | null =>
    partsFlaw([part(count, { erase: ranges })]);
  for (const count of [1, 2]) {
    for (const range of [
      [1, 1],
      [1, 2],
      [7, 9],
    ] as const)
      assert.equal(flaw([range], count), null);
    for (const range of [
      [0, 1],
      [2, 1],
      [1, 1.5],
      [0.5, 1],
      [1, Infinity],
      [Number.NaN, 1],
    ] as const)
      assert.match(flaw([[1, 1], range], count) ?? "", /expected ranges/, String(range));
  }
  assert.match(partsFlaw([part(0, { drop: true, erase: [[1, 1]] })]) ?? "", /drop: not allowed with/);
  const most = Array.from({ length: limit.eraseRecordsMax }, (): Range => [1, 1]);
  assert.equal(flaw(most), null);
  assert.match(flaw([...most, [1, 1]]) ?? "", /at most \d+ ranges/);
  assert.match(
    partsFlaw([...parts(2, 1), part(1, { session: "ses_9" as SessionId, erase: [[0, 1]] })]) ?? "",
    /expected ranges with 1 <= fromSeq/,
  );
});
