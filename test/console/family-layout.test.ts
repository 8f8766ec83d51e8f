import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  drawFamily,
  relativeOf,
  type FamilyDrawing,
  type FamilyMember,
} from "../../src/console/view/family/layout.ts";

/** A family as it can come to be: sessions grow, are forked anywhere, and are merged as they are then. */
const families = fc
  .array(
    fc.record({
      what: fc.constantFrom("grow", "fork", "fork", "child", "successor", "merge"),
      one: fc.nat(),
      other: fc.nat(),
      by: fc.integer({ min: 1, max: 40 }),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    interface Grown {
      session: string;
      parent: FamilyMember["parent"];
      relation?: "fork" | "child" | "successor";
      headSeq: number;
      merged: { from: string; toSeq: number; seq: number }[];
    }
    const grown: Grown[] = [{ session: "s0", parent: null, headSeq: 1, merged: [] }];
    for (const { what, one, other, by } of steps) {
      const [a, b] = [grown[one % grown.length] as Grown, grown[other % grown.length] as Grown];
      if (what === "grow") a.headSeq += by;
      if (what === "fork") {
        const seq = 1 + (by % a.headSeq);
        const parent = { session: a.session, seq };
        grown.push({ session: `s${grown.length}`, parent, headSeq: seq + 1, merged: [] });
      }
      if (what === "child" || what === "successor") {
        const parent = { session: a.session, seq: 1 + (by % a.headSeq) };
        grown.push({ session: `s${grown.length}`, parent, relation: what, headSeq: 1, merged: [] });
      }
      if (what === "merge" && a !== b) {
        a.headSeq += 1;
        a.merged = a.merged.filter(({ from }) => from !== b.session);
        a.merged.push({ from: b.session, toSeq: b.headSeq, seq: a.headSeq });
      }
    }
    return grown;
  });

const ends = (drawing: FamilyDrawing, row: number): readonly [number, number] => {
  const { spots } = drawing.lanes[row] as FamilyDrawing["lanes"][number];
  return [spots[0]?.column ?? -1, spots.at(-1)?.column ?? -1];
};

test("every session has a separate lane below its parent's, and every edge points forward", () => {
  fc.assert(
    fc.property(families, (family) => {
      const drawing = drawFamily(family);
      assert.deepEqual(
        drawing.lanes.map(({ row }) => row),
        family.map((_, row) => row),
      );
      const rowOf = new Map(drawing.lanes.map(({ session, row }) => [session, row]));
      assert.equal(rowOf.size, family.length);
      for (const { session, parent } of family)
        if (parent !== null)
          assert.ok((rowOf.get(parent.session) as number) < (rowOf.get(session) as number));
      for (const { from, to } of drawing.edges) assert.ok(from.column < to.column);
      for (const { spots } of drawing.lanes)
        for (const [place, spot] of spots.entries()) {
          assert.ok(place === 0 || (spots[place - 1]?.column ?? 0) < spot.column);
          assert.ok(spot.column < drawing.columns);
        }
      const forks = family.filter(({ parent }) => parent !== null).length;
      const merges = family.flatMap(({ merged }) => merged).length;
      assert.equal(drawing.edges.length, forks + merges);
    }),
    { numRuns: 300 },
  );
});

test("a fork crosses no lane sending down", () => {
  fc.assert(
    fc.property(families, (family) => {
      const drawing = drawFamily(family);
      for (const { what, from, to } of drawing.edges) {
        if (what === "merge") continue;
        assert.equal(to.column, from.column + 1);
        for (let row = from.row + 1; row < to.row; row++) {
          const [first, last] = ends(drawing, row);
          assert.ok(first > from.column || last < from.column, `row ${row}`);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("the same family is drawn the same", () => {
  fc.assert(
    fc.property(families, (family) => {
      assert.deepEqual(drawFamily(family), drawFamily(structuredClone(family)));
    }),
    { numRuns: 50 },
  );
});

test("a fork leaves at its position, and a merge joins at its own", () => {
  const drawing = drawFamily([
    { session: "root", parent: null, headSeq: 90, merged: [{ from: "early", toSeq: 70, seq: 85 }] },
    { session: "early", parent: { session: "root", seq: 60 }, headSeq: 70, merged: [] },
    { session: "late", parent: { session: "root", seq: 75 }, headSeq: 76, merged: [] },
  ]);
  const columnsOf = ({ session, spots, row }: FamilyDrawing["lanes"][number]) => ({
    session,
    row,
    at: spots.map(({ seq, column }) => [seq, column]),
  });
  const at = (session: string, seq: number, row: number, column: number) => ({ session, seq, row, column });
  assert.deepEqual(drawing.lanes.map(columnsOf), [
    {
      session: "root",
      row: 0,
      at: [
        [1, 0],
        [60, 1],
        [75, 2],
        [85, 4],
        [90, 5],
      ],
    },
    {
      session: "late",
      row: 1,
      at: [[76, 3]],
    },
    {
      session: "early",
      row: 2,
      at: [
        [61, 2],
        [70, 3],
      ],
    },
  ]);
  assert.deepEqual(drawing.edges, [
    { what: "fork", from: at("root", 75, 0, 2), to: at("late", 76, 1, 3) },
    { what: "fork", from: at("root", 60, 0, 1), to: at("early", 61, 2, 2) },
    { what: "merge", from: at("early", 70, 2, 3), to: at("root", 85, 0, 4) },
  ]);
  assert.equal(drawing.columns, 6);
});

test("children and successors have separate edges, and lanes from their first record on", () => {
  const drawing = drawFamily([
    { session: "root", parent: null, relation: null, headSeq: 9, merged: [] },
    { session: "child", parent: { session: "root", seq: 4 }, relation: "child", headSeq: 3, merged: [] },
    { session: "next", parent: { session: "root", seq: 9 }, relation: "successor", headSeq: 2, merged: [] },
  ]);
  assert.deepEqual(
    drawing.lanes.map(({ session, spots }) => [session, spots.map(({ seq }) => seq)]),
    [
      ["root", [1, 4, 9]],
      ["next", [1, 2]],
      ["child", [1, 3]],
    ],
  );
  assert.deepEqual(
    drawing.edges.map(({ what, from, to }) => [what, from.session, from.seq, to.session, to.seq]),
    [
      ["successor", "root", 9, "next", 1],
      ["child", "root", 4, "child", 1],
    ],
  );
});

test("an impossible lineage is drawn without an error", () => {
  const odd: FamilyMember[] = [
    { session: "a", parent: null, headSeq: 5, merged: [{ from: "b", toSeq: 9, seq: 4 }] },
    {
      session: "b",
      parent: { session: "a", seq: 3 },
      headSeq: 9,
      merged: [
        { from: "a", toSeq: 5, seq: 6 },
        { from: "elsewhere", toSeq: 2, seq: 7 },
        { from: "b", toSeq: 8, seq: 8 },
      ],
    },
    { session: "gone", parent: { session: "b", seq: 2 }, headSeq: 0, merged: [] },
    { session: "orphan", parent: { session: "left out", seq: 40 }, headSeq: 44, merged: [] },
  ];
  const drawing = drawFamily(odd);
  for (const { from, to } of drawing.edges) assert.ok(from.column < to.column);
  assert.deepEqual(
    drawing.lanes.map(({ session, depth }) => [session, depth]),
    [
      ["a", 0],
      ["b", 1],
      ["gone", 2],
      ["orphan", 0],
    ],
  );
  assert.deepEqual(drawFamily([]), { lanes: [], edges: [], columns: 1 });
});

test("a thousand forks of one session are drawn at once", () => {
  const forks = Array.from({ length: 1_000 }, (_, at) => ({
    session: `fork ${at}`,
    parent: { session: "root", seq: at + 1 },
    headSeq: at + 3,
    merged: [],
  }));
  const drawing = drawFamily([{ session: "root", parent: null, headSeq: 2_000, merged: [] }, ...forks]);
  assert.equal(drawing.lanes.length, 1_001);
  assert.equal(drawing.lanes[1]?.session, "fork 999");
});

test("arrows lead to relatives", () => {
  const drawing = drawFamily([
    { session: "root", parent: null, headSeq: 9, merged: [] },
    { session: "one", parent: { session: "root", seq: 2 }, headSeq: 4, merged: [] },
    { session: "below", parent: { session: "one", seq: 3 }, headSeq: 5, merged: [] },
    { session: "two", parent: { session: "root", seq: 5 }, headSeq: 7, merged: [] },
  ]);
  const from = (session: string) =>
    (["up", "down", "parent", "fork", "first", "last"] as const).map((way) =>
      relativeOf(drawing, session, way),
    );
  assert.deepEqual(from("root"), [null, "two", null, "two", "root", "below"]);
  assert.deepEqual(from("two"), ["root", "one", "root", null, "root", "below"]);
  assert.deepEqual(from("one"), ["two", "below", "root", "below", "root", "below"]);
  assert.deepEqual(from("below"), ["one", null, "one", null, "root", "below"]);
  assert.equal(relativeOf(drawing, "nobody", "up"), "root");
});
