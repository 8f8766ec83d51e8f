/** The lanes of the family: lines, forks that leave them and merges that join them. Rows say the same in words. */
import type { ReactNode } from "react";
import type { Drawing, Edge, Lane, Spot } from "./layout.ts";
import type { Node } from "./relative.ts";

interface LanesProps {
  readonly drawing: Drawing;
  /** The rows that are in the page. */
  readonly shown: readonly Lane[];
  readonly nodes: ReadonlyMap<string, Node>;
  readonly present: string;
  readonly rowPx: number;
  /** Of the whole place, with the words. */
  readonly width: number;
}

/** As in the style sheet. */
export const labelPx = 310;
const columnPxMax = 104;
const columnPxMin = 20;
const numbersFromPx = 40;
const edgePx = { left: 26, right: 64 } as const;

export function Lanes({ drawing, shown, nodes, present, rowPx, width }: LanesProps): ReactNode {
  const room = width - labelPx - edgePx.left - edgePx.right;
  const columnPx = Math.max(columnPxMin, Math.min(columnPxMax, room / Math.max(1, drawing.columns - 1)));
  const x = (column: number): number => Math.round(edgePx.left + column * columnPx);
  const y = (row: number): number => row * rowPx + rowPx / 2;
  const [first, last] = [shown[0]?.row ?? 0, shown.at(-1)?.row ?? 0];
  const isSeen = ({ from, to }: Edge): boolean =>
    Math.min(from.row, to.row) <= last && Math.max(from.row, to.row) >= first;
  const edges = drawing.edges.filter(isSeen);
  return (
    <svg
      className="family-lanes"
      style={{ left: labelPx }}
      width={Math.max(width - labelPx, x(drawing.columns - 1) + edgePx.right)}
      height={drawing.lanes.length * rowPx}
      aria-hidden="true"
    >
      {edges.map((edge) => (
        <path
          key={`${edge.what} ${edge.from.session} ${edge.to.session} ${edge.to.seq}`}
          className={`family-${edge.what}`}
          d={edge.what === "fork" ? forkPath(edge, x, y) : mergePath(edge, x, y)}
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
          isNumbered={columnPx >= numbersFromPx}
        />
      ))}
      {edges
        .filter(({ what }) => what === "merge")
        .map(({ to }) => (
          <path
            key={`${to.session} ${to.seq}`}
            className="family-joined"
            d={arrow(x(to.column), y(to.row))}
          />
        ))}
    </svg>
  );
}

type Along = (place: number) => number;

/** Down from the parent's lane, and round the corner into its own. */
function forkPath({ from, to }: Edge, x: Along, y: Along): string {
  const [x1, y1, x2, y2] = [x(from.column), y(from.row), x(to.column), y(to.row)];
  const bend = Math.min(14, x2 - x1);
  return `M${x1} ${y1}V${y2 - bend}Q${x1} ${y2} ${x1 + bend} ${y2}H${x2}`;
}

function mergePath({ from, to }: Edge, x: Along, y: Along): string {
  const [x1, y1, x2, y2] = [x(from.column), y(from.row), x(to.column) - 5, y(to.row)];
  const reach = Math.max(12, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + reach} ${y1} ${x2 - reach} ${y2} ${x2} ${y2}`;
}

const arrow = (x: number, y: number): string => `M${x - 9} ${y - 5}L${x} ${y}L${x - 9} ${y + 5}Z`;

interface LaneLineProps {
  readonly lane: Lane;
  readonly x: Along;
  readonly y: number;
  readonly status: string;
  readonly isPresent: boolean;
  readonly isNumbered: boolean;
}

function LaneLine({ lane, x, y, status, isPresent, isNumbered }: LaneLineProps): ReactNode {
  const [start, head] = [lane.spots[0], lane.spots.at(-1)] as [Spot, Spot];
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
