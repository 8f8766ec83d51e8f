/** Histograms of durations and sizes; one series for each set of labels. */

export type Labels = Readonly<Record<string, string | number>>;

export interface HistogramSeries {
  readonly labels: Labels;
  /** One for each bound and one above all of them; each counts only its own bucket. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

export interface Histogram {
  readonly bounds: readonly number[];
  record(labels: Labels, value: number): void;
  series(): readonly HistogramSeries[];
}

interface SeriesInProgress {
  readonly labels: Labels;
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Beyond this many sets of labels, the rest is counted under none. */
const seriesMax = 1_000;

export function makeHistogram(bounds: readonly number[]): Histogram {
  const all = new Map<string, SeriesInProgress>();
  const blank = (labels: Labels): SeriesInProgress => ({
    labels,
    counts: Array.from({ length: bounds.length + 1 }, () => 0),
    sum: 0,
    count: 0,
  });

  function seriesFor(labels: Labels): SeriesInProgress {
    const name = JSON.stringify(labels);
    const known = all.get(name);
    if (known !== undefined) return known;
    if (all.size >= seriesMax && name !== "{}") return seriesFor({});
    const made = blank(labels);
    all.set(name, made);
    return made;
  }

  return {
    bounds,
    record(labels, value) {
      const one = seriesFor(labels);
      const place = bounds.findIndex((bound) => value <= bound);
      const at = place === -1 ? bounds.length : place;
      one.counts[at] = (one.counts[at] ?? 0) + 1;
      one.sum += value;
      one.count += 1;
    },
    series: () => [...all.values()],
  };
}
