/** Keyed maps against a model: a plain Map. Also what a change costs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SortedMap } from "../../src/core/sorted-map.ts";

/** Few enough that they meet, and of several scripts, since the order is part of the canonical form. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 150 }).map((number) => `k${number}`),
  fc.constantFrom("", "__proto__", "constructor", "Z", "a", "ä", "\u{1F600}", "\uFB01"),
);
const change = fc.oneof(fc.record({ key, value: fc.nat() }), fc.record({ key, value: fc.constant(null) }));
const inOrder = (map: ReadonlyMap<string, number>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));

test("set and delete agree with a map, and earlier versions stay unchanged", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), fc.nat(), (changes, pick) => {
      let keyed = SortedMap.empty<number>();
      const map = new Map<string, number>();
      let kept = { keyed, entries: inOrder(map) };
      for (const [place, { key, value }] of changes.entries()) {
        keyed = value === null ? keyed.delete(key) : keyed.set(key, value);
        if (value === null) map.delete(key);
        else map.set(key, value);
        if (place === pick % changes.length) kept = { keyed, entries: inOrder(map) };
      }
      assert.deepEqual(keyed.toJSON(), inOrder(map));
      assert.equal(keyed.size, map.size);
      assert.deepEqual(
        [...keyed.keys()],
        inOrder(map).map(([key]) => key),
      );
      assert.deepEqual(
        [...keyed.values()],
        inOrder(map).map(([, value]) => value),
      );
      for (const { key } of changes) {
        assert.deepEqual([keyed.get(key), keyed.has(key)], [map.get(key), map.has(key)]);
      }
      assert.deepEqual(kept.keyed.toJSON(), kept.entries);
    }),
    { numRuns: 200 },
  );
});

test("entries in any order make the same map as setting them one by one", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.nat()), { maxLength: 200 }), (entries) => {
      const one = entries.reduce((keyed, [key, value]) => keyed.set(key, value), SortedMap.empty<number>());
      const all = SortedMap.from(entries);
      assert.deepEqual([all.toJSON(), all.size], [one.toJSON(), one.size]);
      const text = JSON.stringify(all);
      const read = SortedMap.from(JSON.parse(text) as [string, number][]);
      assert.equal(JSON.stringify(read), text);
    }),
  );
});

test("a large map is emptied key by key from either end, and the others stay where they are", () => {
  const keys = Array.from({ length: 300 }, (_, place) => `key-${1_000 + place}`);
  for (const order of [keys, keys.toReversed()]) {
    let keyed = SortedMap.from(keys.map((key) => [key, key] as const));
    for (const [place, key] of order.entries()) {
      keyed = keyed.delete(key);
      assert.deepEqual([keyed.size, keyed.get(key)], [299 - place, undefined]);
      const next = order[place + 1];
      if (next !== undefined) assert.equal(keyed.get(next), next);
      assert.equal(keyed.get(order.at(-1)!), place === 299 ? undefined : order.at(-1));
    }
    assert.deepEqual(keyed.set("again", "again").toJSON(), [["again", "again"]]);
  }
});

test("deleting a missing key returns the same map", () => {
  const keyed = SortedMap.from([["a", 1]]);
  assert.equal(keyed.delete("b"), keyed);
  assert.equal(SortedMap.empty<number>().delete("b").size, 0);
});

/** Milliseconds for so many changes of a map with so many entries. */
function msFor(changes: number, size: number): number {
  let keyed = SortedMap.from(Array.from({ length: size }, (_, place) => [`key-${place}`, place] as const));
  const started = performance.now();
  for (let place = 0; place < changes; place++) keyed = keyed.set(`key-${(place * 7919) % size}`, -place);
  assert.equal(keyed.size, size);
  return performance.now() - started;
}

test("a change of a large map costs about as much as one of a small map", () => {
  // Copying the whole would cost a hundred times as much; one chunk and the spine cost about twice as much.
  const ratios = Array.from({ length: 5 }, () => msFor(4_000, 10_000) / msFor(4_000, 100));
  assert.ok(Math.min(...ratios) < 12, `${ratios.join(", ")} times as much`);
});
