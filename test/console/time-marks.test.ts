/** Marks on the timeline: few, in their places, and the ones that matter stay. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  lostStretches,
  markNear,
  markOf,
  sampleMarks,
  seqAt,
  shareOf,
  type TimelineMark,
} from "../../src/console/view/time/marks.ts";
import { markKinds } from "../../src/console/view/time/marks.ts";

const mark = (seq: number, kind: TimelineMark["kind"]): TimelineMark => ({
  seq,
  kind,
  words: `${kind} ${seq}`,
});

test("a log of 100,000 events has no more marks than there are columns, and trouble is always seen", () => {
  const turns = Array.from({ length: 100_000 }, (_, place) => mark(place + 1, "turn"));
  const all = [...turns, mark(50_000, "trouble"), mark(70_001, "checkpoint")];
  const shown = sampleMarks(all, 100_000, 300);
  assert.equal(shown.length, 300);
  assert.deepEqual(
    shown.filter(({ kind }) => kind !== "turn"),
    [mark(50_000, "trouble"), mark(70_001, "checkpoint")],
  );
});

test("of every column the mark that matters most is shown", () => {
  const marks = fc.array(
    fc
      .tuple(fc.integer({ min: 1, max: 500 }), fc.constantFrom(...markKinds))
      .map(([seq, kind]) => mark(seq, kind)),
  );
  fc.assert(
    fc.property(marks, fc.integer({ min: 1, max: 100 }), (given, columns) => {
      const shown = sampleMarks(given, 500, columns);
      assert.ok(shown.length <= columns);
      const most = Math.max(-1, ...given.map(({ kind }) => markKinds.indexOf(kind)));
      assert.equal(Math.max(-1, ...shown.map(({ kind }) => markKinds.indexOf(kind))), most);
      assert.deepEqual(
        shown.map(({ seq }) => seq),
        shown.map(({ seq }) => seq).toSorted((a, b) => a - b),
      );
    }),
  );
});

test("a place of the bar and a position stand for one another", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.nat(), (headSeq, offset) => {
      const seq = 1 + (offset % headSeq);
      assert.equal(seqAt(shareOf(seq, headSeq), headSeq), seq);
    }),
  );
  assert.deepEqual([seqAt(-1, 9), seqAt(2, 9), shareOf(1, 1)], [1, 9, 1]);
});

test("a gap in the mind is marked as rewound", () => {
  assert.deepEqual(
    lostStretches(
      [
        [1, 10],
        [15, 20],
        [30, 31],
      ],
      [],
    ),
    [
      [11, 14],
      [21, 29],
    ],
  );
  const rewind = (seq: number, toSeq: number): TimelineMark => ({ ...mark(seq, "rewind"), toSeq });
  assert.deepEqual(lostStretches([[1, 10]], []), []);
  assert.deepEqual(lostStretches([], []), []);
  assert.deepEqual(lostStretches([[1, 20]], [rewind(63, 20)]), [[21, 62]]);
  // What ends a turn is not of the transcript: it was not rewound away for that.
  assert.deepEqual(lostStretches([[1, 25]], [rewind(28, 14), rewind(29, 27)]), [[28, 28]]);
  assert.deepEqual(lostStretches([[1, 25]], [mark(27, "turn"), rewind(30, 27)]), [[28, 29]]);
  assert.deepEqual(
    lostStretches(
      [
        [1, 20],
        [64, 70],
      ],
      [rewind(63, 20)],
    ),
    [[21, 63]],
  );
});

test("the mark next to the pointer is named, if one is near", () => {
  const marks = [mark(10, "turn"), mark(12, "rewind"), mark(14, "turn")];
  assert.deepEqual(markNear(marks, 13, 3), mark(12, "rewind"));
  assert.equal(markNear(marks, 40, 3), null);
});

test("a checkpoint is marked at its position, and successful events are not marked", () => {
  const event = (type: string, body: unknown) => ({
    seq: 9,
    turn: 2,
    type,
    body,
    content: undefined,
    erased: false,
  });
  assert.deepEqual(markOf(event("checkpoint.saved", { name: "start", seq: 4 })), {
    seq: 4,
    kind: "checkpoint",
    words: "Checkpoint start saved at 4",
  });
  assert.deepEqual(markOf(event("turn.started", { inputs: [] })), { seq: 9, kind: "turn", words: "Turn 2" });
  assert.equal(markOf(event("tool.settled", { call: "c", status: "ok" })), null);
  assert.equal(markOf(event("tool.settled", { call: "c", status: "error" }))?.kind, "trouble");
});
