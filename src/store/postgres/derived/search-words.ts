/**
 * Texts and queries for PostgreSQL's full-text search. Words are split here, the same way as in the other
 * drivers; the server only stores and finds them. Each begins with the tenant, because all share an index.
 */
import { wordsOf } from "../../../core/text/words.ts";

/** A longer word counts as its prefix. */
const wordMax = 200;
/** The indexed part of a text: the server accepts at most a MiB of words and positions. */
const bytesMax = 700_000;
/** The server stores so many positions of a word, and none beyond the last. */
const placesMax = 255;
const lastPlace = 16_383;

const lexeme = (tenant: number, word: string): string =>
  `'${tenant}:${word.slice(0, wordMax).toWellFormed()}'`;

/** A text for a tsvector. */
export function wordsText(tenant: number, text: string): string {
  const places = new Map<string, number[]>();
  let bytes = 0;
  for (const [place, word] of wordsOf(text).entries()) {
    const key = lexeme(tenant, word);
    const known = places.get(key);
    const list = known ?? [];
    if (known === undefined) places.set(key, list);
    if (list.length < placesMax) list.push(Math.min(place + 1, lastPlace));
    bytes += known === undefined ? Buffer.byteLength(key) + 4 : 2;
    if (bytes > bytesMax) break;
  }
  return [...places].map(([word, at]) => `${word}:${[...new Set(at)].join(",")}`).join(" ");
}

/**
 * A text for a tsquery: every word must occur, and a typed word such as `v2.10` is a run of adjacent words.
 * Null without a word.
 */
export function queryText(tenant: number, text: string): string | null {
  const runs = text.split(/\s+/).flatMap((typed) => {
    const run = wordsOf(typed).map((word) => lexeme(tenant, word));
    return run.length === 0 ? [] : [`(${run.join(" <-> ")}${typed.endsWith("*") ? ":*" : ""})`];
  });
  return runs.length === 0 ? null : runs.join(" & ");
}
