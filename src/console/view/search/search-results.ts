/** The results of a search for display: by session, with the matched words marked. */
import type { RemoteEngine } from "../../../client/connect.ts";

export type Hit = Awaited<ReturnType<RemoteEngine["search"]>>[number];
type MemoryHit = Awaited<ReturnType<RemoteEngine["memory"]>>;

/** The log keeps earlier memory: only current entries are valid. */
export const isOfMemory = ({ type }: Pick<Hit, "type">): boolean => type === "memory.promoted";

/** Positions of matches that are forgotten by now, or superseded. */
export function outdated(hits: readonly Hit[], memory: MemoryHit): ReadonlySet<number> {
  const held = new Set(memory.map(({ seq }) => seq));
  return new Set(hits.filter((hit) => isOfMemory(hit) && !held.has(hit.seq)).map(({ seq }) => seq));
}

export interface Group {
  /** A session, or the workspace. */
  readonly log: string;
  readonly hits: readonly Hit[];
}

/** By log, in the order of the first match. */
export function grouped(hits: readonly Hit[]): readonly Group[] {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) {
    const known = groups.get(hit.session);
    if (known === undefined) groups.set(hit.session, [hit]);
    else known.push(hit);
  }
  return [...groups].map(([log, found]) => ({ log, hits: found }));
}

/** The last word may be incomplete: then it matches as a prefix. Empty while nothing typed is a word. */
export function askedFor(typed: string): string {
  const text = typed.trim();
  if (!/[\p{L}\p{N}]/u.test(text)) return "";
  return /[\p{L}\p{N}]$/u.test(typed) ? `${text}*` : text;
}

export interface SnippetPiece {
  readonly text: string;
  readonly isMeant: boolean;
}

/** One character for each, so that indices stay: lower case, and Latin letters without diacritics. */
const plain = (text: string): string =>
  Array.from(text, (char) => {
    const [base = char] = char.normalize("NFD");
    const low = (/\p{Script=Latin}/u.test(base) ? base : char).toLowerCase();
    return low.length === char.length ? low : char;
  }).join("");

const wordForm = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{Mn}]*/gu;
const unaccented = (word: string): string => word.replaceAll(/\p{Mn}/gu, "");

/** A snippet, split at the boundaries of matched words. */
export function pieces(snippet: string, asked: string): readonly SnippetPiece[] {
  const wanted = asked.split(/\s+/).flatMap((term) => {
    const words = (plain(term).match(wordForm) ?? []).map(unaccented);
    return words.map((word, place) => ({ word, isOpen: term.endsWith("*") && place === words.length - 1 }));
  });
  const isMeant = (word: string): boolean =>
    wanted.some((one) => (one.isOpen ? word.startsWith(one.word) : word === one.word));
  const found: SnippetPiece[] = [];
  let done = 0;
  for (const match of plain(snippet).matchAll(wordForm)) {
    if (!isMeant(unaccented(match[0]))) continue;
    const end = match.index + match[0].length;
    if (match.index > done) found.push({ text: snippet.slice(done, match.index), isMeant: false });
    found.push({ text: snippet.slice(match.index, end), isMeant: true });
    done = end;
  }
  if (done < snippet.length) found.push({ text: snippet.slice(done), isMeant: false });
  return found;
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/^input\./, "input"],
  [/^message\./, "message"],
  [/^model\./, "model"],
  [/^tool\.settled/, "tool result"],
  [/^tool\./, "tool call"],
  [/^item\./, "item"],
  [/^session\.(?:opened|forked)/, "objective"],
  [/^session\.merged/, "merge"],
  [/^session\.renamed/, "name"],
  [/^session\./, "note"],
  [/^score\./, "score"],
  [/^transcript\./, "summary"],
  [/^handoff\./, "handoff"],
  [/^document\./, "document"],
  [/^memory\.forgotten/, "forgotten"],
  [/^memory\./, "memory"],
  [/^agent\./, "agent"],
];

/** The kind of a match, in a word or two. */
export const kindOf = (type: string): string => kinds.find(([form]) => form.test(type))?.[1] ?? type;
