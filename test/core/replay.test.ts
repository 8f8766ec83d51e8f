/** Two runs side by side: what belongs together, and what is there once only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  callKey,
  pairScores,
  pairTurns,
  totalsOf,
  type ReplayCall,
  type ReplayTurn,
} from "../../src/core/turn/run-comparison.ts";

const turnOf = (answer: string, calls: readonly (readonly [string, unknown])[] = []): ReplayTurn => ({
  turn: 1,
  startedSeq: 1,
  endedSeq: 2,
  outcome: "completed",
  inputs: ["i"],
  answer,
  steps: 1,
  inputTokens: 10,
  outputTokens: 2,
  nanoUsd: 5,
  unpriced: 0,
  calls: calls.map(([tool, input], place): ReplayCall => ({ seq: place, tool, input, status: "ok" })),
});

test("calls are the same by tool and arguments, different by tool alone, else missing or added", () => {
  const was = turnOf("a", [
    ["look", { at: 1, by: 2 }],
    ["pay", 5],
    ["gone", 0],
  ]);
  const is = turnOf("b", [
    ["come", 0],
    ["look", { by: 2, at: 1 }],
    ["pay", 7],
  ]);
  const [pair] = pairTurns([was], [is]);
  assert.deepEqual(
    pair!.calls.map(({ match, tool, original, replay }) => [match, tool, original?.seq, replay?.seq]),
    [
      ["same", "look", 0, 1],
      ["different", "pay", 1, 2],
      ["missing", "gone", 2, undefined],
      ["added", "come", undefined, 0],
    ],
  );
  assert.equal(pair!.match, "different");
});

test("turns are paired by their order; one too many is missing or added", () => {
  const [a, b] = [turnOf("a"), turnOf("b")];
  assert.deepEqual(
    pairTurns([a, b], [a]).map(({ match }) => match),
    ["same", "missing"],
  );
  assert.deepEqual(
    pairTurns([a], [a, b]).map(({ match }) => match),
    ["same", "added"],
  );
  const { turns, calls, nanoUsd } = totalsOf([a, b]);
  assert.deepEqual([turns, calls, nanoUsd], [2, 0, 10]);
});

test("scores of either are shown by name", () => {
  assert.deepEqual(pairScores(new Map([["b", 1]]), new Map([["a", 0]])), [
    { name: "a", original: null, replay: 0 },
    { name: "b", original: 1, replay: null },
  ]);
});

test("whatever was called, each call is shown once, and the same run is the same", () => {
  const calls = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat({ max: 3 })), { maxLength: 12 });
  fc.assert(
    fc.property(calls, calls, (was, is) => {
      const [pair] = pairTurns([turnOf("", was)], [turnOf("", is)]);
      const sorted = (list: readonly (number | undefined)[]) =>
        list.filter((seq) => seq !== undefined).toSorted((a, b) => a - b);
      assert.deepEqual(sorted(pair!.calls.map(({ original }) => original?.seq)), [...was.keys()]);
      assert.deepEqual(sorted(pair!.calls.map(({ replay }) => replay?.seq)), [...is.keys()]);
      for (const { match, original, replay } of pair!.calls) {
        const same = original !== null && replay !== null && callKey(original) === callKey(replay);
        assert.equal(same, match === "same");
      }
      const [again] = pairTurns([turnOf("", was)], [turnOf("", was)]);
      assert.ok(again!.calls.every(({ match }) => match === "same"));
    }),
  );
});
