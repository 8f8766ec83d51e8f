/**
 * The layout of the family graph: a lane per session, one below the other, with time from left to right. A
 * fork, child or successor leaves its parent's lane downwards, a merge joins a lane. Columns are ranks, not
 * lengths: one event or a hundred thousand between two forks take the same space.
 *
 * Later forks are nearer to their parent, so that no fork crosses the lane of another.
 */

type Descent = "fork" | "child" | "successor" | "split";

/** The fields of a session that the layout needs. */
export interface FamilyMember {
  readonly session: string;
  readonly parent: { readonly session: string; readonly seq: number } | null;
  /** Absent, as in answers of servers before 0.5.0: a fork. */
  readonly relation?: Descent | null;
  /** 0 if it is absent. */
  readonly headSeq: number;
  readonly merged: readonly { readonly from: string; readonly toSeq: number; readonly seq?: number }[];
}

/** A position of a session to draw. */
export interface DrawnPosition {
  readonly session: string;
  readonly seq: number;
  readonly row: number;
  readonly column: number;
}

export interface Lane {
  readonly session: string;
  readonly row: number;
  readonly depth: number;
  /** From its start to its head. */
  readonly spots: readonly DrawnPosition[];
}

/** From cause to effect. */
export interface Edge {
  readonly what: Descent | "merge";
  readonly from: DrawnPosition;
  readonly to: DrawnPosition;
}

export interface FamilyDrawing {
  /** In the order of their rows. */
  readonly lanes: readonly Lane[];
  readonly edges: readonly Edge[];
  readonly columns: number;
}

interface Point {
  readonly session: string;
  readonly seq: number;
  column: number;
  /** Predecessors that are not placed yet. */
  waits: number;
  readonly after: Point[];
  readonly merges: Join[];
}

/** A merge, from the point of the other session to its target point. */
interface Join {
  readonly from: Point;
  readonly to: Point;
  isDropped: boolean;
}

export function drawFamily(relatives: readonly FamilyMember[]): FamilyDrawing {
  const rows = rowsOf(relatives);
  const lines = new Map(rows.map(({ node }) => [node.session, new Map<number, Point>()]));
  const placeOf = pointsOf(rows, lines);
  const joins: Join[] = [];
  const forks: Departure[] = [];
  for (const { node } of rows) {
    const [start] = lines.get(node.session)?.values() ?? [];
    const left = node.parent === null ? undefined : placeOf(node.parent.session, node.parent.seq);
    if (start !== undefined && left !== undefined) forks.push([left, start, node.relation ?? "fork"]);
    for (const { from, toSeq, seq = node.headSeq } of node.merged) {
      const [source, target] = [placeOf(from, toSeq), placeOf(node.session, seq)];
      if (source !== undefined && target !== undefined)
        joins.push({ from: source, to: target, isDropped: source === target });
    }
  }
  rank(lines, forks, joins);
  return drawingOf(rows, lines, forks, joins);
}

interface Row {
  readonly node: FamilyMember;
  readonly depth: number;
}

/** Each before its forks; of these the latest first. A session without its parent here is a root. */
function rowsOf(relatives: readonly FamilyMember[]): readonly Row[] {
  const known = new Set(relatives.map(({ session }) => session));
  const forks = new Map<string | null, FamilyMember[]>();
  for (const node of relatives) {
    const parent = node.parent !== null && known.has(node.parent.session) ? node.parent.session : null;
    const list = forks.get(parent) ?? [];
    list.push(node);
    forks.set(parent, list);
  }
  const rows: Row[] = [];
  const waiting: Row[] = (forks.get(null) ?? []).map((node) => ({ node, depth: 0 })).toReversed();
  const seen = new Set<string>();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    const { node, depth } = row;
    if (seen.has(node.session)) continue;
    seen.add(node.session);
    rows.push(row);
    const children = (forks.get(node.session) ?? []).toSorted(byFork);
    for (const child of children) waiting.push({ node: child, depth: depth + 1 });
  }
  return rows;
}

/** The earliest first: it is taken last from the stack. */
const byFork = (a: FamilyMember, b: FamilyMember): number => (a.parent?.seq ?? 0) - (b.parent?.seq ?? 0);

/** Where a session's own records begin: only a fork shares earlier ones. */
const startOf = ({ parent, relation = "fork" }: FamilyMember): number =>
  parent === null || relation !== "fork" ? 1 : parent.seq + 1;

type Departure = readonly [from: Point, to: Point, what: Descent];

type Lines = ReadonlyMap<string, Map<number, Point>>;
type PlaceOf = (session: string, seq: number) => Point | undefined;

