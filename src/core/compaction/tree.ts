/**
 * The tree of a compaction: turns, in stages, in days. Composed by rule from what was said; a node says where
 * its range lies, so that a model or a person can open it. A compaction refers to the one before it by a
 * node, so that nothing is copied and all earlier trees stay reachable.
 */
import { isObject } from "../context/source.ts";
import { utcText } from "../text/utc.ts";

/** A turn of the range that is compacted. */
export interface TreeTurn {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly at: number;
  /** What was asked, and the last answer. */
  readonly input: string;
  readonly answer: string;
  /** Calls of tools. */
  readonly calls: number;
}

/** A node of the tree. Its id is unique in the log. */
export interface CompactionNode {
  readonly id: string;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly title: string;
  readonly summary: string;
  readonly children?: readonly CompactionNode[];
}

const stageTurnsMax = 8;
/** A longer pause begins another stage. */
const pauseMs = 30 * 60_000;
/** With more turns the stages have no children; their ranges can still be read. */
const turnsMax = 1_000;
const titleCharsMax = 80;
const summaryCharsMax = 240;

export interface EarlierCompaction {
  readonly seq: number;
  readonly toSeq: number;
  readonly summary: string;
}

/** The nodes of a compaction, the oldest first. */
export function treeOf(turns: readonly TreeTurn[], earlier: EarlierCompaction | null): CompactionNode[] {
  const isDetailed = turns.length <= turnsMax;
  const days = grouped(turns, (turn, [first]) => dayOf(turn.at) === dayOf(first.at)).map((ofDay) => {
    const stages = grouped(ofDay, isSameStage).map((ofStage) => stageNode(ofStage, isDetailed));
    return dayNode(ofDay[0].at, stages);
  });
  const [only] = days;
  const own = days.length === 1 && only !== undefined ? (only.children ?? [only]) : days;
  return [...(earlier === null ? [] : [earlierNode(earlier)]), ...own];
}

type Some<T> = readonly [T, ...T[]];

/** Consecutive values in groups: the next one joins the last group if it belongs there. */
function grouped<T>(values: readonly T[], belongs: (value: T, group: Some<T>) => boolean): Some<T>[] {
  const groups: [T, ...T[]][] = [];
  for (const value of values) {
    const last = groups.at(-1);
    if (last !== undefined && belongs(value, last)) last.push(value);
    else groups.push([value]);
  }
  return groups;
}

const isSameStage = (turn: TreeTurn, stage: Some<TreeTurn>): boolean =>
  stage.length < stageTurnsMax && turn.at - (stage.at(-1) ?? stage[0]).at < pauseMs;

const dayOf = (at: number): string => utcText(at).slice(0, 10);

function turnNode({ fromSeq, toSeq, input, answer, calls }: TreeTurn): CompactionNode {
  const used = calls === 0 ? "" : ` (${calls} ${calls === 1 ? "call" : "calls"})`;
  const summary = `${begin(answer, summaryCharsMax)}${used}`.trim();
  return { id: `t${fromSeq}`, fromSeq, toSeq, title: titleOf(input), summary };
}

function stageNode(turns: Some<TreeTurn>, isDetailed: boolean): CompactionNode {
  const [first] = turns;
  const last = turns.at(-1) ?? first;
  if (turns.length === 1) return turnNode(first);
  const titles = turns.map(({ input }) => titleOf(input));
  const summary = begin(`${turns.length} turns: ${titles.join("; ")}`, summaryCharsMax);
  const node = {
    id: `s${first.fromSeq}`,
    fromSeq: first.fromSeq,
    toSeq: last.toSeq,
    title: titleOf(first.input),
  };
  return { ...node, summary, ...(isDetailed ? { children: turns.map(turnNode) } : {}) };
}

function dayNode(at: number, stages: readonly CompactionNode[]): CompactionNode {
  const fromSeq = stages[0]?.fromSeq ?? 0;
  const toSeq = stages.at(-1)?.toSeq ?? 0;
  const summary = begin(stages.map(({ title }) => title).join("; "), summaryCharsMax);
  return { id: `d${fromSeq}`, fromSeq, toSeq, title: dayOf(at), summary, children: stages };
}

const earlierNode = ({ seq, toSeq, summary }: EarlierCompaction): CompactionNode => ({
  id: `c${seq}`,
  fromSeq: 1,
  toSeq,
  title: `Before, compacted at ${seq}`,
  summary: begin(summary, summaryCharsMax),
});

const titleOf = (input: string): string => begin(input, titleCharsMax) || "(no text)";

function begin(text: string, charsMax: number): string {
  const line = text
    .slice(0, charsMax * 4)
    .replace(/\s+/gu, " ")
    .trim();
  return line.length <= charsMax ? line : `${line.slice(0, charsMax - 1).toWellFormed()}…`;
}

/** The position of the compaction that a node of the kind "before" refers to; null for other nodes. */
export function earlierSeq({ id }: Pick<CompactionNode, "id">): number | null {
  const seq = /^c([1-9]\d{0,15})$/.exec(id)?.[1];
  return seq === undefined ? null : Number(seq);
}

/** Whether a text has the form of a node's id. */
export const isNodeId = (text: string): boolean => /^[cdst][1-9]\d{0,15}$/.test(text);

/** The node with this id in a stored tree; null if it is not there. */
export function findNode(nodes: readonly CompactionNode[], id: string): CompactionNode | null {
  for (const node of nodes) {
    if (node.id === id) return node;
    const found = node.children === undefined ? null : findNode(node.children, id);
    if (found !== null) return found;
  }
  return null;
}

/** How deep a stored tree may be: days, stages, turns. */
const depthMax = 4;

/** The nodes of a stored content of any shape. */
export function nodesIn(content: unknown, depth = 0): CompactionNode[] {
  const stored = isObject(content) ? content[depth === 0 ? "nodes" : "children"] : undefined;
  if (!Array.isArray(stored) || depth >= depthMax) return [];
  return (stored as unknown[]).flatMap((one) => {
    if (!isObject(one)) return [];
    const { id, fromSeq, toSeq, title, summary } = one;
    if (typeof id !== "string" || typeof fromSeq !== "number" || typeof toSeq !== "number") return [];
    const children = nodesIn(one, depth + 1);
    return [
      {
        id,
        fromSeq,
        toSeq,
        title: typeof title === "string" ? title : "",
        summary: typeof summary === "string" ? summary : "",
        ...(children.length === 0 ? {} : { children }),
      },
    ];
  });
}

/** A node as a record holds it. */
export const storedNode = ({ children, ...node }: CompactionNode): StoredNode => ({
  ...node,
  ...(children === undefined ? {} : { children: children.map(storedNode) }),
});

interface StoredNode extends Omit<CompactionNode, "children"> {
  [name: string]: unknown;
  children?: StoredNode[];
}

/** The number of nodes, with all below them. */
export const countNodes = (nodes: readonly CompactionNode[]): number =>
  nodes.reduce((sum, { children = [] }) => sum + 1 + countNodes(children), 0);

const listedMax = 8;
const listedCharsMax = 48;

/** For a model: the top of the tree, one line each; empty without nodes. */
export function nodesText(nodes: readonly CompactionNode[]): string {
  if (nodes.length === 0) return "";
  const lines = nodes.slice(-listedMax).map(({ id, title }) => `- ${id}: ${begin(title, listedCharsMax)}`);
  const left = nodes.length - lines.length;
  const more = left === 0 ? [] : [`- and ${left} earlier`];
  return ["Parts of what was replaced; recall with node opens one:", ...more, ...lines].join("\n");
}
