/** A session of the family as read, and its title. */
import { shortId } from "../../../core/text/short-id.ts";
import type { RemoteEngine } from "../../../client/connect.ts";
import { addSpend, noSpend, type Spend } from "../../../core/text/money.ts";
import { brief } from "../../ui/visible.ts";

export type Lineage = Awaited<ReturnType<RemoteEngine["lineage"]>>;
export type Node = Lineage["nodes"][number];

export interface TitledSession {
  readonly session: string;
  readonly name: string | null;
  readonly objective: string | null;
}

/** Its name; without one its objective; without that its id suffix. */
export const titleOf = (node: TitledSession, chars = 60): string =>
  brief(node.name ?? "", chars) || brief(node.objective ?? "", chars) || shortId(node.session);

type TitleAmong = (node: TitledSession, chars?: number) => string;
const known = new WeakMap<object, TitleAmong>();

/** The title of each among these: duplicates get the id suffix in front. */
export function titlesAmong(
  nodes: ReadonlyMap<string, TitledSession> | readonly TitledSession[],
): TitleAmong {
  const before = known.get(nodes);
  if (before !== undefined) return before;
  const times = new Map<string, number>();
  for (const node of nodes.values()) times.set(titleOf(node), (times.get(titleOf(node)) ?? 0) + 1);
  const made: TitleAmong = (node, chars) => {
    const title = titleOf(node, chars);
    const ending = shortId(node.session);
    return (times.get(titleOf(node)) ?? 0) < 2 || title === ending ? title : `${ending} · ${title}`;
  };
  known.set(nodes, made);
  return made;
}

/** Its origin and its merges, as text. */
export function originLines(node: Node, nameOf: (session: string) => string): readonly string[] {
  const { parent, merged, headSeq, status, copy } = node;
  return [
    parent === null
      ? "Root of the family"
      : `${relationText(node)} ${nameOf(parent.session)}${placeOf(parent.seq)}`,
    ...(status === "absent" ? ["Deleted, or in another store"] : [`At position ${headSeq}`]),
    ...(copy === true ? ["Copy: the session lives in another store"] : []),
    ...merged.map(({ from, toSeq }) => `Merged ${nameOf(from)} up to ${toSeq}`),
  ];
}

/** Its relation to the parent, before the parent's name. */
export const relationText = ({ relation }: Pick<Node, "relation">): string =>
  relationTexts[relation ?? "fork"];

const relationTexts = {
  fork: "Forked from",
  child: "Opened by",
  successor: "Continues",
  split: "Split from",
} as const;

/** The fork point of an absent session may be unknown. */
export const placeOf = (seq: number): string => (seq === 0 ? "" : ` at ${seq}`);

/** The model costs of a family, a row per session. */
export interface SessionCost extends Spend {
  readonly session: string;
}

export async function readCosts(
  engine: Pick<RemoteEngine, "cost">,
  session: string,
): Promise<ReadonlyMap<string, SessionCost>> {
  const rows = await engine.cost({ by: "session", session, family: true });
  return new Map(
    rows.flatMap(({ group, ...row }) => (group === null ? [] : [[group, { ...row, session: group }]])),
  );
}

export const sumCosts = (costs: Iterable<SessionCost>): Omit<SessionCost, "session"> =>
  [...costs].reduce<Spend>(addSpend, noSpend);
