/** What models have cost, day by day: from rows of the view `costs` to bars and sums. */

export const spans = [7, 30, 90] as const;
export type SpanDays = (typeof spans)[number];
export const groupings = ["agent", "model"] as const;
export type Grouping = (typeof groupings)[number];
export const measures = ["cost", "tokens"] as const;
export type Measure = (typeof measures)[number];

/** One day of one agent or model. */
export interface DayRow {
  readonly day: string;
  readonly group: string | null;
  readonly answers: number;
  readonly nanoUsd: number;
  /** Answers whose price nobody knows. */
  readonly unpriced: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export type Sum = Omit<DayRow, "day" | "group">;

const nothing: Sum = { answers: 0, nanoUsd: 0, unpriced: 0, inputTokens: 0, outputTokens: 0 };

/** A query gives at most so many rows: the dearest days come first, should there be more. */
export const rowsMax = 10_000;

export const dayQuery = (by: Grouping, since: string): string =>
  `SELECT day, ${by}, count(*), total(nano_usd), sum(nano_usd IS NULL), total(input_tokens), ` +
  `total(output_tokens) FROM costs WHERE day >= '${since}' GROUP BY 1, 2 ORDER BY 4 DESC, 6 DESC ` +
  `LIMIT ${rowsMax}`;

export const dearestQuery = (since: string, most: number): string =>
  `SELECT c.session, s.name, s.objective, count(*), total(c.nano_usd), sum(c.nano_usd IS NULL), ` +
  `total(c.input_tokens) + total(c.output_tokens) FROM costs c LEFT JOIN sessions s ` +
  `ON s.session = c.session WHERE c.day >= '${since}' GROUP BY 1, 2, 3 ORDER BY 5 DESC, 7 DESC LIMIT ${most}`;

/** PostgreSQL gives large numbers as texts. */
export const dayRow = ([day, group, ...rest]: readonly unknown[]): DayRow => {
  const [answers = 0, nanoUsd = 0, unpriced = 0, inputTokens = 0, outputTokens = 0] = rest.map(Number);
  return {
    day: String(day),
    group: typeof group === "string" ? group : null,
    answers,
    nanoUsd,
    unpriced,
    inputTokens,
    outputTokens,
  };
};

const dayMs = 86_400_000;

/** The days up to today, in UTC, the earliest first. */
export const daysUpTo = (nowMs: number, days: number): readonly string[] =>
  Array.from({ length: days }, (_, place) =>
    new Date(nowMs - (days - 1 - place) * dayMs).toISOString().slice(0, 10),
  );

export const summed = (rows: readonly Sum[]): Sum =>
  rows.reduce<Sum>(
    (sum, row) => ({
      answers: sum.answers + row.answers,
      nanoUsd: sum.nanoUsd + row.nanoUsd,
      unpriced: sum.unpriced + row.unpriced,
      inputTokens: sum.inputTokens + row.inputTokens,
      outputTokens: sum.outputTokens + row.outputTokens,
    }),
    nothing,
  );

export const measured = (sum: Sum, measure: Measure): number =>
  measure === "cost" ? sum.nanoUsd : sum.inputTokens + sum.outputTokens;

export interface Series {
  /** Null: sessions without an agent. */
  readonly group: string | null;
  /** So many groups that have no series of their own. */
  readonly others: number;
  readonly sum: Sum;
  /** One for each day. */
  readonly days: readonly Sum[];
}

/** The largest groups have a series each, all others one together. */
export function seriesOf(
  rows: readonly DayRow[],
  days: readonly string[],
  { measure, most }: { readonly measure: Measure; readonly most: number },
): readonly Series[] {
  const within = rows.filter(({ day }) => days.includes(day));
  const groups = [...new Set(within.map(({ group }) => group))].map((group) => {
    const own = within.filter((row) => row.group === group);
    return { group, own, sum: summed(own) };
  });
  const ranked = groups.toSorted(
    (a, b) =>
      measured(b.sum, measure) - measured(a.sum, measure) ||
      b.sum.answers - a.sum.answers ||
      (a.group ?? "").localeCompare(b.group ?? ""),
  );
  const isMore = ranked.length > most;
  const alone = isMore ? ranked.slice(0, most - 1) : ranked;
  const rest = ranked.slice(alone.length);
  const made = (group: string | null, own: readonly DayRow[], others: number): Series => ({
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

/** For each series the stretch of each day's bar that is its own. */
export function stacked(series: readonly Series[], measure: Measure): readonly (readonly Bar[])[] {
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

/** Round numbers from 0 up to the first that is not below the largest. */
export function ticksFor(largest: number): readonly number[] {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest / 4));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one * 4 >= largest);
  const width = step ?? power * 10;
  const count = Math.ceil(largest / width - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => place * width);
}

/** One of the choices, or the first that is meant by default. */
export const chosenOf = <T extends string | number>(
  choices: readonly T[],
  given: string | null,
  usual: T,
): T => choices.find((one) => String(one) === given) ?? usual;
