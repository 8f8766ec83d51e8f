/** What the imported sessions did in other tools: by tool, project, model and week. */
import type { ReactNode } from "react";
import { moneyText } from "../../../core/text/money.ts";
import { Link } from "../../link.tsx";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { count, tokens } from "../../ui/amount.ts";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { NumberHead } from "../../ui/number-head.tsx";
import { brief } from "../../ui/visible.ts";

type Stats = NonNullable<Awaited<ReturnType<typeof engine.stats>>["imported"]>;
type Sum = Stats["total"];
type Row = Stats["tools"][number];

export function Imported(): ReactNode {
  const reading = useReading("imported", () => engine.stats({ imported: true }));
  return (
    <WhenRead of={reading}>
      {({ imported }) =>
        imported === undefined || imported.total.sessions === 0 ? (
          <Empty title="No imported sessions">
            <Link to="/import">Import sessions</Link>
          </Empty>
        ) : (
          <Shown stats={imported} />
        )
      }
    </WhenRead>
  );
}

const hours = (ms: number): string =>
  ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;

/** Unknown prices are unknown, never nothing. */
const costOf = ({ nanoUsd, unpriced }: Sum): string =>
  nanoUsd === 0 && unpriced > 0 ? "unknown" : `${moneyText(nanoUsd)}${unpriced > 0 ? " +" : ""}`;

function Shown({ stats: { total, tools, projects, models, weeks } }: { readonly stats: Stats }): ReactNode {
  const figures = [
    ["Sessions", count(total.sessions)],
    ["Tokens", tokens(total.inputTokens + total.outputTokens)],
    ["Cost", costOf(total)],
    ["Active time", hours(total.activeMs)],
  ] as const;
  return (
    <div className="stack import-parts">
      <dl className="import-figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
      <Table title="Week" rows={weeks.toReversed()} />
      <Table title="Tool" rows={tools} />
      <Table title="Project" rows={projects} />
      <Table title="Model" rows={models} />
      <p className="faint small">
        Spent in the other tools, not here. A plus marks answers of unknown price. Active time leaves out
        pauses of more than 15 minutes. The same figures as <code>skein stats --imported</code>.
      </p>
    </div>
  );
}

const rowsMax = 50;

function Table({ title, rows }: { readonly title: string; readonly rows: readonly Row[] }): ReactNode {
  if (rows.length === 0) return null;
  const most = Math.max(1, ...rows.map(({ activeMs }) => activeMs));
  return (
    <section className="import-sums">
      <h2>By {title.toLowerCase()}</h2>
      <table className="plain import-narrow">
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <NumberHead>Sessions</NumberHead>
            <NumberHead className="import-wide">Answers</NumberHead>
            <NumberHead>Tokens</NumberHead>
            <NumberHead>Cost</NumberHead>
            <NumberHead>Active</NumberHead>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, rowsMax).map((row) => (
            <tr key={row.group ?? ""}>
              <th scope="row">
                <bdi>{brief(row.group ?? "unknown", 100)}</bdi>
                <span
                  className="import-share"
                  style={{ width: `${(100 * row.activeMs) / most}%` }}
                  aria-hidden="true"
                />
              </th>
              <td className="right number">{count(row.sessions)}</td>
              <td className="right number import-wide">{count(row.answers)}</td>
              <td className="right number">{tokens(row.inputTokens + row.outputTokens)}</td>
              <td className="right number">{costOf(row)}</td>
              <td className="right number">{hours(row.activeMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > rowsMax ? (
        <p className="faint small">and {count(rows.length - rowsMax)} more: skein stats --imported --json</p>
      ) : null}
    </section>
  );
}
