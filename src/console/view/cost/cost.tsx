/** The cost of model calls: by day, and by agent, model, session, user or label. */
import { useEffect, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { spendText, type Spend } from "../../../core/text/money.ts";
import { count, plural, tokens } from "../../ui/amount.ts";
import { NumberHead } from "../../ui/number-head.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { brief } from "../../ui/visible.ts";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import { go, withParams } from "../../route.ts";
import { engine } from "../../server.ts";
import { every, now } from "../../world.ts";
import { amountOf, Chart, colorOf, colors, dayText, nameOf } from "./chart.tsx";
import {
  chosenOf,
  dayRows,
  daysUpTo,
  groupingOf,
  groupings,
  labelOf,
  measured,
  measures,
  rowsMax,
  seriesOf,
  spans,
  summed,
  type DayRow,
  type Grouping,
  type CostMeasure,
  type CostSeries,
  type SpanDays,
} from "./sums.ts";
import { useReadAgain } from "../use-refetch-on-event.ts";
import "./cost.css";

const lookMs = 30_000;

interface CostChoice {
  readonly days: SpanDays;
  readonly by: Grouping;
  /** Null: whichever has data. */
  readonly of: CostMeasure | null;
}

export function Cost({ params }: { readonly params: URLSearchParams }): ReactNode {
  const chosen: CostChoice = {
    days: chosenOf(spans, params.get("days"), 30),
    by: groupingOf(params.get("by")),
    of: measures.find((one) => one === params.get("of")) ?? null,
  };
  const days = daysUpTo(now(), chosen.days);
  const since = days[0] ?? "";
  const reading = useReading(`cost/${since}/${chosen.by}`, async () => {
    const asked = { by: chosen.by, since: startOfDay(since), daily: chosen.by !== "day" };
    return dayRows(await engine.cost(asked), chosen.by);
  });
  // Daily figures change slowly, and the query reads all of them.
  useEffect(() => every(lookMs, () => document.hidden || refresh("cost")), []);
  useReadAgain("cost");
  return (
    <div className="cost">
      <div className="head">
        <h1 className="spread">Cost</h1>
        <Choices chosen={chosen} />
      </div>
      <WhenRead of={reading}>
        {(rows) => (rows.length === 0 ? <Nothing {...chosen} /> : <Shown {...{ rows, days, chosen }} />)}
      </WhenRead>
    </div>
  );
}

const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`);

function Nothing({ days }: CostChoice): ReactNode {
  return (
    <Empty title={`No model calls in the last ${days} days`}>
      <p>Model calls appear here with their tokens and cost.</p>
      <Link to="/">Sessions</Link>
    </Empty>
  );
}

const path = ({ days, by, of }: CostChoice): string =>
  withParams("/cost", { days: days === 30 ? null : days, by: by === "agent" ? null : by, of });

function Choices({ chosen }: { readonly chosen: CostChoice }): ReactNode {
  return (
    <>
      <nav className="cost-choice" aria-label="Stacked by">
        {groupings.map((by) => (
          <Link key={by} to={path({ ...chosen, by })} aria-current={by === chosen.by || undefined}>
            {heads[by]}
          </Link>
        ))}
      </nav>
      <LabelChoice key={chosen.by} chosen={chosen} />
      <nav className="cost-choice" aria-label="Period">
        {spans.map((days) => (
          <Link key={days} to={path({ ...chosen, days })} aria-current={days === chosen.days || undefined}>
            {days} days
          </Link>
        ))}
      </nav>
    </>
  );
}

const heads = { agent: "Agent", model: "Model", session: "Session", user: "User", day: "Day" } as const;
const headOf = (by: Grouping): string =>
  by in heads ? heads[by as keyof typeof heads] : `Label ${labelOf(by) ?? ""}`;

/** Groups by a label with the typed key. */
function LabelChoice({ chosen }: { readonly chosen: CostChoice }): ReactNode {
  const label = labelOf(chosen.by);
  return (
    <form
      className="cost-label"
      onSubmit={(event) => {
        event.preventDefault();
        const key = new FormData(event.currentTarget).get("key");
        if (typeof key === "string" && key !== "") go(path({ ...chosen, by: `label:${key}` }));
      }}
    >
      <input
        name="key"
        aria-label="Label key"
        placeholder="Label key"
        defaultValue={label ?? ""}
        data-chosen={label !== null || undefined}
        autoComplete="off"
        spellCheck={false}
      />
    </form>
  );
}

interface ShownProps {
  readonly rows: readonly DayRow[];
  readonly days: readonly string[];
  readonly chosen: CostChoice;
}

function Shown({ rows, days, chosen }: ShownProps): ReactNode {
  const all = summed(rows);
  const measure = chosen.of ?? (all.nanoUsd > 0 ? "cost" : "tokens");
  const series = seriesOf(rows, days, { measure, most: colors.length });
  const of = measure === "cost" ? "Dollars" : "Tokens";
  return (
    <div className="stack cost-shown">
      <Totals all={all} chosen={chosen} measure={measure} />
      <Chart
        days={days}
        series={series}
        measure={measure}
        label={`${of} a day over ${days.length} days, by ${chosen.by}. The table below has the numbers.`}
      />
      {chosen.by === "day" ? (
        <Days series={series} days={days} />
      ) : (
        <>
          <Groups series={series} by={chosen.by} />
          <ByDay series={series} days={days} measure={measure} />
        </>
      )}
      {chosen.by === "session" ? null : <MostExpensive since={days[0] ?? ""} />}
      <p className="faint small">
        Days are in UTC. The same amounts as <code>skein cost --by {chosen.by}</code>.
        {rows.length >= rowsMax ? " More rows exist than are shown: choose fewer days." : ""}
      </p>
    </div>
  );
}

interface TotalsProps {
  readonly all: Spend;
  readonly chosen: CostChoice;
  readonly measure: CostMeasure;
}

/** Without unconfirmed and unknown amounts: the line below has them. */
const settled = { unconfirmedNanoUsd: 0, unpriced: 0 } as const;

function Totals({ all, chosen, measure }: TotalsProps): ReactNode {
  const amount = spendText({ ...all, ...(all.nanoUsd > 0 ? settled : { unconfirmedNanoUsd: 0 }) });
  const whole = spendText(all);
  return (
    <div className="cost-totals">
      <Link to={path({ ...chosen, of: "cost" })} aria-current={measure === "cost" || undefined}>
        <b className="number">{amount}</b>
        <span>{whole === amount ? "Cost" : `Cost: ${whole}`}</span>
      </Link>
      <Link to={path({ ...chosen, of: "tokens" })} aria-current={measure === "tokens" || undefined}>
        <b className="number">{tokens(all.inputTokens + all.outputTokens)}</b>
        <span>
          Tokens: {tokens(all.inputTokens)} in, {tokens(all.outputTokens)} out
        </span>
      </Link>
      <div>
        <b className="number">{count(all.calls)}</b>
        <span>
          {all.calls === 1 ? "Model call" : "Model calls"}
          {all.estimated === 0 ? "" : `, ${plural(all.estimated, "estimate")}`}
        </span>
      </div>
    </div>
  );
}

interface LineProps {
  readonly sum: Spend;
  readonly children: ReactNode;
}

function Line({ sum, children }: LineProps): ReactNode {
  return (
    <tr>
      <th scope="row">{children}</th>
      <td className="right number">{count(sum.calls)}</td>
      <td className="right number cost-wide">{count(sum.inputTokens)}</td>
      <td className="right number cost-wide">{count(sum.outputTokens)}</td>
      <td className="right number">{spendText(sum)}</td>
    </tr>
  );
}

interface TableProps {
  readonly by: Grouping;
  readonly children: ReactNode;
}

const Table = ({ by, children }: TableProps): ReactNode => (
  <table className="plain cost-groups">
    <caption className="aside">By {labelOf(by) ?? by}</caption>
    <thead>
      <tr>
        <th scope="col">{headOf(by)}</th>
        <NumberHead>Calls</NumberHead>
        <NumberHead className="cost-wide">Tokens in</NumberHead>
        <NumberHead className="cost-wide">Tokens out</NumberHead>
        <NumberHead>Cost</NumberHead>
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
);

const Groups = ({
  series,
  by,
}: {
  readonly series: readonly CostSeries[];
  readonly by: Grouping;
}): ReactNode => (
  <Table by={by}>
    {series.map((one, place) => (
      <Line key={nameOf(one)} sum={one.sum}>
        <span className="cost-swatch" style={{ background: colorOf(place, one) }} />
        {by === "session" && one.others === 0 && one.group !== null ? (
          <SessionName id={one.group} />
        ) : (
          <bdi>{nameOf(one)}</bdi>
        )}
      </Line>
    ))}
  </Table>
);

/** The days with calls, the latest first. */
const Days = ({ series, days }: Omit<ByDayProps, "measure">): ReactNode => (
  <Table by="day">
    {days
      .map((day, place) => ({ day, sum: summed(series.flatMap((one) => one.days[place] ?? [])) }))
      .filter(({ sum }) => sum.calls > 0)
      .toReversed()
      .map(({ day, sum }) => (
        <Line key={day} sum={sum}>
          <time dateTime={day}>{dayText(day)}</time>
        </Line>
      ))}
  </Table>
);

interface ByDayProps {
  readonly series: readonly CostSeries[];
  readonly days: readonly string[];
  readonly measure: CostMeasure;
}

const cellOf = (sum: Spend, measure: CostMeasure): string =>
  sum.calls === 0 ? "" : measure === "cost" ? spendText(sum) : amountOf(measured(sum, measure), measure);

/** The numbers of the chart. Days without calls are left out. */
function ByDay({ series, days, measure }: ByDayProps): ReactNode {
  const total = (place: number): Spend => summed(series.flatMap((one) => one.days[place] ?? []));
  const shown = days
    .map((day, place) => ({ day, place, all: total(place) }))
    .filter(({ all }) => all.calls > 0);
  return (
    <details>
      <summary>Amounts by day</summary>
      <div className="cost-scroll" role="region" aria-label="Amounts by day" tabIndex={0}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Day</th>
              {series.map((one) => (
                <NumberHead key={nameOf(one)}>
                  <bdi>{brief(nameOf(one), 24)}</bdi>
                </NumberHead>
              ))}
              <NumberHead>All</NumberHead>
            </tr>
          </thead>
          <tbody>
            {shown.toReversed().map(({ day, place, all }) => (
              <tr key={day}>
                <th scope="row">
                  <time dateTime={day}>{dayText(day)}</time>
                </th>
                {series.map((one) => (
                  <td className="right number" key={nameOf(one)}>
                    {cellOf(one.days[place] ?? all, measure)}
                  </td>
                ))}
                <td className="right number">{cellOf(all, measure)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const mostExpensiveMax = 10;

function MostExpensive({ since }: { readonly since: string }): ReactNode {
  const reading = useReading(`cost/${since}/sessions`, async () => {
    const rows = await engine.cost({ by: "session", since: startOfDay(since) });
    return rows.slice(0, mostExpensiveMax);
  });
  return (
    <section>
      <h2>Most expensive sessions</h2>
      <WhenRead of={reading}>
        {(rows) => (
          <Table by="session">
            {rows.map(({ group, ...sum }) => (
              <Line key={group} sum={sum}>
                <SessionName id={group ?? ""} />
              </Line>
            ))}
          </Table>
        )}
      </WhenRead>
    </section>
  );
}
