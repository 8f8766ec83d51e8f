/**
 * Ranking by words and by meaning together: reciprocal rank fusion of BM25 and of the similarity of vectors.
 * How similar related texts are differs between embedding models, so near is what stands out of the rest.
 */
import type { Ranked } from "./rank.ts";

export interface Fused extends Ranked {
  readonly why: "words" | "meaning" | "both";
}

/** Flattens the head of both lists: the constant of the method. */
const flattening = 60;
/** The least similarity of something near, by how many deviations it stands out, among so many at least. */
const near = { least: 0.25, deviations: 2, among: 8, alone: 0.6 } as const;
/** Parts that only meaning brings in. */
const nearMax = 3;

/** Similarities by id, from -1 to 1; ids without one are ranked by words alone. */
export function fuse(
  byWords: readonly Ranked[],
  similarities: ReadonlyMap<string, number>,
): readonly Fused[] {
  const words = new Map(byWords.map((one, place) => [one.id, { ...one, place }]));
  const byMeaning = [...similarities].toSorted((a, b) => b[1] - a[1]);
  const isNear = nearness([...similarities.values()]);
  const nearIds = new Set(
    byMeaning
      .filter(([, similarity]) => isNear(similarity))
      .slice(0, nearMax)
      .map(([id]) => id),
  );
  const meaning = new Map(byMeaning.map(([id], place) => [id, place]));
  const best = 2 / (flattening + 1);
  return [...new Set([...words.keys(), ...meaning.keys()])]
    .map((id): Fused => {
      const said = words.get(id);
      const score = (rankShare(said?.place) + rankShare(meaning.get(id))) / best;
      const isWords = said?.isRelevant === true;
      const isMeant = nearIds.has(id);
      const why = isWords && isMeant ? "both" : isMeant ? "meaning" : "words";
      return { id, score, words: said?.words ?? [], isRelevant: isWords || isMeant, why };
    })
    .toSorted((a, b) => b.score - a.score);
}

const rankShare = (place: number | undefined): number =>
  place === undefined ? 0 : 1 / (flattening + 1 + place);

function nearness(all: readonly number[]): (similarity: number) => boolean {
  if (all.length < near.among) return (similarity) => similarity >= near.alone;
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  const variance = all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / all.length;
  const least = Math.max(near.least, mean + near.deviations * Math.sqrt(variance));
  return (similarity) => similarity >= least;
}

/** The cosine of the angle between two vectors; 0 for vectors of different length, or without one. */
export function similarityOf(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) return 0;
  let [product, left, right] = [0, 0, 0];
  for (let place = 0; place < one.length; place++) {
    const [a = 0, b = 0] = [one[place], other[place]];
    product += a * b;
    left += a * a;
    right += b * b;
  }
  return left === 0 || right === 0 ? 0 : product / Math.sqrt(left * right);
}
