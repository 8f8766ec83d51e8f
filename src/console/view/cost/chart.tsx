/** Bars by day, stacked. The table below has the numbers; the chart is visual only. */
import type { CSSProperties, ReactNode } from "react";
import { shortId } from "../../../core/text/short-id.ts";
import { money, tokens } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";
import { stacked, ticksFor, measured, summed, type CostMeasure, type CostSeries } from "./sums.ts";

export const colors = ["--accent", "--busy", "--rest", "--good", "--warn", "--ink-faint"] as const;
export const colorOf = (place: number, { others }: CostSeries): string =>
  `var(${others > 0 ? "--ink-faint" : (colors[place] ?? "--ink-faint")})`;

export const amountOf = (value: number, measure: CostMeasure): string =>
  measure === "cost" ? money(value) : tokens(value);

export const nameOf = ({ group, others }: CostSeries): string =>
  others > 0 ? `${others} others` : group === null ? "None" : brief(groupName(group), 60);

/** A session appears by its id suffix, as everywhere. */
const groupName = (group: string): string => (/^ses_[a-z0-9]+$/.test(group) ? shortId(group) : group);

const dayName = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
export const dayText = (day: string): string => dayName.format(Date.parse(`${day}T00:00:00Z`));

interface ChartProps {
  readonly days: readonly string[];
  readonly series: readonly CostSeries[];
  readonly measure: CostMeasure;
  readonly label: string;
}

export function Chart({ days, series, measure, label }: ChartProps): ReactNode {
  const totals = days.map((_, place) => summed(series.map((one) => one.days[place]).filter(isSum)));
  const ticks = ticksFor(Math.max(...totals.map((sum) => measured(sum, measure))));
  const top = ticks.at(-1) ?? 1;
  const bars = stacked(series, measure);
  const wordsOf = (place: number): string =>
    [
      `${dayText(days[place] ?? "")}: ${amountOf(measured(totals[place] ?? summed([]), measure), measure)}`,
      ...series
        .filter((one) => measured(one.days[place] ?? summed([]), measure) > 0)
        .map(
          (one) => `${nameOf(one)}: ${amountOf(measured(one.days[place] ?? summed([]), measure), measure)}`,
        ),
    ].join("\n");
  return (
    <figure className="cost-chart">
      <div className="cost-ticks number small faint" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ bottom: `${(tick / top) * 100}%` }}>
            {amountOf(tick, measure)}
          </span>
        ))}
      </div>
      <svg
        className="cost-bars"
        viewBox={`0 0 ${days.length} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {ticks.map((tick) => (
          <line
            key={tick}
            x1="0"
            x2={days.length}
            y1={100 - (tick / top) * 100}
            y2={100 - (tick / top) * 100}
          />
        ))}
        {days.map((day, place) => (
          <g key={day} className="cost-day">
            <title>{wordsOf(place)}</title>
            <rect className="cost-reach" x={place} y="0" width="1" height="100" />
            {series.map((one, row) => {
              const { from, to } = bars[row]?.[place] ?? { from: 0, to: 0 };
              return to === from ? null : (
                <rect
                  key={nameOf(one)}
                  x={place + 0.14}
                  y={100 - (to / top) * 100}
                  width="0.72"
                  height={((to - from) / top) * 100}
                  style={{ fill: colorOf(row, one) }}
                />
              );
            })}
          </g>
        ))}
      </svg>
      <div className="cost-axis small faint" aria-hidden="true">
        {axisDays(days).map((day) => (
          <span key={day} style={placed(days.indexOf(day), days.length)}>
            {dayText(day)}
          </span>
        ))}
      </div>
    </figure>
  );
}

/** Below its bar; the last label ends with the bars. */
const placed = (place: number, of: number): CSSProperties =>
  place === of - 1 ? { right: 0, transform: "none" } : { left: `${((place + 0.5) / of) * 100}%` };

const isSum = <T,>(sum: T | undefined): sum is T => sum !== undefined;

/** A few days, evenly spaced, including the last. */
function axisDays(days: readonly string[]): readonly string[] {
  const step = Math.max(1, Math.ceil(days.length / 6));
  return days.filter((_, place) => (days.length - 1 - place) % step === 0);
}
