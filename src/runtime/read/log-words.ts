/**
 * The words of a session's log, by which retrieval and lookup find what was said. They are added when they
 * are first needed, from the end of the log, in steps: so a session pays for its own records alone. What a
 * person or a model said is ranked apart from everything else.
 */
import { saidText, saidTypes } from "../../core/context/retrieved.ts";
import type { LogId } from "../../core/ids.ts";
import { wordsOf } from "../../core/memory/words.ts";
import type { RankHit, Store, WordLog, WordStep } from "../../store/port.ts";
import { contentOf } from "./content.ts";
import { ifDamaged, textOf, unsearched } from "./projection.ts";

/** Records of one step: one transaction of less than 20 ms. */
const stepRecords = 200;
/** Characters of one record that are indexed, and of one piece of it. */
const textCharsMax = 400_000;
const pieceChars = 10_000;
/** Another process or an erasure was first: read again, so many times. */
const retriesMax = 5;
const otherMark = "~";
/** What a call asks for comes back with its result. */
const unindexed: ReadonlySet<string> = new Set([...unsearched, "tool.requested"]);

/** What is ranked: what was said, or also results, documents and items. */
export type RankedTexts = "said" | "all";

/** Indexes up to a position, at most so many records. True if nothing is missing. */
export async function indexWords(
  store: Store,
  { session, toSeq }: WordLog,
  budget: { records: number },
): Promise<boolean> {
  for (let retries = 0; retries < retriesMax;) {
    const { gaps, erasures } = await store.wordGaps(session, toSeq);
    const gap = gaps.at(-1);
    if (gap === undefined) return true;
    if (budget.records <= 0) return false;
    const [from, to] = gap;
    const range = [Math.max(from, to + 1 - stepRecords), to] as const;
    budget.records -= to + 1 - range[0];
    const texts = await wordsIn(store, session, range);
    const step: WordStep = { session, fromSeq: range[0], toSeq: to, erasures, texts };
    if (!(await store.addWords(step))) retries++;
  }
  return false;
}

async function wordsIn(
  store: Store,
  session: LogId,
  [fromSeq, toSeq]: readonly [number, number],
): Promise<WordStep["texts"]> {
  const texts: { seq: number; words: readonly string[] }[] = [];
  for (let from = fromSeq; from <= toSeq;) {
    const page = await store.read(session, { fromSeq: from, toSeq, limit: stepRecords, contents: true });
    for (const record of page) {
      if (record.content === null || unindexed.has(record.type)) continue;
      const content = await contentOf(store, record).catch(ifDamaged);
      if (content === undefined) continue;
      const isSaid = saidTypes.has(record.type);
      const text = isSaid ? (saidText(content) ?? "") : textOf(content);
      const words = [...uniqueWords(text)];
      if (words.length > 0)
        texts.push({ seq: record.seq, words: isSaid ? words : words.map((word) => `${otherMark}${word}`) });
    }
    const last = page.at(-1);
    if (last === undefined) break;
    from = last.seq + 1;
  }
  return texts;
}

function uniqueWords(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (let at = 0; at < Math.min(text.length, textCharsMax); at += pieceChars)
    for (const word of wordsOf(text.slice(at, at + pieceChars))) words.add(word);
  return words;
}

/** Words that a log is ranked by: identifiers and long words first. */
const queryWordsMax = 32;

/** Records of these logs that share words with a query, as far as they are indexed; the best first. */
export async function rankLogs(
  store: Store,
  query: string,
  {
    logs,
    texts,
    limit,
  }: { readonly logs: readonly WordLog[]; readonly texts: RankedTexts; readonly limit: number },
): Promise<readonly RankHit[]> {
  const words = [...new Set(wordsOf(query))]
    .toSorted((a, b) => Number(/\p{N}/u.test(b)) - Number(/\p{N}/u.test(a)) || b.length - a.length)
    .slice(0, queryWordsMax);
  const asked = texts === "said" ? words : words.flatMap((word) => [word, `${otherMark}${word}`]);
  return asked.length === 0 ? [] : store.rank(asked, { logs, limit });
}
