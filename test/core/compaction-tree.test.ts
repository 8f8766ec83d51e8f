/** The tree of a compaction: turns in stages in days, and the way to earlier trees. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countNodes,
  earlierSeq,
  findNode,
  isNodeId,
  nodesIn,
  nodesText,
  treeOf,
  type TreeTurn,
} from "../../src/core/compaction/tree.ts";

const minute = 60_000;
const monday = Date.UTC(2026, 10, 16, 9);
const turn = (number: number, at: number): TreeTurn => ({
  fromSeq: number * 10,
  toSeq: number * 10 + 9,
  at,
  input: `Ask ${number}`,
  answer: `Answer ${number}`,
  calls: number % 2,
});

test("turns of two days form days, stages by pauses and by length, and leaves", () => {
  const turns = [
    ...Array.from({ length: 10 }, (_, place) => turn(place + 1, monday + place * minute)),
    turn(11, monday + 3 * 60 * minute),
    turn(12, monday + 24 * 60 * minute),
  ];
  const nodes = treeOf(turns, null);
  assert.deepEqual(
    nodes.map(({ id, title, fromSeq, toSeq }) => [id, title, fromSeq, toSeq]),
    [
      ["d10", "2026-11-16", 10, 119],
      ["d120", "2026-11-17", 120, 129],
    ],
  );
  const [first, second] = nodes;
  assert.deepEqual(
    first?.children?.map(({ id, children = [] }) => [id, children.length]),
    [
      ["s10", 8],
      ["s90", 2],
      ["t110", 0],
    ],
  );
  assert.deepEqual(
    second?.children?.map(({ id }) => id),
    ["t120"],
  );
  assert.equal(findNode(nodes, "t30")?.summary, "Answer 3 (1 call)");
  assert.equal(findNode(nodes, "s10")?.summary.startsWith("8 turns: Ask 1; Ask 2"), true);
  assert.equal(findNode(nodes, "t999"), null);
  assert.equal(countNodes(nodes), 2 + 4 + 10);
});

test("one day needs no separate node, and the earlier tree comes first", () => {
  const nodes = treeOf([turn(5, monday)], { seq: 44, toSeq: 40, summary: "It began." });
  assert.deepEqual(
    nodes.map(({ id, fromSeq, toSeq, summary }) => [id, fromSeq, toSeq, summary]),
    [
      ["c44", 1, 40, "It began."],
      ["t50", 50, 59, "Answer 5 (1 call)"],
    ],
  );
  assert.deepEqual(nodes.map(earlierSeq), [44, null]);
  assert.match(
    nodesText(nodes),
    /^Parts of what was replaced.*\n- c44: Before, compacted at 44\n- t50: Ask 5$/,
  );
  assert.equal(nodesText([]), "");
});

test("a very long range has stages without leaves, and its text stays short", () => {
  const turns = Array.from({ length: 3_000 }, (_, place) => turn(place + 1, monday + place * 1_000));
  const nodes = treeOf(turns, null);
  assert.equal(countNodes(nodes), 375);
  assert.ok(nodesText(nodes).length < 1_000);
  assert.match(nodesText(nodes), /and 367 earlier/);
});

test("a stored tree of any shape is read, and no deeper than it can be", () => {
  const nodes = treeOf([turn(1, monday), turn(2, monday + 2 * 24 * 60 * minute)], null);
  assert.deepEqual(nodesIn(JSON.parse(JSON.stringify({ nodes }))), nodes);
  for (const content of [undefined, null, 3, [], { nodes: 3 }, { nodes: [null, 3, { id: 4 }] }])
    assert.deepEqual(nodesIn(content), []);
  let deep: Record<string, unknown> = { id: "t1", fromSeq: 1, toSeq: 1 };
  for (let level = 0; level < 50; level++) deep = { id: "s1", fromSeq: 1, toSeq: 1, children: [deep] };
  assert.equal(countNodes(nodesIn({ nodes: [deep] })), 4);
  assert.deepEqual(["t1", "c12", "x1", "t0", "t", "s1 "].map(isNodeId), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});
