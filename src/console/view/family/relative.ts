/** A session of the family as it is read, and what it is called. */
import type { RemoteEngine } from "../../../client/connect.ts";
import { brief } from "../../part/visible.ts";

export type Lineage = Awaited<ReturnType<RemoteEngine["lineage"]>>;
export type Node = Lineage["nodes"][number];

export interface Titled {
  readonly session: string;
  readonly name: string | null;
  readonly objective: string | null;
}

/** Its name; without one what it is for; without that the ending of its id. */
export const titleOf = (node: Titled, chars = 60): string =>
  brief(node.name ?? "", chars) || brief(node.objective ?? "", chars) || node.session.slice(-6);

type TitleAmong = (node: Titled, chars?: number) => string;
const known = new WeakMap<object, TitleAmong>();

/** What each is called among those: where two have the same title, the ending of the id comes first. */
export function titlesAmong(nodes: ReadonlyMap<string, Titled> | readonly Titled[]): TitleAmong {
  const before = known.get(nodes);
  if (before !== undefined) return before;
  const times = new Map<string, number>();
  for (const node of nodes.values()) times.set(titleOf(node), (times.get(titleOf(node)) ?? 0) + 1);
  const made: TitleAmong = (node, chars) => {
    const title = titleOf(node, chars);
    const ending = node.session.slice(-6);
    return (times.get(titleOf(node)) ?? 0) < 2 || title === ending ? title : `${ending} · ${title}`;
  };
  known.set(nodes, made);
  return made;
}

/** Where it comes from and what came into it, in words. */
export function storyOf(node: Node, nameOf: (session: string) => string): readonly string[] {
  const { parent, merged, headSeq, status, copy } = node;
  return [
    parent === null ? "First of the family" : `Forked from ${nameOf(parent.session)}${placeOf(parent.seq)}`,
    ...(status === "absent" ? ["Deleted, or in another store"] : [`At position ${headSeq}`]),
    ...(copy === true ? ["A copy: it lives elsewhere"] : []),
    ...merged.map(({ from, toSeq }) => `Merged ${nameOf(from)} up to ${toSeq}`),
  ];
}

/** Of a session that is absent nobody may know where it left. */
export const placeOf = (seq: number): string => (seq === 0 ? "" : ` at ${seq}`);

/** What models have cost, a row for each session of a family; by the records, so that nothing is guessed. */
export interface SessionCost {
  readonly session: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanoUsd: number;
  /** Calls whose price nobody knows. */
  readonly unpriced: number;
}

/** A query has so many characters at most: of larger families these are asked for one after the other. */
const sessionsAtOnce = 100;

export async function readCosts(
  engine: Pick<RemoteEngine, "query">,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, SessionCost>> {
  const costs = new Map<string, SessionCost>();
  for (let at = 0; at < sessions.length; at += sessionsAtOnce) {
    const { rows } = await engine.query(costQuery(sessions.slice(at, at + sessionsAtOnce)));
    for (const [session, calls, inputTokens, outputTokens, nanoUsd, unpriced] of rows)
      costs.set(String(session), {
        session: String(session),
        calls: Number(calls),
        inputTokens: Number(inputTokens),
        outputTokens: Number(outputTokens),
        nanoUsd: Number(nanoUsd),
        unpriced: Number(unpriced),
      });
  }
  return costs;
}

/** Ids hold letters, digits and an underscore: what is none is left out, whatever gave it. */
function costQuery(sessions: readonly string[]): string {
  const ids = sessions.filter((one) => /^[a-z0-9_]+$/.test(one)).map((one) => `'${one}'`);
  return `SELECT session, count(*), total(body ->> '$.usage.inputTokens'),
    total(body ->> '$.usage.outputTokens'), total(body ->> '$.costNanoUsd'),
    sum(body ->> '$.costNanoUsd' IS NULL) FROM events
    WHERE type IN ('model.responded', 'model.failed', 'transcript.compacted', 'handoff.written')
    AND body ->> '$.model' IS NOT NULL AND session IN (${ids.join(", ")}) GROUP BY 1`;
}

export const sumCosts = (costs: Iterable<SessionCost>): Omit<SessionCost, "session"> => {
  const sum = { calls: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0, unpriced: 0 };
  for (const cost of costs) {
    sum.calls += cost.calls;
    sum.inputTokens += cost.inputTokens;
    sum.outputTokens += cost.outputTokens;
    sum.nanoUsd += cost.nanoUsd;
    sum.unpriced += cost.unpriced;
  }
  return sum;
};
