/** Documents in a plan: whole where they fit, else their outline and the sections that matter. */
import { documentExcerpt, type CharRange } from "../rank/excerpt.ts";
import type { CountTokens } from "./token-count.ts";

export interface PlannedDocument {
  readonly seq: number;
  readonly path: string | null;
  /** Null: its text was erased. */
  readonly text: string | null;
}

export interface ChosenDocument {
  readonly seq: number;
  /** Null: the whole text. */
  readonly ranges: [number, number][] | null;
}

/** How a model reads what is left out. */
export const readOnWith = (seq: number): string => `recall with fromSeq ${seq} reads it`;

/** The short ones whole; the rest of the room is the long ones', in equal parts. */
export function planDocuments(
  documents: readonly PlannedDocument[],
  {
    roomTokens,
    count,
    query,
  }: { readonly roomTokens: number; readonly count: CountTokens; readonly query: string },
): { readonly chosen: readonly ChosenDocument[]; readonly usedTokens: number } {
  const sized = documents.map((one) => ({ ...one, tokens: count(one.text ?? "") }));
  const bySize = sized.toSorted((a, b) => a.tokens - b.tokens || a.seq - b.seq);
  const chosen = new Map<number, ChosenDocument>();
  let left = roomTokens;
  for (const [place, { seq, path, text, tokens }] of bySize.entries()) {
    const room = Math.floor(left / (bySize.length - place));
    if (text === null || tokens <= room) {
      chosen.set(seq, { seq, ranges: null });
      left -= tokens;
      continue;
    }
    const charsMax = Math.floor((room / tokens) * text.length);
    const excerpt = documentExcerpt(text, charsMax, query, { path, readOn: readOnWith(seq) });
    chosen.set(seq, { seq, ranges: excerpt.ranges.map(([from, to]: CharRange) => [from, to]) });
    left -= Math.min(left, count(excerpt.text));
  }
  const inOrder = sized.flatMap(({ seq }) => chosen.get(seq) ?? []);
  return { chosen: inOrder, usedTokens: roomTokens - left };
}
