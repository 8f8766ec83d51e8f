/** What a search found, as it is shown: by session, with the words that were meant marked. */
import type { RemoteEngine } from "../../../client/connect.ts";

export type Hit = Awaited<ReturnType<RemoteEngine["search"]>>[number];
type Remembered = Awaited<ReturnType<RemoteEngine["memory"]>>;

/** The log keeps what was remembered once: only what is remembered now still holds. */
export const isOfMemory = ({ type }: Pick<Hit, "type">): boolean => type === "memory.promoted";

/** Positions of what was found that is forgotten by now, or replaced by another value. */
export function outdated(hits: readonly Hit[], memory: Remembered): ReadonlySet<number> {
  const held = new Set(memory.map(({ seq }) => seq));
  return new Set(hits.filter((hit) => isOfMemory(hit) && !held.has(hit.seq)).map(({ seq }) => seq));
}

export interface Group {
  /** A session, or the workspace. */
  readonly log: string;
  readonly hits: readonly Hit[];
}

/** By log, in the order in which each was found first. */
export function grouped(hits: readonly Hit[]): readonly Group[] {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) {
    const known = groups.get(hit.session);
    if (known === undefined) groups.set(hit.session, [hit]);
    else known.push(hit);
  }
  return [...groups].map(([log, found]) => ({ log, hits: found }));
}

/** The last word may be one that is still typed: then it stands for all that begin so. */
export function askedFor(typed: string): string {
  const text = typed.trim();
  return /[\p{L}\p{N}]$/u.test(typed) ? `${text}*` : text;
}

export interface Piece {
  readonly text: string;
  readonly isMeant: boolean;
}

/** One character for each, so that places stay: lower case, and Latin letters without what is above them. */
const plain = (text: string): string =>
  Array.from(text, (char) => {
    const [base = char] = char.normalize("NFD");
    const low = (/\p{Script=Latin}/u.test(base) ? base : char).toLowerCase();
    return low.length === char.length ? low : char;
  }).join("");

const wordForm = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{Mn}]*/gu;
const unaccented = (word: string): string => word.replaceAll(/\p{Mn}/gu, "");

/** A snippet, cut where words begin and end that were searched for. */
export function pieces(snippet: string, asked: string): readonly Piece[] {
  const wanted = asked.split(/\s+/).flatMap((term) => {
    const words = (plain(term).match(wordForm) ?? []).map(unaccented);
    return words.map((word, place) => ({ word, isOpen: term.endsWith("*") && place === words.length - 1 }));
  });
  const isMeant = (word: string): boolean =>
    wanted.some((one) => (one.isOpen ? word.startsWith(one.word) : word === one.word));
  const found: Piece[] = [];
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

/** What kind of thing was found, in a word or two. */
export const kindOf = (type: string): string => kinds.find(([form]) => form.test(type))?.[1] ?? type;
