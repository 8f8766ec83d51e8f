/**
 * A long document in a share of a context: its outline, and the sections that a query is about, in the order
 * of the document; the rest of the room goes to its beginning. `documentExcerpt` chooses the ranges;
 * `excerptText` renders chosen ranges again and ranks nothing, so that a context can be rebuilt from them.
 * Renderer 2 shows excerpts: their text stays as released.
 */
import { cutPlace, outlineLine, outlineOf, type Section } from "./outline.ts";
import { rank } from "./rank.ts";

export type CharRange = readonly [from: number, to: number];

export interface Excerpt {
  /** At most the characters asked for, from 400 on. */
  readonly text: string;
  /** The characters shown, in order. */
  readonly ranges: readonly CharRange[];
  /** Sections of the outline that are not shown, or not whole. */
  readonly listed: number;
}

export interface ExcerptOptions {
  /** The path of the document: that of code has other sections. */
  readonly path?: string | null;
  /** How to read the whole: "recall with fromSeq 12 reads it". */
  readonly readOn: string;
}

/** With less room than this a document is only named. */
const excerptCharsMin = 400;
/** Characters of the outline, as a share of those shown beside it. */
const outlineChars = { least: 250, share: 0.5, most: 6_000 } as const;
/** A note between two ranges. */
const noteChars = 60;

export function documentExcerpt(
  text: string,
  charsMax: number,
  query: string,
  options: ExcerptOptions,
): Excerpt {
  if (text.length <= charsMax) return { text, ranges: [[0, text.length]], listed: 0 };
  const sections = outlineOf(text, options.path);
  const made = (ranges: readonly CharRange[]): Excerpt => ({
    text: excerptIn(text, sections, ranges, options),
    ranges,
    listed: sections.filter(({ from, to }) => !isWithin(ranges, [from, to])).length,
  });
  if (charsMax < excerptCharsMin) return made([]);
  const outlineMost = Math.min(outlineChars.most, Math.max(outlineChars.least, Math.ceil(charsMax / 3)));
  return made(chooseRanges(text, sections, charsMax - outlineMost - 2 * noteChars, query));
}

/** The text of an excerpt with these ranges. */
export function excerptText(text: string, ranges: readonly CharRange[], options: ExcerptOptions): string {
  const [first] = ranges;
  if (ranges.length === 1 && first?.[0] === 0 && first[1] === text.length) return text;
  return excerptIn(text, outlineOf(text, options.path), ranges, options);
}

function chooseRanges(
  text: string,
  sections: readonly Section[],
  charsMax: number,
  query: string,
): readonly CharRange[] {
  const candidates = sections.map(({ title, from, to }, place) => ({
    id: String(place),
    title,
    text: text.slice(from, to),
  }));
  const wanted = rank(query, candidates)
    .filter(({ isRelevant }) => isRelevant)
    .map(({ id }) => Number(id));
  const isWanted = new Set(wanted);
  const taken = new Set<Section>();
  let left = charsMax;
  for (const place of [...wanted, ...sections.keys()]) {
    const section = sections[place];
    if (section === undefined || taken.has(section)) continue;
    const chars = section.to - section.from + noteChars;
    if (chars > left) {
      // The beginning is shown up to where it fits; something relevant further on may still fit whole.
      if (isWanted.has(place)) continue;
      break;
    }
    taken.add(section);
    left -= chars;
  }
  if (taken.size > 0) return joined([...taken].map(({ from, to }) => [from, to]));
  const from = sections[wanted[0] ?? 0]?.from ?? 0;
  return [[from, cutPlace(text, from + left / 2, from + left)]];
}

function joined(ranges: readonly CharRange[]): readonly CharRange[] {
  const out: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last !== undefined && last[1] >= from) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

const isWithin = (ranges: readonly CharRange[], [from, to]: CharRange): boolean =>
  ranges.some((one) => one[0] <= from && to <= one[1]);

function excerptIn(
  text: string,
  sections: readonly Section[],
  ranges: readonly CharRange[],
  options: ExcerptOptions,
): string {
  const shown = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  const { least, share, most } = outlineChars;
  const outlineMax = Math.min(most, Math.max(least, Math.floor(shown * share)));
  const pieces = [outlineText(text, sections, { ...options, charsMax: outlineMax })];
  let at = 0;
  for (const [from, to] of ranges) {
    if (from > at) pieces.push(leftOut(from - at));
    pieces.push(text.slice(from, to).trimEnd().toWellFormed());
    at = to;
  }
  if (at < text.length && ranges.length > 0) pieces.push(leftOut(text.length - at));
  return pieces.join("\n");
}

const leftOut = (chars: number): string => `[… ${chars} characters left out …]`;

/** As many levels of headings as fit; of the highest level, as many as fit. */
function outlineText(
  text: string,
  sections: readonly Section[],
  { charsMax, readOn }: ExcerptOptions & { readonly charsMax: number },
): string {
  // Later parts of a section are read with it.
  const heads = sections.filter(({ level, part }) => level === 0 || part === 1);
  const size = `${text.length} characters in ${heads.length} sections`;
  const head = `[${size}; ${readOn}, with section one of them, with outline their list]`;
  const levels = [...new Set(heads.map(({ level }) => level))].toSorted((a, b) => b - a);
  for (const deepest of levels) {
    const lines = heads.filter(({ level }) => level <= deepest).map(outlineLine);
    const whole = [head, ...lines].join("\n");
    if (whole.length <= charsMax) return whole;
    if (deepest === levels.at(-1)) return [head, ...asManyAsFit(lines, charsMax - head.length)].join("\n");
  }
  return head;
}

function asManyAsFit(lines: readonly string[], charsMax: number): readonly string[] {
  const shown: string[] = [];
  let left = charsMax - 40;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) break;
    shown.push(line);
  }
  return [...shown, `- and ${lines.length - shown.length} more`];
}
