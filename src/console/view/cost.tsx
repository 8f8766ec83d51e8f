/** What models have cost: by day, agent and model. */
import { useEffect, type ReactNode } from "react";
import { Link } from "../link.tsx";
import { count, money, plural, tokens } from "../part/amount.ts";
import { NumberHead } from "../part/number-head.tsx";
import { brief } from "../part/visible.ts";
import { Empty, WhenRead } from "../part/trouble.tsx";
import { refresh, useReading } from "../reading.ts";
import { sessionPath, withParams } from "../route.ts";
import { engine } from "../server.ts";
import { every, now } from "../world.ts";
import { amountOf, Chart, colorOf, colors, dayText, nameOf } from "./cost/chart.tsx";
import {
  chosenOf,
  dayQuery,
  dayRow,
  daysUpTo,
  dearestQuery,
  groupings,
  measured,
  measures,
  rowsMax,
  seriesOf,
  spans,
  summed,
  type DayRow,
  type Grouping,
  type Measure,
  type Series,
  type SpanDays,
  type Sum,
} from "./cost/sums.ts";
import { useReadAgain } from "./heard.ts";
import "../style/cost.css";

const lookMs = 30_000;

interface Chosen {
  readonly days: SpanDays;
  readonly by: Grouping;
  /** Null: whatever there is something of. */
  readonly of: Measure | null;
}

export function Cost({ params }: { readonly params: URLSearchParams }): ReactNode {
  const chosen: Chosen = {
    days: chosenOf(spans, params.get("days"), 30),
    by: chosenOf(groupings, params.get("by"), "agent"),
    of: measures.find((one) => one === params.get("of")) ?? null,
  };
  const days = daysUpTo(now(), chosen.days);
  const since = days[0] ?? "";
  const reading = useReading(`cost/${since}/${chosen.by}`, async () => {
    const { rows } = await engine.query(dayQuery(chosen.by, since));
    return rows.map(dayRow);
  });
  // What is asked in a day changes slowly, and the query looks at all of it.
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

function Nothing({ days }: Chosen): ReactNode {
  return (
    <Empty title={`No model was asked in the last ${days} days`}>
      <p>Every answer of a model is counted here, on its day, with its tokens and what it cost.</p>
      <Link to="/">To the sessions</Link>
    </Empty>
  );
}

const path = ({ days, by, of }: Chosen): string =>
  withParams("/cost", { days: days === 30 ? null : days, by: by === "agent" ? null : by, of });

function Choices({ chosen }: { readonly chosen: Chosen }): ReactNode {
  return (
    <>
      <nav className="cost-choice" aria-label="Stacked by">
        {groupings.map((by) => (
          <Link key={by} to={path({ ...chosen, by })} aria-current={by === chosen.by || undefined}>
            By {by}
          </Link>
        ))}
      </nav>
      <nav className="cost-choice" aria-label="How far back">
        {spans.map((days) => (
          <Link key={days} to={path({ ...chosen, days })} aria-current={days === chosen.days || undefined}>
            {days} days
          </Link>
        ))}
      </nav>
    </>
  );
}

interface ShownProps {
  readonly rows: readonly DayRow[];
  readonly days: readonly string[];
  readonly chosen: Chosen;
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
        label={`${of} a day over ${days.length} days, by ${chosen.by}. The table beneath has the numbers.`}
      />
      <Groups series={series} by={chosen.by} />
      <ByDay series={series} days={days} measure={measure} />
      <Dearest since={days[0] ?? ""} />
      <p className="faint small">
        Days are those of UTC. Answers of models are counted; calls that failed and compactions are not: for
        those too, <code>skein cost</code>.
        {rows.length >= rowsMax ? " There is more than could be read: the least of it is left out." : ""}
      </p>
    </div>
  );
}

interface TotalsProps {
  readonly all: Sum;
  readonly chosen: Chosen;
  readonly measure: Measure;
}

