/** Ranges of positions against a model: a set of numbers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  add,
  clip,
  includes,
  remove,
  subtract,
  union,
  type Range,
  type Ranges,
} from "../../src/core/range.ts";

const max = 24;
const position = fc.integer({ min: 1, max });
/** Also empty ones, where the end lies before the beginning. */
const range = fc.tuple(position, fc.integer({ min: 0, max })) as fc.Arbitrary<Range>;
const changes = fc.array(fc.record({ grow: fc.boolean(), range }), { maxLength: 12 });

const membersOf = (ranges: Ranges): readonly number[] =>
  Array.from({ length: max + 2 }, (_, seq) => seq).filter((seq) => includes(ranges, seq));

const spread = ([from, to]: Range): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place);

/** The same changes made to ranges and to a set. */
function build(steps: readonly { readonly grow: boolean; readonly range: Range }[]): [Ranges, Set<number>] {
  let ranges: Ranges = [];
  const set = new Set<number>();
  for (const step of steps) {
    ranges = (step.grow ? add : remove)(ranges, step.range);
    for (const seq of spread(step.range))
      if (step.grow) set.add(seq);
      else set.delete(seq);
  }
  return [ranges, set];
}

const sorted = (set: Iterable<number>): number[] => [...set].toSorted((a, b) => a - b);

/** Sorted, disjoint, never touching: so one set has one form. */
function assertCanonical(ranges: Ranges): void {
  let before = -1;
  for (const [from, to] of ranges) {
    assert.ok(from <= to && from > before + 1, JSON.stringify(ranges));
    before = to;
  }
}

test("add and remove agree with a set", () => {
  fc.assert(
    fc.property(changes, (steps) => {
      const [ranges, set] = build(steps);
      assertCanonical(ranges);
      assert.deepEqual(membersOf(ranges), sorted(set));
    }),
    { numRuns: 500 },
  );
});

test("union, subtraction and clipping agree with sets", () => {
  fc.assert(
    fc.property(changes, changes, position, (some, others, at) => {
      const [a, setA] = build(some);
      const [b, setB] = build(others);
      for (const [ranges, set] of [
        [union(a, b), setA.union(setB)],
        [subtract(a, b), setA.difference(setB)],
        [clip(a, at), new Set([...setA].filter((seq) => seq <= at))],
      ] as const) {
        assertCanonical(ranges);
        assert.deepEqual(membersOf(ranges), sorted(set));
      }
    }),
    { numRuns: 500 },
  );
});

test("touching ranges are one, and neighbours that do not touch stay apart", () => {
  assert.deepEqual(add(add([], [1, 3]), [4, 6]), [[1, 6]]);
  assert.deepEqual(add([[1, 3]], [5, 6]), [
    [1, 3],
    [5, 6],
  ]);
  assert.deepEqual(
    add(
      [
        [1, 2],
        [4, 5],
        [9, 9],
      ],
      [3, 3],
    ),
    [
      [1, 5],
      [9, 9],
    ],
  );
  assert.deepEqual(remove([[1, 9]], [4, 4]), [
    [1, 3],
    [5, 9],
  ]);
});

test("a given set is never changed", () => {
  const ranges: Ranges = Object.freeze([Object.freeze([2, 4] as const)]);
  add(ranges, [5, 6]);
  remove(ranges, [2, 2]);
  clip(ranges, 3);
  assert.deepEqual(ranges, [[2, 4]]);
});
