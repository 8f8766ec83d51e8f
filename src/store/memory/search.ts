/** Word search in the memory driver. */
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { wordsOf } from "../../core/text/words.ts";
import type { Logs } from "./log.ts";

/** The latest first, in write order. */
export function findWords(
  journal: Logs["journal"],
  text: string,
  options: { readonly limit: number; readonly session?: LogId; readonly logs?: readonly LogId[] },
): readonly { session: LogId; seq: number }[] {
  const asked = text
    .split(/\s+/)
    .map((word) => ({ run: wordsOf(word), open: word.endsWith("*") }))
    .filter(({ run }) => run.length > 0);
  if (asked.length === 0) return [];
  const found: { session: LogId; seq: number }[] = [];
  const logs = options.logs === undefined ? null : new Set(options.logs);
  const most = Math.min(options.limit, limit.searchMax);
  for (let place = journal.length - 1; place >= 0 && found.length < most; place--) {
    const entry = journal[place];
    const words = entry?.log.words.get(entry.record.seq);
    if (!entry || !words || (options.session !== undefined && options.session !== entry.log.id)) continue;
    if (logs !== null && !logs.has(entry.log.id)) continue;
    if (!asked.every(({ run, open }) => holds(words, run, open))) continue;
    found.push({ session: entry.log.id, seq: entry.record.seq });
  }
  return found;
}

/** A typed word such as `v2.10` is a run of words that must be adjacent. */
function holds(words: readonly string[], run: readonly string[], open: boolean): boolean {
  const fits = (word: string | undefined, place: number): boolean => {
    const asked = run[place] ?? "";
    return word === asked || (open && place === run.length - 1 && word?.startsWith(asked) === true);
  };
  return words.some((_, start) => run.every((_, place) => fits(words[start + place], place)));
}
