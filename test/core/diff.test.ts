/** Differences of items, fields and lists. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffFields, diffItems, diffLists, type DiffItem } from "../../src/core/branch/diff.ts";

const item = (key: string, value: unknown, more: Partial<DiffItem> = {}): DiffItem => ({
  kind: "fact",
  key,
  value,
  because: null,
  status: null,
  erased: false,
  ...more,
});

test("items are added, removed or changed, by kind and key", () => {
  const [same, gone, old, now, fresh] = [
    item("same", { a: 1, b: 2 }),
    item("gone", 1),
    item("x", 1),
    item("x", 1, { because: "b" }),
    item("x", 1, { kind: "task", status: "open" }),
  ];
  const again = item("same", { b: 2, a: 1 });
  assert.deepEqual(diffItems([same, gone, old], [fresh, now, again]), [
    { change: "removed", kind: "fact", key: "gone", from: gone, to: null },
    { change: "changed", kind: "fact", key: "x", from: old, to: now },
    { change: "added", kind: "task", key: "x", from: null, to: fresh },
  ]);
  const erased = item("x", null, { erased: true });
  assert.equal(diffItems([item("x", null)], [erased]).length, 1);
  assert.deepEqual(diffItems([erased], [erased]), []);
});

test("fields are compared one by one, lists as a whole", () => {
  const from = { a: 1, deep: { x: 1, y: [1, 2] }, gone: "g", empty: null };
  const to = { a: 1, deep: { x: 2, y: [1, 2, 3] }, fresh: { z: 1 }, empty: {} };
  assert.deepEqual(diffFields(from, to), [
    { field: "deep.x", from: 1, to: 2 },
    { field: "deep.y", from: [1, 2], to: [1, 2, 3] },
    { field: "gone", from: "g", to: undefined },
    { field: "empty", from: null, to: {} },
    { field: "fresh", from: undefined, to: { z: 1 } },
  ]);
});

test("lists share a prefix; differing entries after it are removed or added", () => {
  assert.deepEqual(diffLists(["a", "b", "c", "d"], ["a", "b", "x", "c"]), {
    shared: 2,
    removed: [3],
    added: [2],
  });
  assert.deepEqual(diffLists([], ["a"]), { shared: 0, removed: [], added: [0] });
});

test("after a difference the rest of both lists is the same", () => {
  const list = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(
    fc.property(list, list, (from, to) => {
      const { shared, removed, added } = diffLists(from, to);
      const left = from.filter((_, place) => !removed.includes(place));
      assert.deepEqual(
        left,
        to.filter((_, place) => !added.includes(place)),
      );
      assert.deepEqual(from.slice(0, shared), to.slice(0, shared));
      assert.ok(from[shared] === undefined || from[shared] !== to[shared]);
      assert.deepEqual(diffLists(from, from), { shared: from.length, removed: [], added: [] });
    }),
  );
});