/** All positions to draw, in log order. The shared part of a session counts as its start. */
function pointsOf(rows: readonly Row[], lines: Lines): PlaceOf {
  const wanted = new Map(rows.map(({ node }) => [node.session, new Set<number>()]));
  const nodes = new Map(rows.map(({ node }) => [node.session, node]));
  const within = (node: FamilyMember, seq: number): number => {
    const start = startOf(node);
    return Math.max(start, node.headSeq === 0 ? seq : Math.min(seq, Math.max(start, node.headSeq)));
  };
  const want = (session: string, seq: number): void => {
    const node = nodes.get(session);
    if (node !== undefined) wanted.get(session)?.add(within(node, seq));
  };
  for (const { node } of rows) {
    want(node.session, startOf(node));
    want(node.session, Math.max(startOf(node), node.headSeq));
    if (node.parent !== null) want(node.parent.session, node.parent.seq);
    for (const { from, toSeq, seq = node.headSeq } of node.merged) {
      if (!nodes.has(from)) continue;
      want(from, toSeq);
      want(node.session, seq);
    }
  }
  for (const [session, seqs] of wanted)
    for (const seq of [...seqs].toSorted((a, b) => a - b))
      lines.get(session)?.set(seq, { session, seq, column: 0, waits: 0, after: [], merges: [] });
  return (session, seq) => {
    const node = nodes.get(session);
    return node === undefined ? undefined : lines.get(session)?.get(within(node, seq));
  };
}

/** Each as far to the left as its predecessors allow. */
function rank(lines: Lines, forks: readonly Departure[], joins: readonly Join[]): void {
  const points = [...lines.values()].flatMap((line) => [...line.values()]);
  const follow = (from: Point, to: Point): void => {
    from.after.push(to);
    to.waits += 1;
  };
  for (const line of lines.values()) {
    const own = [...line.values()];
    for (const [place, point] of own.entries()) if (place > 0) follow(own[place - 1] as Point, point);
  }
  for (const [from, to] of forks) follow(from, to);
  for (const join of joins) if (!join.isDropped) join.to.merges.push(join);
  for (const join of joins) if (!join.isDropped) follow(join.from, join.to);
  const isPlaced = new Set<Point>();
  const ready = points.filter(({ waits }) => waits === 0);
  while (isPlaced.size < points.length) {
    const point = ready.shift() ?? unstick(points, isPlaced);
    if (isPlaced.has(point)) continue;
    isPlaced.add(point);
    for (const next of point.after) {
      if (isPlaced.has(next)) continue;
      next.column = Math.max(next.column, point.column + 1);
      next.waits -= 1;
      if (next.waits === 0) ready.push(next);
    }
  }
}

/** Cyclic merges cannot have happened: those into the first such point are not drawn. */
function unstick(points: readonly Point[], isPlaced: ReadonlySet<Point>): Point {
  const open = points.filter((point) => !isPlaced.has(point));
  const pending = (point: Point): number =>
    point.merges.filter(({ from, isDropped }) => !isDropped && !isPlaced.has(from)).length;
  const found = (open.find((point) => point.waits === pending(point)) ?? open[0]) as Point;
  for (const join of found.merges) if (!isPlaced.has(join.from)) join.isDropped = true;
  return found;
}

function drawingOf(
  rows: readonly Row[],
  lines: Lines,
  forks: readonly Departure[],
  joins: readonly Join[],
): FamilyDrawing {
  const rowOf = new Map(rows.map(({ node }, row) => [node.session, row]));
  const spot = ({ session, seq, column }: Point): DrawnPosition => ({
    session,
    seq,
    row: rowOf.get(session) ?? 0,
    column,
  });
  const lanes = rows.map(({ node, depth }, row): Lane => {
    const line = [...(lines.get(node.session)?.values() ?? [])];
    return { session: node.session, row, depth, spots: line.map(spot) };
  });
  return {
    lanes,
    edges: [
      ...forks.map(([from, to, what]): Edge => ({ what, from: spot(from), to: spot(to) })),
      ...joins
        .filter(({ isDropped }) => !isDropped)
        .map(({ from, to }): Edge => ({ what: "merge", from: spot(from), to: spot(to) })),
    ],
    columns: 1 + Math.max(0, ...lanes.flatMap(({ spots }) => spots.map(({ column }) => column))),
  };
}

export type ArrowTarget = "up" | "down" | "parent" | "fork" | "first" | "last";

/** The targets of the arrow keys: up and down by rows, left to the parent, right to the nearest fork. */
export function relativeOf({ lanes }: FamilyDrawing, session: string, way: ArrowTarget): string | null {
  const at = lanes.findIndex((lane) => lane.session === session);
  const lane = lanes[at];
  if (lane === undefined) return lanes[0]?.session ?? null;
  const next = lanes[at + 1];
  switch (way) {
    case "up":
      return lanes[at - 1]?.session ?? null;
    case "down":
      return next?.session ?? null;
    case "parent":
      return lanes.slice(0, at).findLast(({ depth }) => depth < lane.depth)?.session ?? null;
    case "fork":
      return next !== undefined && next.depth > lane.depth ? next.session : null;
    case "first":
      return lanes[0]?.session ?? null;
    case "last":
      return lanes.at(-1)?.session ?? null;
  }
}
