/**
 * Which entries of memory a text is about. One shared word is not relevance, unless it is the subject of an
 * entry, which its key begins with, or an identifier; several shared words are, unless another entry that
 * looks the same shares more of them. Measured on bench/memory-labels.ts.
 */
import type { Relevance, RelevanceHit } from "./relevance.ts";

/** The least share of the best score, and of the score of a distinctive word in a key. */
const several = { best: 0.2, telling: 0.5 } as const;
const subject = { best: 0.3, telling: 0.3 } as const;
const topic = { best: 0.5, telling: 0.3 } as const;
/** Entries that share so many of their words look the same: `host-eu-1` and `host-us-1`. */
const likenessMin = 0.3;
/** Better entries that one is compared with. */
const comparedMax = 50;

/** The best first. */
export function relevantHits(
  relevance: Relevance,
  about: string,
  may: (id: string) => boolean,
): readonly RelevanceHit[] {
  const hits = relevance.about(about, may).toSorted((a, b) => b.score - a.score);
  const best = hits[0]?.score ?? 0;
  const { telling } = relevance;
  const reaches = ({ score }: RelevanceHit, least: typeof several | typeof subject | typeof topic): boolean =>
    score >= best * least.best && score >= telling * least.telling;
  const isAbout = (hit: RelevanceHit): boolean => {
    if (hit.words.length > 1) return reaches(hit, several);
    if (isSubject(relevance, hit, best)) return true;
    return isIdentifier(hit.words[0] ?? "") || (hit.inKey && hit.isTopic && reaches(hit, topic));
  };
  return withoutNearMisses(relevance, hits.filter(isAbout));
}

/** A single shared word that the key begins with. */
export const isSubject = (relevance: Relevance, { begins, score }: RelevanceHit, best: number): boolean =>
  begins && score >= best * subject.best && score >= relevance.telling * subject.telling;

/** The best first: without those that look like a better one and share fewer words. */
export function withoutNearMisses<Hit extends WordHit>(relevance: Relevance, hits: readonly Hit[]): Hit[] {
  const chosen: Hit[] = [];
  for (const hit of hits)
    if (!chosen.slice(0, comparedMax).some((one) => isNearMiss(relevance, hit, one))) chosen.push(hit);
  return chosen;
}

type WordHit = Pick<RelevanceHit, "id" | "words">;

/** It shares fewer words than the other, and none besides. */
function isNearMiss(relevance: Relevance, hit: WordHit, other: WordHit): boolean {
  if (hit.words.length >= other.words.length) return false;
  const words = new Set(other.words);
  return hit.words.every((word) => words.has(word)) && relevance.likeness(hit.id, other.id) >= likenessMin;
}

/** Letters and digits together, or a number longer than a year. */
const isIdentifier = (word: string): boolean => word.length >= 5 && /\p{N}/u.test(word);
