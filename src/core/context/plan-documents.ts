/** Documents in a plan: whole where they fit, else their outline and the sections that matter. */
import { documentExcerpt, excerptText, type CharRange } from "../rank/excerpt.ts";
import type { CountTokens } from "./token-count.ts";

export interface PlannedDocument {
  readonly seq: number;
  readonly kind: string;
  readonly path: string | null;
  /** Null: its text was erased. */
  readonly text: string | null;
}

export interface ChosenDocument {
  readonly seq: number;
  /** Null: the whole text. Empty: only the name. */
  readonly ranges: [number, number][] | null;
}

/** How a model reads what is left out. */
const readOnWith = (seq: number): string => `recall with fromSeq ${seq} reads it`;

/** A document as a context shows it. */
export function documentWords(
  { seq, kind, path, text }: Omit<PlannedDocument, "text"> & { readonly text: string },
  ranges: readonly CharRange[] | null,
): string {
  const name = path === null ? kind : `${path} (${kind})`;
  if (ranges === null) return `Document ${name}:\n\n${text}`;
  if (ranges.length === 0)
    return `Document ${name}: ${text.length} characters, not shown; ${readOnWith(seq)}.`;
  return `Document ${name}:\n\n${excerptText(text, ranges, { path, readOn: readOnWith(seq) })}`;
}

interface DocumentRoom {
  readonly roomTokens: number;
  /** A quick count, for texts of any length. */
  readonly count: CountTokens;
  /** What the room is measured with, for texts that about fit. */
  readonly measure: CountTokens;
  readonly query: string;
}

/** The short ones whole; the rest of the room is the long ones', in equal parts. */
export function planDocuments(
  documents: readonly PlannedDocument[],
  { roomTokens, ...options }: DocumentRoom,
): { readonly chosen: readonly ChosenDocument[]; readonly usedTokens: number } {
  const sized = documents.map((one) => ({ ...one, tokens: options.count(one.text ?? "") }));
  const bySize = sized.toSorted((a, b) => a.tokens - b.tokens || a.seq - b.seq);
  const chosen = new Map<number, ChosenDocument>();
  let usedTokens = 0;
  for (const [place, one] of bySize.entries()) {
    const room = Math.floor(Math.max(0, roomTokens - usedTokens) / (bySize.length - place));
    const { ranges, tokens } = fitDocument(one, { ...options, roomTokens: room });
    chosen.set(one.seq, { seq: one.seq, ranges: ranges?.map(([from, to]) => [from, to]) ?? null });
    usedTokens += tokens;
  }
  return { chosen: sized.flatMap(({ seq }) => chosen.get(seq) ?? []), usedTokens };
}

/** An estimate by characters may be off; so what is chosen is measured, and chosen again. */
const attemptsMax = 5;
/** The quick count is within so much of any other. */
const countError = 2;

/** The whole text, an excerpt, or where there is no room for one, the name. */
export function fitDocument(
  document: PlannedDocument,
  { roomTokens, count, measure, query }: DocumentRoom,
): { readonly ranges: readonly CharRange[] | null; readonly tokens: number } {
  const { seq, path, text } = document;
  if (text === null) return { ranges: null, tokens: 0 };
  const roughTokens = Math.max(1, count(text));
  const tokensOf = (ranges: readonly CharRange[] | null): number =>
    measure(documentWords({ ...document, text }, ranges));
  if (roughTokens <= roomTokens * countError) {
    const tokens = tokensOf(null);
    if (tokens <= roomTokens) return { ranges: null, tokens };
  }
  let charsMax = Math.floor((roomTokens / roughTokens) * text.length);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { ranges } = documentExcerpt(text, charsMax, query, { path, readOn: readOnWith(seq) });
    if (ranges.length === 0) break;
    const tokens = tokensOf(ranges);
    if (tokens <= roomTokens) return { ranges, tokens };
    charsMax = Math.min(charsMax - 1, Math.floor(charsMax * (roomTokens / tokens) * 0.97));
  }
  return { ranges: [], tokens: tokensOf([]) };
}
