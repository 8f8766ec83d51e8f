/** The cost of model calls by day: from rows of `engine.cost` to bars and sums. */
import { addSpend, noSpend, type Spend } from "../../../core/text/money.ts";

export const spans = [7, 30, 90] as const;
export type SpanDays = (typeof spans)[number];
export const groupings = ["agent", "model", "session", "user", "day"] as const;
/** One of them, or `label:KEY`. */
export type Grouping = (typeof groupings)[number] | `label:${string}`;
export const measures = ["cost", "tokens"] as const;
export type CostMeasure = (typeof measures)[number];

/** One day of one group. */
export interface DayRow extends Spend {
  readonly day: string;
  readonly group: string | null;
}

/** The row limit of `engine.cost`. */
export const rowsMax = 10_000;

const labelPrefix = "label:";
export const labelOf = (by: Grouping): string | null =>
  by.startsWith(labelPrefix) ? by.slice(labelPrefix.length) : null;

/** The grouping in the URL, or agents. */
export function groupingOf(given: string | null): Grouping {
  const isLabel = given !== null && given.startsWith(labelPrefix) && given.length > labelPrefix.length;
  return isLabel ? `label:${given.slice(labelPrefix.length)}` : chosenOf(groupings, given, "agent");
}

type CostRow = Spend & { readonly group: string | null; readonly day?: string };

/** By day there is one group: everything. */
export const dayRows = (rows: readonly CostRow[], by: Grouping): readonly DayRow[] =>
  rows.map((row) => ({ ...row, day: row.day ?? row.group ?? "", group: by === "day" ? "All" : row.group }));

const dayMs = 86_400_000;

/** The days up to today, in UTC, the earliest first. */
export const daysUpTo = (nowMs: number, days: number): readonly string[] =>
  Array.from({ length: days }, (_, place) =>
    new Date(nowMs - (days - 1 - place) * dayMs).toISOString().slice(0, 10),
  );

export const summed = (rows: readonly Spend[]): Spend => rows.reduce<Spend>(addSpend, noSpend);

export const measured = (sum: Spend, measure: CostMeasure): number =>
  measure === "cost" ? sum.nanoUsd : sum.inputTokens + sum.outputTokens;

export interface CostSeries {
  /** Null: sessions without an agent, user or label. */
  readonly group: string | null;
  /** The number of groups without a separate series. */
  readonly others: number;
  readonly sum: Spend;
  /** One for each day. */
  readonly days: readonly Spend[];
}

/** The largest groups have a series each, all others share one. */
export function seriesOf(
  rows: readonly DayRow[],
  days: readonly string[],
  { measure, most }: { readonly measure: CostMeasure; readonly most: number },
): readonly CostSeries[] {
  const within = rows.filter(({ day }) => days.includes(day));
  const groups = [...new Set(within.map(({ group }) => group))].map((group) => {
    const own = within.filter((row) => row.group === group);
    return { group, own, sum: summed(own) };
  });
  const ranked = groups.toSorted(
    (a, b) =>
      measured(b.sum, measure) - measured(a.sum, measure) ||
      b.sum.calls - a.sum.calls ||
      (a.group ?? "").localeCompare(b.group ?? ""),
  );
  const isMore = ranked.length > most;
  const alone = isMore ? ranked.slice(0, most - 1) : ranked;
  const rest = ranked.slice(alone.length);
  const made = (group: string | null, own: readonly DayRow[], others: number): CostSeries => ({
    group,
    others,
    sum: summed(own),
    days: days.map((day) => summed(own.filter((row) => row.day === day))),
  });
  const together = rest.flatMap(({ own }) => own);
  return [
    ...alone.map(({ group, own }) => made(group, own, 0)),
    ...(isMore ? [made(null, together, rest.length)] : []),
  ];
}

export interface Bar {
  readonly from: number;
  readonly to: number;
}

/** Per series its segment of each day's bar. */
export function stacked(series: readonly CostSeries[], measure: CostMeasure): readonly (readonly Bar[])[] {
  const reached: number[] = [];
  return series.map(({ days }) =>
    days.map((sum, place) => {
      const from = reached[place] ?? 0;
      const to = from + measured(sum, measure);
      reached[place] = to;
      return { from, to };
    }),
  );
}

/** Round numbers from 0 up to the first that is at least the largest value. */
export function ticksFor(largest: number): readonly number[] {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest / 4));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one * 4 >= largest);
  // A nano-dollar, or a token, is the smallest unit.
  const width = Math.max(1, step ?? power * 10);
  const count = Math.ceil(largest / width - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => place * width);
}

/** One of the choices, or the default. */
export const chosenOf = <T extends string | number>(
  choices: readonly T[],
  given: string | null,
  usual: T,
): T => choices.find((one) => String(one) === given) ?? usual;
