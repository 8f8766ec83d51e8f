/** Words and the search for them in the memory driver, after the manner of SQLite's tokenizer `unicode61`. */
import type { LogId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Logs } from "./memory-log.ts";

/** Letters and digits in a row, without regard to case or to the diacritics of Latin letters. */
export const wordsOf = (text: string): readonly string[] => folded(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];

/** The latest first, by the order in which the records were written. */
export function findWords(
  journal: Logs["journal"],
  text: string,
  options: { readonly limit: number; readonly session?: LogId },
): readonly { session: LogId; seq: number }[] {
  const asked = [...folded(text).matchAll(/([\p{L}\p{N}\p{Co}]+)(\*?)/gu)].map(([, word = "", star]) =>
    star === "*" ? (known: string) => known.startsWith(word) : (known: string) => known === word,
  );
  if (asked.length === 0) return [];
  const found: { session: LogId; seq: number }[] = [];
  const most = Math.min(options.limit, limit.searchMax);
  for (let place = journal.length - 1; place >= 0 && found.length < most; place--) {
    const entry = journal[place];
    const words = entry?.log.words.get(entry.record.seq);
    if (!entry || !words || (options.session !== undefined && options.session !== entry.log.id)) continue;
    if (!asked.every((fits) => words.some(fits))) continue;
    found.push({ session: entry.log.id, seq: entry.record.seq });
  }
  return found;
}

/** JavaScript gives a sigma at the end of a word another lower case, and the end of what was typed is no end. */
function folded(text: string): string {
  const lower = text.toLowerCase().replaceAll("ς", "σ");
  return lower
    .normalize("NFD")
    .replaceAll(/(?<=\p{Script=Latin})\p{Mn}+/gu, "")
    .normalize("NFC");
}
