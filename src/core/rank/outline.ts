/**
 * The outline of a text: its sections, with names that are unique in it. They cover the text without gaps, so
 * what no heading stands above is a section too. A blank text has none. Linear in the text. Renderer 2 shows
 * outlines: what they are of a text stays as released.
 */
import { headingsOf, type Heading } from "./heading.ts";

export interface Section {
  /** Unique in the text; made of the title. */
  readonly name: string;
  readonly title: string;
  /** 0: before the first heading, or in a text without headings. */
  readonly level: number;
  /** Its own text, up to the next section. */
  readonly from: number;
  readonly to: number;
  /** With its subsections and parts. */
  readonly end: number;
  /** 1, or more for the later parts of a long section. */
  readonly part: number;
}

/** Characters of one section; the text below a longer heading has parts. */
export const sectionCharsMax = 3_000;
/** Headings that make sections: of more, the highest levels do. */
const headingsKept = 2_000;
const nameCharsMax = 48;
const titleCharsMax = 120;

export function outlineOf(text: string, path: string | null = null): readonly Section[] {
  const headings = highest(headingsOf(text, path));
  const first = headings[0]?.from ?? text.length;
  const lead: Heading[] = text.slice(0, first).trim() === "" ? [] : [{ from: 0, title: "", level: 0 }];
  const all = [...lead, ...headings];
  const ends = endsOf(all, text.length);
  const nameFor = uniqueNames();
  return all.flatMap((heading, place) => {
    const from = place === 0 ? 0 : heading.from;
    const to = all[place + 1]?.from ?? text.length;
    const base = heading.level === 0 ? "" : nameFor(heading.title);
    return partsOf(text, from, to).map(([start, stop], number): Section => {
      const title =
        heading.level === 0 ? openingOf(text, start, stop) : heading.title.slice(0, titleCharsMax);
      return {
        name: base === "" ? nameFor(`part ${number + 1}`) : number === 0 ? base : `${base}~${number + 1}`,
        title: title.toWellFormed(),
        level: heading.level,
        from: start,
        to: stop,
        end: number === 0 && base !== "" ? (ends[place] ?? stop) : stop,
        part: number + 1,
      };
    });
  });
}

function highest(headings: readonly Heading[]): readonly Heading[] {
  let kept = headings;
  for (let level = 6; level > 1 && kept.length > headingsKept; level--)
    kept = kept.filter((one) => one.level < level);
  // A text whose headings are all of one low level has none left: then its first ones.
  return (kept.length === 0 ? headings : kept).slice(0, headingsKept);
}

/** Where each heading's subsections end: at the next heading of its level or a higher one. */
function endsOf(headings: readonly Heading[], length: number): readonly number[] {
  const ends: number[] = [];
  const open: number[] = [];
  for (const [place, { level, from }] of headings.entries()) {
    ends.push(length);
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      if ((headings[last]?.level ?? 0) < level) break;
      ends[last] = from;
      open.pop();
    }
    if (level > 0) open.push(place);
    else ends[place] = headings[place + 1]?.from ?? length;
  }
  return ends;
}

/** Cuts a long section where a paragraph ends, else where a line or a word does. */
function partsOf(text: string, from: number, to: number): readonly (readonly [number, number])[] {
  const parts: [number, number][] = [];
  let start = from;
  while (to - start > sectionCharsMax) {
    const stop = cutPlace(text, start + sectionCharsMax / 3, start + sectionCharsMax);
    parts.push([start, stop]);
    start = stop;
  }
  parts.push([start, to]);
  return parts;
}

/** A good place to cut before `most`, and not before `least`. */
export function cutPlace(text: string, least: number, most: number): number {
  const head = text.slice(Math.ceil(least), most);
  for (const mark of ["\n\n", "\n", ". ", " "]) {
    const place = head.lastIndexOf(mark);
    if (place !== -1) return Math.ceil(least) + place + mark.length;
  }
  const unit = text.charCodeAt(most);
  return unit >= 0xdc00 && unit <= 0xdfff ? most - 1 : most;
}

const openingOf = (text: string, from: number, to: number): string =>
  text
    .slice(from, Math.min(to, from + 200))
    .trim()
    .replaceAll(/\s+/g, " ")
    .slice(0, 60);

/** Letters and digits of a title: the form in which names are compared. */
const plainName = (title: string): string =>
  title
    .slice(0, 200)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, nameCharsMax)
    .replace(/-$/, "")
    .toWellFormed();

function uniqueNames(): (title: string) => string {
  const times = new Map<string, number>();
  return (title) => {
    const name = plainName(title) || "section";
    const time = (times.get(name) ?? 0) + 1;
    times.set(name, time);
    return time === 1 ? name : `${name}.${time}`;
  };
}

/** By name, or by title, or by the number at the beginning of a title. */
export function findSection(sections: readonly Section[], wanted: string): Section | undefined {
  const said = wanted.trim();
  const plain = plainName(said);
  const isNumber = /^\d{1,4}(?:\.\d{1,4})*$/.test(said);
  return (
    sections.find(({ name }) => name === said) ??
    sections.find(({ name }) => name === plain) ??
    sections.find(({ title }) => title.trim().toLowerCase() === said.toLowerCase()) ??
    (isNumber
      ? sections.find(
          ({ title }) => title.startsWith(said) && !/^\.?[\p{L}\p{N}]/u.test(title.slice(said.length)),
        )
      : undefined)
  );
}

/** A section in an outline: its title, its name, its characters. */
export const outlineLine = ({ name, title, level, from, end }: Section): string =>
  `${"  ".repeat(Math.max(0, level - 1))}- ${title} [${name}] ${end - from}`;
