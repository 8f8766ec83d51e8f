/** The model costs of the family by session, the most expensive first. */
import { shortId } from "../../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { Link } from "../../link.tsx";
import { spendText } from "../../../core/text/money.ts";
import { count, plural, tokens } from "../../ui/amount.ts";
import { NumberHead } from "../../ui/number-head.tsx";
import { sessionPath } from "../../route.ts";
import { sumCosts, titlesAmong, type Node, type SessionCost } from "./relative.ts";

interface FamilyCostProps {
  readonly costs: ReadonlyMap<string, SessionCost>;
  readonly nodes: ReadonlyMap<string, Node>;
}

const shownMax = 20;

export function FamilyCost({ costs, nodes }: FamilyCostProps): ReactNode {
  const sum = sumCosts(costs.values());
  const rows = [...costs.values()].toSorted(
    (a, b) => b.nanoUsd - a.nanoUsd || b.inputTokens - a.inputTokens || (a.session < b.session ? -1 : 1),
  );
  if (rows.length === 0) return null;
  const isFree = sum.nanoUsd === 0;
  const share = (row: SessionCost): number =>
    isFree ? row.inputTokens / Math.max(1, sum.inputTokens) : row.nanoUsd / sum.nanoUsd;
  return (
    <section className="family-cost" aria-label="Cost of the family">
      <h2>
        Cost of the family: {spendText(sum)}
        <span className="soft small"> in {plural(sum.calls, "model call")}</span>
      </h2>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col" className="family-share">
              Share{isFree ? " of tokens" : ""}
            </th>
            <NumberHead className="family-wide">Calls</NumberHead>
            <NumberHead className="family-wide">Tokens in</NumberHead>
            <NumberHead className="family-wide">Out</NumberHead>
            <NumberHead>Cost</NumberHead>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shownMax).map((row) => (
            <Line key={row.session} row={row} share={share(row)} title={titleIn(nodes, row.session)} />
          ))}
        </tbody>
      </table>
      {rows.length > shownMax ? (
        <p className="soft small">and {plural(rows.length - shownMax, "more session")}</p>
      ) : null}
    </section>
  );
}

const titleIn = (nodes: FamilyCostProps["nodes"], session: string): string => {
  const node = nodes.get(session);
  return node === undefined ? shortId(session) : titlesAmong(nodes)(node);
};

interface LineProps {
  readonly row: SessionCost;
  readonly share: number;
  readonly title: string;
}

function Line({ row, share, title }: LineProps): ReactNode {
  return (
    <tr>
      <td className="family-cost-name">
        <Link to={sessionPath(row.session)} className="cut" dir="auto">
          {title}
        </Link>
      </td>
      <td className="family-share">
        <span className="family-bar" title={`${Math.round(share * 100)} %`}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
        <span className="aside">{Math.round(share * 100)} percent</span>
      </td>
      <td className="right number family-wide">{count(row.calls)}</td>
      <td className="right number family-wide">{tokens(row.inputTokens)}</td>
      <td className="right number family-wide">{tokens(row.outputTokens)}</td>
      <td className="right number">{spendText(row)}</td>
    </tr>
  );
}