function Totals({ all, chosen, measure }: TotalsProps): ReactNode {
  return (
    <div className="cost-totals">
      <Link to={path({ ...chosen, of: "cost" })} aria-current={measure === "cost" || undefined}>
        <b className="number">{money(all.nanoUsd)}</b>
        <span>{all.unpriced === 0 ? "in all" : `known, and ${plural(all.unpriced, "answer")} unpriced`}</span>
      </Link>
      <Link to={path({ ...chosen, of: "tokens" })} aria-current={measure === "tokens" || undefined}>
        <b className="number">{tokens(all.inputTokens + all.outputTokens)}</b>
        <span>
          tokens: {tokens(all.inputTokens)} in, {tokens(all.outputTokens)} out
        </span>
      </Link>
      <div>
        <b className="number">{count(all.answers)}</b>
        <span>{all.answers === 1 ? "answer" : "answers"}</span>
      </div>
    </div>
  );
}

/** What it cost, as far as that is known. */
function Priced({ sum }: { readonly sum: Pick<Sum, "nanoUsd" | "unpriced" | "answers"> }): ReactNode {
  if (sum.unpriced === 0) return money(sum.nanoUsd);
  if (sum.unpriced === sum.answers) return <span className="faint">unknown</span>;
  return (
    <>
      {money(sum.nanoUsd)} <span className="faint">and {sum.unpriced} unpriced</span>
    </>
  );
}

function Groups({ series, by }: { readonly series: readonly Series[]; readonly by: Grouping }): ReactNode {
  return (
    <table className="plain cost-groups">
      <caption className="aside">By {by}</caption>
      <thead>
        <tr>
          <th scope="col">{by === "agent" ? "Agent" : "Model"}</th>
          <NumberHead>Answers</NumberHead>
          <NumberHead className="cost-wide">Tokens in</NumberHead>
          <NumberHead className="cost-wide">Tokens out</NumberHead>
          <NumberHead>Cost</NumberHead>
        </tr>
      </thead>
      <tbody>
        {series.map((one, place) => (
          <tr key={nameOf(one)}>
            <th scope="row">
              <span className="cost-swatch" style={{ background: colorOf(place, one) }} />
              <bdi>{nameOf(one)}</bdi>
            </th>
            <td className="right number">{count(one.sum.answers)}</td>
            <td className="right number cost-wide">{count(one.sum.inputTokens)}</td>
            <td className="right number cost-wide">{count(one.sum.outputTokens)}</td>
            <td className="right number">
              <Priced sum={one.sum} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ByDayProps {
  readonly series: readonly Series[];
  readonly days: readonly string[];
  readonly measure: Measure;
}

/** The numbers of the picture. Days on which nothing was asked are left out. */
function ByDay({ series, days, measure }: ByDayProps): ReactNode {
  const total = (place: number): Sum => summed(series.flatMap((one) => one.days[place] ?? []));
  const shown = days
    .map((day, place) => ({ day, place, all: total(place) }))
    .filter(({ all }) => all.answers > 0);
  return (
    <details>
      <summary>The numbers of each day</summary>
      <div className="cost-scroll" role="region" aria-label="The numbers of each day" tabIndex={0}>
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
                    {amountOf(measured(one.days[place] ?? all, measure), measure)}
                  </td>
                ))}
                <td className="right number">{amountOf(measured(all, measure), measure)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const dearestMax = 10;

function Dearest({ since }: { readonly since: string }): ReactNode {
  const reading = useReading(`cost/${since}/dearest`, async () => {
    const { rows } = await engine.query(dearestQuery(since, dearestMax));
    return rows.map(([session, name, objective, ...rest]) => {
      const [answers = 0, nanoUsd = 0, unpriced = 0, used = 0] = rest.map(Number);
      const title = name ?? objective;
      return {
        session: String(session),
        title: typeof title === "string" ? title : null,
        answers,
        nanoUsd,
        unpriced,
        used,
      };
    });
  });
  return (
    <section>
      <h2>The dearest sessions</h2>
      <WhenRead of={reading}>
        {(rows) => (
          <table className="plain">
            <thead className="aside">
              <tr>
                <th scope="col">Session</th>
                <th scope="col">Tokens</th>
                <th scope="col">Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ session, title, used, ...sum }) => (
                <tr key={session}>
                  <td>
                    <Link to={sessionPath(session)} dir="auto" className="cost-title">
                      {brief(title ?? session.slice(-6), 80)}
                    </Link>
                  </td>
                  <td className="right number soft">{tokens(used)} tokens</td>
                  <td className="right number">
                    <Priced sum={sum} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </WhenRead>
    </section>
  );
}
