/** The details of the selected session of the family, and its actions. */
import { shortId } from "../../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { Link } from "../../link.tsx";
import { noSpend, spendText } from "../../../core/text/money.ts";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Ago } from "../../ui/moment.tsx";
import { Said } from "../../ui/untrusted-text.tsx";
import { Status } from "../../ui/status.tsx";
import { brief } from "../../ui/visible.ts";
import { sessionPath } from "../../route.ts";
import { choicesOf, type Acts } from "./act.ts";
import { placeOf, relationText, titlesAmong, type Node, type SessionCost } from "./relative.ts";

interface DetailProps {
  readonly node: Node;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly acts: Acts;
  readonly costs: ReadonlyMap<string, SessionCost> | undefined;
}

export function Detail({ node, nodes, acts, costs }: DetailProps): ReactNode {
  const { session, status, objective, headSeq } = node;
  return (
    <section className="family-detail" aria-label="Selected session">
      <div className="row wrap">
        <h2 className="cut" dir="auto">
          {titlesAmong(nodes)(node)}
        </h2>
        <Status status={status} />
      </div>
      {objective === null ? null : <Said text={objective} chars={600} className="soft small" />}
      <dl className="facts small">
        <Origin node={node} nodes={nodes} />
        {status === "absent" ? null : (
          <>
            <dt>Position</dt>
            <dd className="number">{count(headSeq)}</dd>
          </>
        )}
        {node.agent === null ? null : (
          <>
            <dt>Agent</dt>
            <dd>{brief(node.agent, 80)}</dd>
          </>
        )}
        {node.openedAt === 0 ? null : (
          <>
            <dt>Opened</dt>
            <dd>
              <Ago at={node.openedAt} />
            </dd>
          </>
        )}
        {costs === undefined ? null : (
          <>
            <dt>Cost</dt>
            <dd className="number">{spendText(costs.get(session) ?? noSpend)}</dd>
          </>
        )}
      </dl>
      <div className="family-acts">
        {choicesOf(node, acts).map(({ name, act, refusal }, place) => (
          <Button
            key={name}
            size="small"
            {...(place === 0 ? { kind: "main" as const } : {})}
            act={() => act?.()}
            disabled={act === undefined}
            refusal={refusal}
          >
            <span className="cut">{name}</span>
          </Button>
        ))}
      </div>
    </section>
  );
}

function Origin({ node, nodes }: Pick<DetailProps, "node" | "nodes">): ReactNode {
  const { parent, merged } = node;
  const nameOf = (session: string): string => {
    const found = nodes.get(session);
    return found === undefined ? shortId(session) : titlesAmong(nodes)(found, 40);
  };
  return (
    <>
      {parent === null ? null : (
        <>
          <dt>{relationText(node)}</dt>
          <dd>
            {nodes.get(parent.session)?.status === "absent" || parent.seq === 0 ? (
              `${nameOf(parent.session)}${placeOf(parent.seq)}`
            ) : (
              <Link to={sessionPath(parent.session, "transcript", { at: parent.seq })} dir="auto">
                {nameOf(parent.session)} at {parent.seq}
              </Link>
            )}
          </dd>
        </>
      )}
      {merged.length === 0 ? null : (
        <>
          <dt>Merged in</dt>
          <dd>
            {merged.map(({ from, toSeq }) => (
              <Link
                key={from}
                to={sessionPath(from, "transcript", { at: toSeq })}
                className="family-origin"
                dir="auto"
              >
                {nameOf(from)} up to {toSeq}
              </Link>
            ))}
          </dd>
        </>
      )}
    </>
  );
}
