/** What a project has cost so far: the sum, and how it grew day by day. */
import type { ReactNode } from "react";
import { spendText } from "../../../core/text/money.ts";
import { money } from "../../ui/amount.ts";
import type { engine } from "../../server.ts";
import { dayText } from "../cost/chart.tsx";

export type CostDays = Awaited<ReturnType<typeof engine.cost>>;

export interface SpendDay {
  readonly day: string;
  /** Up to and with this day. */
  readonly nanoUsd: number;
}

const dayMs = 86_400_000;
const daysMax = 400;

/** Every day from the first call on, each with the sum so far. */
export function growthOf(rows: CostDays, nowMs: number): readonly SpendDay[] {
  const byDay = new Map(rows.map(({ group, nanoUsd }) => [group ?? "", nanoUsd]));
  const first = Date.parse(`${[...byDay.keys()].toSorted()[0] ?? ""}T00:00:00Z`);
  if (Number.isNaN(first)) return [];
  const days: SpendDay[] = [];
  let sum = 0;
  for (let at = first; at <= nowMs && days.length < daysMax; at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    sum += byDay.get(day) ?? 0;
    days.push({ day, nanoUsd: sum });
  }
  return days;
}

interface SpendProps {
  readonly cost: Parameters<typeof spendText>[0];
  /** Undefined while it is read, or where the store has no SQL. */
  readonly days: readonly SpendDay[] | undefined;
  /** Its budget in dollars; null without one. */
  readonly limitUsd: number | null;
}

export function Spend({ cost, days = [], limitUsd }: SpendProps): ReactNode {
  const isUnsure = cost.unconfirmedNanoUsd > 0 || cost.unpriced > 0;
  return (
    <section className="sheet" aria-label="Cost">
      <header className="projects-card-head">
        <h2>Cost</h2>
        <span className="number">
          <b className="projects-sum">{money(cost.nanoUsd)}</b>
          {limitUsd === null ? null : <span className="soft"> of {money(limitUsd * 1e9)}</span>}
        </span>
      </header>
      <div className="projects-card">
        {isUnsure ? <p className="small soft">{spendText(cost)}</p> : null}
        {days.length < 2 ? null : (
          <Growth days={days} limitNano={limitUsd === null ? null : limitUsd * 1e9} />
        )}
        {cost.nanoUsd === 0 && !isUnsure ? <p className="soft">No model calls yet.</p> : null}
      </div>
    </section>
  );
}

interface GrowthProps {
  readonly days: readonly SpendDay[];
  readonly limitNano: number | null;
}

/** A line that only rises. The words have its ends; the shape is for the eye. */
function Growth({ days, limitNano }: GrowthProps): ReactNode {
  const top = Math.max(1, limitNano ?? 0, ...days.map(({ nanoUsd }) => nanoUsd));
  const x = (place: number): number => (place / (days.length - 1)) * 100;
  const y = (nanoUsd: number): number => 100 - (nanoUsd / top) * 92;
  const line = days
    .map(({ nanoUsd }, place) => `${place === 0 ? "M" : "L"}${x(place)} ${y(nanoUsd)}`)
    .join("");
  const [first, last] = [days[0], days.at(-1)];
  const [from, to] = [dayText(first?.day ?? ""), dayText(last?.day ?? "")];
  const words = `From ${from} to ${to}: ${money(last?.nanoUsd ?? 0)}`;
  return (
    <figure className="projects-growth">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={words}>
        <path className="projects-growth-area" d={`${line}L100 100L0 100Z`} />
        {limitNano === null ? null : (
          <path className="projects-limit" d={`M0 ${y(limitNano)}H100`} vectorEffect="non-scaling-stroke" />
        )}
        <path className="projects-growth-line" d={line} vectorEffect="non-scaling-stroke" />
      </svg>
      <figcaption className="small faint number">
        <span>{from}</span>
        <span>{to}</span>
      </figcaption>
    </figure>
  );
}
