/** The family as a graph: forks, children, successors and merges, with their actions. */
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { WhenRead } from "../../ui/load-error.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import { goWith, useRoute } from "../../route.ts";
import { engine } from "../../server.ts";
import { after } from "../../world.ts";
import { useScope } from "../session/scope.ts";
import { Detail } from "./detail.tsx";
import { FamilyCost } from "./family-cost.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { Graph } from "./graph.tsx";
import { drawFamily } from "./layout.ts";
import { readCosts, titlesAmong, type Lineage, type Node } from "./relative.ts";
import "./family.css";

export function Family(): ReactNode {
  const { id } = useScope();
  const lineage = useReading(`session/${id}/lineage`, () => engine.lineage(id));
  return <WhenRead of={lineage}>{(read) => <Drawn lineage={read} />}</WhenRead>;
}

const costsAfterMs = 1_500;

/** Read once, and again a while after an event. */
function useCosts({ nodes, session }: Lineage): ReturnType<typeof useReading<Costs>> {
  const key = `family/${session}/cost`;
  const heads = nodes.reduce((sum, { headSeq }) => sum + headSeq, 0);
  const reading = useReading<Costs>(key, () => readCosts(engine, session));
  useEffect(() => after(costsAfterMs, () => refresh(key)), [key, heads]);
  return reading;
}

type Costs = Awaited<ReturnType<typeof readCosts>>;

function Drawn({ lineage }: { readonly lineage: Lineage }): ReactNode {
  const { id } = useScope();
  const { params } = useRoute();
  const { nodes, left } = lineage;
  const drawing = useMemo(() => drawFamily(nodes), [nodes]);
  const costs = useCosts(lineage);
  const [looked, setLooked] = useState<string | null>(null);
  const [forked, setForked] = useState<Node | null>(null);
  const byId = useMemo(() => new Map(nodes.map((node) => [node.session as string, node])), [nodes]);
  const picked = byId.get(params.get("pick") ?? "") ?? null;
  const other = picked ?? byId.get(id) ?? null;
  const shown = byId.get(looked ?? "") ?? byId.get(id) ?? nodes[0];
  const acts = {
    other,
    titleOf: titlesAmong(byId),
    fork: setForked,
    pick: (node: Node) => goWith({ pick: node.session }),
    refusal: useRefusal("session.fork"),
  };
  return (
    <div className="family">
      <div className="family-top">
        <Legend nodes={nodes} left={left} />
        {picked === null ? null : <Picked title={titlesAmong(byId)(picked)} />}
      </div>
      <div className="family-body">
        <Graph drawing={drawing} nodes={byId} present={id} costs={costs.value} look={setLooked} acts={acts} />
        {shown === undefined ? null : <Detail node={shown} nodes={byId} acts={acts} costs={costs.value} />}
        {nodes.length > 1 ? null : (
          <p className="soft">
            No related sessions yet. A fork shares the history up to a position and continues independently;
            you can merge its results back.
          </p>
        )}
        <WhenRead of={costs}>{(read) => <FamilyCost costs={read} nodes={byId} />}</WhenRead>
      </div>
      {forked === null ? null : <ForkDialog node={forked} close={() => setForked(null)} />}
    </div>
  );
}

function Legend({ nodes, left }: Pick<Lineage, "nodes" | "left">): ReactNode {
  const merges = nodes.reduce((sum, { merged }) => sum + merged.length, 0);
  return (
    <p className="soft family-legend">
      <span>
        {plural(nodes.length, "session")}
        {left === 0 ? "" : `; ${plural(left, "more")} with their own are not shown`}
      </span>
      {(["fork", "child", "successor", "split"] as const)
        .filter((what) => nodes.some(({ relation }) => relation === what))
        .map((what) => (
          <span className="family-key" key={what}>
            <svg width="26" height="12" aria-hidden="true">
              <path className={`family-${what}`} d="M1 1V4Q1 10 8 10H25" />
            </svg>
            {what}
          </span>
        ))}
      {merges > 0 ? (
        <span className="family-key">
          <svg width="26" height="12" aria-hidden="true">
            <path className="family-merge" d="M1 10C14 10 12 2 25 2" />
          </svg>
          merge
        </span>
      ) : null}
    </p>
  );
}

function Picked({ title }: { readonly title: string }): ReactNode {
  return (
    <p className="family-picked" role="status">
      <span className="cut">
        <bdi>{title}</bdi> is marked. Compare and merge below use it.
      </span>
      <Button size="small" act={() => goWith({ pick: null })}>
        Clear
      </Button>
    </p>
  );
}
