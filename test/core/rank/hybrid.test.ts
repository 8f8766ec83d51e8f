/** Ranking by words and by meaning together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fuse, similarityOf } from "../../../src/core/rank/hybrid.ts";
import type { Ranked } from "../../../src/core/rank/rank.ts";

const said = (id: string, isRelevant = true): Ranked => ({ id, score: 0.5, words: ["tax"], isRelevant });
/** Many that are alike, and some that stand out. */
const among = (out: Readonly<Record<string, number>>): ReadonlyMap<string, number> =>
  new Map([
    ...Array.from({ length: 40 }, (_, place) => [`other-${place}`, 0.1 + (place % 5) / 100] as const),
    ...Object.entries(out),
  ]);

test("what both find comes first; meaning alone brings in what stands out, and no more than three", () => {
  const ranked = fuse([said("both"), said("words")], among({ both: 0.8, meant: 0.7, words: 0.05 }));
  assert.deepEqual(
    ranked.filter(({ isRelevant }) => isRelevant).map(({ id, why }) => [id, why]),
    [
      ["both", "both"],
      ["words", "words"],
      ["meant", "meaning"],
    ],
  );
  assert.equal(ranked[0]?.score, 1);
  const many = fuse([], among({ a: 0.8, b: 0.8, c: 0.8, d: 0.8 }));
  assert.equal(many.filter(({ isRelevant }) => isRelevant).length, 3);
});

test("nothing is near where nothing stands out, or among few that are far", () => {
  assert.deepEqual(
    fuse([], among({})).filter(({ isRelevant }) => isRelevant),
    [],
  );
  assert.deepEqual(
    fuse(
      [],
      new Map([
        ["a", 0.5],
        ["b", 0.1],
      ]),
    ).filter(({ isRelevant }) => isRelevant),
    [],
  );
  const alone = fuse([], new Map([["a", 0.7]]));
  assert.deepEqual(
    alone.map(({ id, isRelevant }) => [id, isRelevant]),
    [["a", true]],
  );
});

test("scores are shares and in order, whatever is ranked", () => {
  const id = fc.constantFrom("a", "b", "c", "d", "e");
  const similarities = fc.dictionary(id, fc.double({ min: -1, max: 1, noNaN: true }));
  fc.assert(
    fc.property(fc.uniqueArray(id), similarities, (ids, near) => {
      const ranked = fuse(
        ids.map((one) => said(one, false)),
        new Map(Object.entries(near)),
      );
      const scores = ranked.map(({ score }) => score);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
      for (const score of scores) assert.ok(score > 0 && score <= 1);
      assert.equal(new Set(ranked.map((one) => one.id)).size, ranked.length);
    }),
  );
});

test("the similarity of vectors is their cosine, and 0 of what cannot be compared", () => {
  assert.equal(similarityOf([3, 0], [2, 0]), 1);
  assert.equal(similarityOf([1, 0], [0, 1]), 0);
  assert.equal(similarityOf([1], [-1]), -1);
  assert.equal(similarityOf([1, 2], [1]), 0);
  assert.equal(similarityOf([0, 0], [1, 1]), 0);
});
