/**
 * The lanes of the family, with forks that leave them and merges that join them. Rows say the same as text.
 */
import type { ReactNode } from "react";
import type { FamilyDrawing, Edge, Lane, DrawnPosition } from "./layout.ts";
import type { Node } from "./relative.ts";

interface LanesProps {
  readonly drawing: FamilyDrawing;
  /** The rendered rows. */
  readonly shown: readonly Lane[];
  readonly nodes: ReadonlyMap<string, Node>;
  readonly present: string;
  /** The selected session: its path from the root, and its merges, are highlighted. */
  readonly current: string;
  readonly rowPx: number;
  /** Of the whole container, including the text. */
  readonly width: number;
}

/** The same as in the style sheet. */
export const labelPx = 310;
const columnPxMax = 104;
const columnPxMin = 11;
const numbersFromPx = 40;
const edgePx = { left: 26, right: 64 } as const;

const columnPxOf = ({ columns }: FamilyDrawing, width: number): number => {
  const room = width - labelPx - edgePx.left - edgePx.right;
  return Math.max(columnPxMin, Math.min(columnPxMax, room / Math.max(1, columns - 1)));
};

/** The x of a column, counted from the end of the text. */
export function laneX(drawing: FamilyDrawing, width: number): Along {
  const columnPx = columnPxOf(drawing, width);
  return (column) => Math.round(edgePx.left + column * columnPx);
}

/** In larger families everything unrelated to the selected session is dimmed. */
const quietFrom = 16;

export function Lanes({ drawing, shown, nodes, present, current, rowPx, width }: LanesProps): ReactNode {
  const x = laneX(drawing, width);
  const y = (row: number): number => row * rowPx + rowPx / 2;
  const [first, last] = [shown[0]?.row ?? 0, shown.at(-1)?.row ?? 0];
  const isSeen = ({ from, to }: Edge): boolean =>
    Math.min(from.row, to.row) <= last && Math.max(from.row, to.row) >= first;
  const edges = drawing.edges.filter(isSeen);
  const near = wayTo(current, nodes);
  const isNear = ({ what, from, to }: Edge): boolean =>
    what === "merge" ? to.session === current || from.session === current : near.has(to.session);
  return (
    <svg
      className="family-lanes"
      data-quiet={drawing.lanes.length >= quietFrom || undefined}
      style={{ left: labelPx }}
      width={Math.max(width - labelPx, x(drawing.columns - 1) + edgePx.right)}
      height={drawing.lanes.length * rowPx}
      aria-hidden="true"
    >
      {edges.map((edge) => (
        <path
          key={`${edge.what} ${edge.from.session} ${edge.to.session} ${edge.to.seq}`}
          className={`family-${edge.what}`}
          data-near={isNear(edge) || undefined}
          d={edge.what === "merge" ? mergePath(edge, x, y) : forkPath(edge, x, y)}
        />
      ))}
      {shown.map((lane) => (
        <LaneLine
          key={lane.session}
          lane={lane}
          x={x}
          y={y(lane.row)}
          status={nodes.get(lane.session)?.status ?? "absent"}
          isPresent={lane.session === present}
          isNumbered={x(1) - x(0) >= numbersFromPx}
        />
      ))}
      {edges
        .filter(({ what }) => what === "merge")
        .map((edge) => ({ ...edge, isNear: isNear(edge) }))
        .map(({ from, to, isNear: stands }) => (
          <path
            key={`${from.session} ${to.session} ${to.seq}`}
            className="family-joined"
            data-near={stands || undefined}
            d={arrow(x(to.column), y(to.row))}
          />
        ))}
    </svg>
  );
}

/** The session and its ancestors. */
function wayTo(session: string, nodes: ReadonlyMap<string, Node>): ReadonlySet<string> {
  const way = new Set<string>();
  for (let at: string | undefined = session; at !== undefined && !way.has(at);) {
    way.add(at);
    at = nodes.get(at)?.parent?.session;
  }
  return way;
}

type Along = (place: number) => number;

/** Down from the parent's lane, and around the corner into its own. */
function forkPath({ from, to }: Edge, x: Along, y: Along): string {
  const [x1, y1, x2, y2] = [x(from.column), y(from.row), x(to.column), y(to.row)];
  const bend = Math.min(14, x2 - x1);
  return `M${x1} ${y1}V${y2 - bend}Q${x1} ${y2} ${x1 + bend} ${y2}H${x2}`;
}

function mergePath({ from, to }: Edge, x: Along, y: Along): string {
  const [x1, y1, x2, y2] = [x(from.column), y(from.row), x(to.column) - tipPx - 5, y(to.row)];
  const reach = Math.max(12, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + reach} ${y1} ${x2 - reach} ${y2} ${x2} ${y2}`;
}

/** It ends where the position marker, or the head, begins. */
const tipPx = 7;
const arrow = (x: number, y: number): string =>
  `M${x - tipPx - 9} ${y - 5}L${x - tipPx} ${y}L${x - tipPx - 9} ${y + 5}Z`;

interface LaneLineProps {
  readonly lane: Lane;
  readonly x: Along;
  readonly y: number;
  readonly status: string;
  readonly isPresent: boolean;
  readonly isNumbered: boolean;
}

function LaneLine({ lane, x, y, status, isPresent, isNumbered }: LaneLineProps): ReactNode {
  const [start, head] = [lane.spots[0], lane.spots.at(-1)] as [DrawnPosition, DrawnPosition];
  const between = lane.spots.slice(1, -1);
  return (
    <g className="family-lane" data-present={isPresent || undefined} data-status={status}>
      <path className="family-line" d={`M${x(start.column)} ${y}H${x(head.column)}`} />
      {start === head ? null : <circle className="family-start" cx={x(start.column)} cy={y} r="3" />}
      {between.map(({ seq, column }) => (
        <g key={seq}>
          <circle className="family-spot" cx={x(column)} cy={y} r="3.5" />
          {isNumbered ? (
            <text className="family-seq" x={x(column)} y={y - 9} textAnchor="middle">
              {seq}
            </text>
          ) : null}
        </g>
      ))}
      <circle className="family-head" cx={x(head.column)} cy={y} r={isPresent ? 7 : 5.5} />
      {isPresent ? <circle className="family-ring" cx={x(head.column)} cy={y} r="11" /> : null}
      <text className="family-seq" x={x(head.column) + (isPresent ? 17 : 12)} y={y + 4}>
        {head.seq}
      </text>
    </g>
  );
}
