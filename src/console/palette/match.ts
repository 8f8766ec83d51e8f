/** Fuzzy matching by letters in order: word starts count most, and runs. */

export interface Match {
  /** The higher, the better. */
  readonly score: number;
  /** The indices of the letters, from left to right. */
  readonly places: readonly number[];
}

const everyLetter = 1;
const inARow = 6;
const wordBegins = 8;
const textBegins = 4;

/** Null: no match. An empty query matches everything. */
export function matchOf(query: string, text: string): Match | null {
  const wanted = Array.from(query.toLowerCase().replace(/\s+/g, ""));
  if (wanted.length === 0) return { score: 0, places: [] };
  const within = lowered(text);
  // best[i]: the best match of the letters so far that ends at i.
  let best: (Match | null)[] = within.map(() => ({ score: 0, places: [] }));
  for (const [nth, letter] of wanted.entries()) {
    const next: (Match | null)[] = within.map(() => null);
    let before: Match | null = nth === 0 ? { score: 0, places: [] } : null;
    for (const [place, here] of within.entries()) {
      if (nth > 0 && place > 0) before = better(before, best[place - 1] ?? null);
      if (here !== letter || before === null) continue;
      const joined = nth > 0 && place > 0 ? (best[place - 1] ?? null) : null;
      const apart = { score: before.score, places: before.places };
      const row = joined === null ? null : { score: joined.score + inARow, places: joined.places };
      const { score, places } = better(row, apart) ?? apart;
      next[place] = {
        score:
          score + everyLetter + (beginsWord(text, place) ? wordBegins : 0) + (place === 0 ? textBegins : 0),
        places: [...places, place],
      };
    }
    best = next;
  }
  const found = best.reduce(better, null);
  // Of two equal matches the shorter text wins.
  return found === null ? null : { score: found.score - text.length / 200, places: found.places };
}

/** Letter by letter, so that indices stay those of the text. */
const lowered = (text: string): string[] =>
  Array.from({ length: text.length }, (_, place) => text.charAt(place).toLowerCase());

const better = (one: Match | null, other: Match | null): Match | null =>
  one === null || (other !== null && other.score > one.score) ? other : one;

const beginsWord = (text: string, place: number): boolean =>
  place === 0 ||
  /[\s./:_-]/.test(text.charAt(place - 1)) ||
  /[a-z][A-Z]/.test(text.slice(place - 1, place + 1));

/** The text in pieces: matched ones, and those between. */
export function piecesOf(
  text: string,
  places: readonly number[],
): readonly { readonly text: string; readonly isHit: boolean }[] {
  const hits = new Set(places);
  const pieces: { text: string; isHit: boolean }[] = [];
  for (let place = 0; place < text.length; place++) {
    const isHit = hits.has(place);
    const last = pieces.at(-1);
    if (last !== undefined && last.isHit === isHit) last.text += text.charAt(place);
    else pieces.push({ text: text.charAt(place), isHit });
  }
  return pieces;
}

const recentMax = 12;

/** With this one first, without duplicates. */
export const recentWith = (recent: readonly string[], id: string): string[] =>
  [id, ...recent.filter((one) => one !== id)].slice(0, recentMax);

/** From browser storage, which may hold anything. */
export function recentOf(kept: string | null): string[] {
  try {
    const value: unknown = JSON.parse(kept ?? "[]");
    return Array.isArray(value) ? value.filter((one) => typeof one === "string").slice(0, recentMax) : [];
  } catch {
    return [];
  }
}
