/** The difference of two texts as a unified diff. Pure. */
import { diffLists } from "../branch/diff.ts";

/** Context lines around a change. */
const aroundLines = 3;

interface Row {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** Hunks, each with its heading; empty if the texts are equal. */
export function unifiedDiff(from: string, to: string): readonly string[] {
  if (from === to) return [];
  const rows = rowsOf(linesOf(from), linesOf(to));
  const changed = rows.flatMap(({ sign }, place) => (sign === " " ? [] : [place]));
  const hunks: { first: number; last: number }[] = [];
  for (const place of changed) {
    const open = hunks.at(-1);
    if (open !== undefined && place - open.last <= 2 * aroundLines) open.last = place;
    else hunks.push({ first: place, last: place });
  }
  return hunks.flatMap(({ first, last }) =>
    hunkLines(rows, Math.max(0, first - aroundLines), Math.min(rows.length, last + aroundLines + 1)),
  );
}

/** Each with its line end, so that a last line without one differs. */
const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function rowsOf(from: readonly string[], to: readonly string[]): readonly Row[] {
  const { removed, added } = diffLists(from, to);
  const [gone, come] = [new Set(removed), new Set(added)];
  const rows: Row[] = [];
  for (let a = 0, b = 0; a < from.length || b < to.length;) {
    if (gone.has(a)) rows.push({ sign: "-", text: from[a++] ?? "" });
    else if (come.has(b)) rows.push({ sign: "+", text: to[b++] ?? "" });
    else {
      rows.push({ sign: " ", text: from[a++] ?? "" });
      b += 1;
    }
  }
  return rows;
}

function hunkLines(rows: readonly Row[], first: number, end: number): readonly string[] {
  const hunk = rows.slice(first, end);
  const count = (list: readonly Row[], sign: "-" | "+"): number =>
    list.filter((row) => row.sign === " " || row.sign === sign).length;
  const heading = (sign: "-" | "+"): string => {
    const lines = count(hunk, sign);
    const before = count(rows.slice(0, first), sign);
    return `${sign}${lines === 0 ? before : before + 1},${lines}`;
  };
  return [
    `@@ ${heading("-")} ${heading("+")} @@`,
    ...hunk.flatMap(({ sign, text }) =>
      text.endsWith("\n")
        ? [`${sign}${text.slice(0, -1)}`]
        : [`${sign}${text}`, "\\ No newline at end of file"],
    ),
  ];
}
