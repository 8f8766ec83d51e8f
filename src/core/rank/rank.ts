/**
 * Relevance of texts to a query: BM25 (core/memory/relevance.ts) as a share of the best possible score, and a
 * verdict. One shared word is not relevance, unless it is nearly all of the query, or an identifier.
 */
import { Relevance } from "../memory/relevance.ts";
import { isSubject, withoutNearMisses } from "../memory/verdict.ts";

/** A text to rank: an item, a section, a turn, an entry of memory. */
export interface Candidate {
  readonly id: string;
  /** The key of an item, the headings above a section: counts the most. */
  readonly title: string;
  readonly text: string;
  /** The reason of an item: counts the least. */
  readonly note?: string;
}

export interface Ranked {
  readonly id: string;
  /** 0 to 1: the share of the query that it is about. */
  readonly score: number;
  /** The shared words as spelled in the query, the most distinctive first. */
  readonly words: readonly string[];
  readonly isRelevant: boolean;
}

/** Texts that are thought beside the candidates: among few, a word is not common because all have it. */
export const corpusMin = 100;
/** The words of a long query that make a full score. */
const fullWordsMax = 8;
/**
 * The least score of something relevant, and its least share of the best score; of something that shares one
 * word, in its title or elsewhere. Measured on bench/memory-labels.ts: precision 0.90, recall 0.78, of which
 * a third of the rest shares no word.
 */
const scoreMin = 0.2;
const bestShare = 0.4;
const oneWordMin = { inTitle: 0.3, elsewhere: 0.5 } as const;

/** All candidates with a score, the best first; equals in the given order. */
export function rank(query: string, candidates: readonly Candidate[]): readonly Ranked[] {
  const index = new Relevance(corpusMin);
  for (const { id, title, text, note = "" } of candidates)
    index.set(id, { key: title, value: text, because: note });
  return rankIn(index, query);
}

/** The same with an index that is kept; if asked, without what cannot be relevant. */
export function rankIn(
  index: Relevance,
  query: string,
  may: (id: string) => boolean = () => true,
  { relevantOnly = false, isMemory = false }: RankOptions = {},
): readonly Ranked[] {
  const full = index.full(query, fullWordsMax);
  if (full === 0) return [];
  const hits = index.about(query, may, relevantOnly ? bestShare : 0);
  const best = hits.reduce((most, { score }) => Math.max(most, score), 0);
  const ranked = hits
    .toSorted((a, b) => b.score - a.score || index.placeOf(a.id) - index.placeOf(b.id))
    .map((hit): Ranked => {
      const { id, score, words, inKey } = hit;
      const share = Math.min(1, score / full);
      const oneMin = inKey ? oneWordMin.inTitle : oneWordMin.elsewhere;
      const isAbout = words.length > 1 ? share >= scoreMin : share >= oneMin || isTelling(words[0] ?? "");
      const isRelevant = isAbout && score >= best * bestShare;
      return { id, score: share, words, isRelevant: isRelevant || (isMemory && isSubject(index, hit, best)) };
    });
  if (!isMemory) return ranked;
  const left = new Set(
    withoutNearMisses(
      index,
      ranked.filter(({ isRelevant }) => isRelevant),
    ),
  );
  return ranked.map((one) => (left.has(one) ? one : { ...one, isRelevant: false }));
}

interface RankOptions {
  readonly relevantOnly?: boolean;
  /**
   * By the rules of what a new session carries: one shared word counts that the key begins with, and of
   * entries that look alike those that share fewer words do not.
   */
  readonly isMemory?: boolean;
}

/** An identifier: letters and digits together, or a number longer than a year. */
const isTelling = (word: string): boolean => word.length >= 5 && /\p{N}/u.test(word);
