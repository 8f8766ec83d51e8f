/**
 * What the drivers share of the words of a log: the postings of a step, the positions that no step covers,
 * and the score of a record. A score sums, over the distinct words that a record shares with the query, how
 * rare each is among the matches: ln(1 + (N + 0.5) / (n + 0.5)).
 */
import type { LogId } from "../core/ids.ts";
import type { RankHit, WordStep } from "./port/search.ts";

/** Words of one query, and characters of a word: those beyond are left out. */
const rankedWordsMax = 64;
const wordCharsMax = 100;

const cutWord = (word: string): string => word.slice(0, wordCharsMax).toWellFormed();

/** The words that a query is ranked by. */
export const rankedWords = (words: readonly string[]): readonly string[] =>
  [...new Set(words.map(cutWord))].slice(0, rankedWordsMax);

/** Matches of a word that are looked at in each log, the latest: a word with more tells little. */
export const rankedAmong = 200;
/** Steps of a log that a word is looked up in, the latest. */
export const rankedStepsMax = 100;

/** The positions that have each word, ascending. */
export function postingsOf({ texts }: WordStep): ReadonlyMap<string, readonly number[]> {
  const postings = new Map<string, number[]>();
  for (const { seq, words } of texts.toSorted((a, b) => a.seq - b.seq)) {
    for (const word of new Set(words.map(cutWord))) {
      const seqs = postings.get(word);
      if (seqs === undefined) postings.set(word, [seq]);
      else if (seqs.at(-1) !== seq) seqs.push(seq);
    }
  }
  return postings;
}

type Range = readonly [from: number, to: number];

/** The parts of a range that these ranges leave out; they are sorted and disjoint. */
export function gapsIn([from, to]: Range, covered: readonly Range[]): readonly Range[] {
  const gaps: Range[] = [];
  let next = from;
  for (const [first, last] of covered) {
    if (first > to) break;
    if (first > next) gaps.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  if (next <= to) gaps.push([next, to]);
  return gaps;
}

/** Matches of one word in one log. */
export interface WordMatches {
  readonly session: LogId;
  readonly word: string;
  readonly seqs: readonly number[];
}

/** The best first; of equals the latest of a log. */
export function rankMatches(matches: readonly WordMatches[], limit: number): readonly RankHit[] {
  const counts = new Map<string, number>();
  for (const { word, seqs } of matches) counts.set(word, (counts.get(word) ?? 0) + seqs.length);
  const records = new Set(matches.flatMap(({ session, seqs }) => seqs.map((seq) => `${session} ${seq}`)));
  const all = Math.max(rankedAmong, records.size);
  const hits = new Map<string, { readonly session: LogId; readonly seq: number; score: number }>();
  for (const { session, word, seqs } of matches) {
    const rarity = Math.log(1 + (all + 0.5) / ((counts.get(word) ?? 0) + 0.5));
    for (const seq of seqs) {
      const hit = hits.get(`${session} ${seq}`) ?? { session, seq, score: 0 };
      hit.score += rarity;
      hits.set(`${session} ${seq}`, hit);
    }
  }
  return [...hits.values()].toSorted((a, b) => b.score - a.score || b.seq - a.seq).slice(0, limit);
}
