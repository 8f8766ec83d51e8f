/** The time line of a project: lines of work, their bars and seams, and the ticks below. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  linesOf,
  placeOf,
  rangeOf,
  ranges,
  ticksOf,
  type ProjectNode,
} from "../../src/console/view/projects/lines.ts";

type Relation = ProjectNode["relation"];

const idOf = (place: number): ProjectNode["session"] =>
  `ses_${String(place).padStart(26, "0")}` as ProjectNode["session"];

const node = (
  place: number,
  {
    parent,
    relation = null,
    from = 0,
    to = 10,
    status = "closed",
  }: {
    parent?: number;
    relation?: Relation;
    from?: number;
    to?: number;
    status?: ProjectNode["status"];
  } = {},
): ProjectNode => ({
  session: idOf(place),
  depth: 0,
  parent: parent === undefined ? null : { session: idOf(parent), seq: 1 },
  relation,
  status,
  name: `work ${place}`,
  objective: null,
  agent: null,
  headSeq: 3,
  openedAt: from,
  activeAt: to,
  merged: [],
});

test("a session and its successors are one line with seams; forks and children come behind it", () => {
  const nodes = [
    node(1, { from: 0, to: 12 }),
    node(2, { parent: 1, relation: "successor", from: 10, to: 20, status: "running" }),
    node(3, { parent: 1, relation: "fork", from: 5, to: 9 }),
    node(4, { parent: 2, relation: "child", from: 15, to: 16, status: "suspended" }),
    node(5, { from: 1, to: 90, status: "open" }),
  ];
  const lines = linesOf(nodes, 100);
  assert.deepEqual(
    lines.map(({ id, origin, title }) => [id, origin, title]),
    [
      [idOf(5), null, "work 5"],
      [idOf(1), null, "work 2"],
      [idOf(4), "child", "work 4"],
      [idOf(3), "fork", "work 3"],
    ],
  );
  assert.deepEqual(
    lines[1]?.bars.map(({ number, from, to, tone, isSeam }) => [number, from, to, tone, isSeam]),
    [
      [1, 0, 10, "done", false],
      [2, 10, 100, "busy", true],
    ],
  );
});

test("every session is in one line, once, whatever the lineage says", () => {
  const some = fc.array(
    fc.record({
      parent: fc.option(fc.nat(12), { nil: undefined }),
      relation: fc.constantFrom<Relation>("fork", "child", "successor"),
      from: fc.nat(1_000),
      long: fc.nat(1_000),
      status: fc.constantFrom<ProjectNode["status"]>("open", "running", "closed", "sleeping", "absent"),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(some, fc.constantFrom(...ranges), (given, name) => {
      const nodes = given.map(({ parent, relation, from, long, status }, place) =>
        node(place, {
          from,
          to: from + long,
          status,
          ...(parent === undefined ? {} : { parent, relation }),
        }),
      );
      const lines = linesOf(nodes, 5_000);
      const found = lines.flatMap(({ bars }) => bars.map(({ session }) => session));
      assert.deepEqual(found.toSorted(), nodes.map(({ session }) => session).toSorted());
      const range = rangeOf(lines, name, 5_000);
      for (const { bars } of lines) {
        for (const bar of bars) {
          const place = placeOf(bar, range);
          if (place === null) continue;
          assert.ok(place.left >= 0 && place.width >= 0 && place.left + place.width <= 100.000_1);
        }
      }
      assert.ok(ticksOf(range).length <= 7);
    }),
  );
});

test("the ticks are whole hours or days, and the periods end a little behind now", () => {
  const day = 86_400_000;
  const range = rangeOf([], "week", 100 * day);
  assert.deepEqual([range.from, Math.round((range.to - 100 * day) / 3_600_000)], [93 * day, 7]);
  const ticks = ticksOf(range);
  assert.ok(ticks.length > 2 && ticks.every(({ at, isDay }) => isDay && at % day === 0));
  const hours = ticksOf({ from: 0, to: day });
  assert.ok(hours.every(({ at, isDay }) => !isDay && at % 3_600_000 === 0));
});
