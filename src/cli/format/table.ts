/** Tables for people: aligned columns, cut to the width of the terminal; whole when they go elsewhere. */
import { columnsOf, cut } from "./text.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** May be cut when the terminal is narrow; by default only the last may. */
  readonly flexible?: boolean;
  readonly paint?: (text: string) => string;
}

/** The minimum width of a cut column. */
const columnsMin = 12;
const gap = "  ";

/** The lines of a table; cells must be safe text already. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  options: { readonly width: number | null; readonly heading: (text: string) => string },
): string[] {
  const natural = columns.map(({ title }, place) =>
    Math.max(columnsOf(title), ...rows.map((row) => columnsOf(row[place] ?? ""))),
  );
  const widths = options.width === null ? natural : fitted(columns, natural, options.width);
  const titles = columns.map(({ title }) => title);
  const head = laid(columns, titles, widths, options.width !== null, (text) => text);
  return [options.heading(head), ...rows.map((row) => laid(columns, row, widths, options.width !== null))];
}

/** Shortens the flexible columns, the widest first. */
function fitted(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  const flexible = columns.flatMap(({ flexible }, place) =>
    flexible === true || place === columns.length - 1 ? [place] : [],
  );
  const total = () => widths.reduce((sum, one) => sum + one, 0) + gap.length * (widths.length - 1);
  for (let over = total() - width; over > 0; over = total() - width) {
    const widest = flexible.reduce(
      (a, b) => ((widths[a] ?? 0) >= (widths[b] ?? 0) ? a : b),
      flexible[0] ?? 0,
    );
    const now = widths[widest] ?? 0;
    if (now <= columnsMin) break;
    const next = Math.max(
      0,
      ...flexible.filter((place) => place !== widest).map((place) => widths[place] ?? 0),
    );
    widths[widest] = Math.max(columnsMin, now - over, Math.min(now - 1, next));
  }
  return widths;
}

function laid(
  columns: readonly Column[],
  cells: readonly string[],
  widths: readonly number[],
  cutting: boolean,
  painted?: (text: string) => string,
): string {
  const parts = columns.map(({ align, paint }, place) => {
    const width = widths[place] ?? 0;
    const text = cutting ? cut(cells[place] ?? "", width) : (cells[place] ?? "");
    const space = " ".repeat(Math.max(0, width - columnsOf(text)));
    const shown = (painted ?? paint)?.(text) ?? text;
    if (align === "right") return space + shown;
    return place === columns.length - 1 ? shown : shown + space;
  });
  return parts.join(gap).trimEnd();
}
