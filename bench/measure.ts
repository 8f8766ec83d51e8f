/** What all measures share: samples, medians, ratios taken in one run, and the table at the end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One line of the table. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The bar, and on which side of it the value must lie. Null: reported, not judged. */
  readonly bar: { readonly least: number } | { readonly most: number } | null;
  /** The absolute figures behind a ratio. */
  readonly detail: string;
}

export const meets = ({ value, bar }: Measure): boolean =>
  bar === null || ("least" in bar ? value >= bar.least : value <= bar.most);

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export async function timeMs(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Milliseconds of each of `count` runs. */
export async function samples(count: number, work: (run: number) => unknown): Promise<number[]> {
  const found: number[] = [];
  for (let run = 0; run < count; run++) found.push(await timeMs(() => work(run)));
  return found;
}

/**
 * Two things in turn, so that a slow moment of the machine slows both; medians of each. Of the first `warm`
 * rounds nothing is kept, of either: a program that serves has been compiled long ago.
 */
export async function sideBySide(
  rounds: number,
  ours: (round: number) => unknown,
  plain: (round: number) => unknown,
  { warm = 0 }: { readonly warm?: number } = {},
): Promise<{ readonly oursMs: number; readonly plainMs: number }> {
  const mine: number[] = [];
  const theirs: number[] = [];
  for (let round = -warm; round < 0; round++) {
    await plain(round);
    await ours(round);
  }
  for (let round = 0; round < rounds; round++) {
    theirs.push(await timeMs(() => plain(round)));
    mine.push(await timeMs(() => ours(round)));
  }
  return { oursMs: median(mine), plainMs: median(theirs) };
}

export function makeDirectory(): Disposable & { readonly path: (name: string) => string } {
  const directory = mkdtempSync(join(tmpdir(), "skein-bench-"));
  return {
    path: (name) => join(directory, name),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** An input whose content is stored in exactly this many bytes. */
export function inputOf(bytes: number): string {
  const frame = JSON.stringify({ blocks: [{ type: "text", text: "" }] }).length;
  return "lorem ipsum dolor sit amet ".repeat(Math.ceil(bytes / 27)).slice(0, bytes - frame);
}

export const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);

export function table(measures: readonly Measure[]): string {
  const rows = measures.map((measure) => [
    meets(measure) ? (measure.bar === null ? " " : "ok") : "NO",
    measure.name,
    `${number(measure.value)} ${measure.unit}`.trim(),
    measure.bar === null ? "" : "least" in measure.bar ? `≥ ${measure.bar.least}` : `≤ ${measure.bar.most}`,
    measure.detail,
  ]);
  const head = ["", "measure", "value", "bar", "detail"];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
