/**
 * The graph: a row per session, with its text on the left and its lane on the right. The rows are a list, for
 * screen readers and phones, where the lanes are hidden. Of large families only visible rows are rendered.
 */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import { showToast } from "../../ui/toast.tsx";
import { useShortcuts } from "../../shortcut.ts";
import { after } from "../../world.ts";
import { choicesOf, type Acts } from "./act.ts";
import { LaneRow } from "./lane-row.tsx";
import { labelPx, Lanes, laneX } from "./lanes.tsx";
import { relativeOf, type FamilyDrawing, type Lane, type ArrowTarget } from "./layout.ts";
import type { Node, SessionCost } from "./relative.ts";

interface GraphProps {
  readonly drawing: FamilyDrawing;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly present: string;
  readonly costs: ReadonlyMap<string, SessionCost> | undefined;
  /** Called with the selected session. */
  readonly look: (session: string) => void;
  readonly acts: Acts;
}

const wholeMax = 100;
const restMs = 120;
const ways: Readonly<Record<string, ArrowTarget>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "parent",
  ArrowRight: "fork",
  Home: "first",
  End: "last",
};

export function Graph({ drawing, nodes, present, costs, look, acts }: GraphProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const { width, isNarrow } = useWidth(box);
  const rowPx = isNarrow ? 60 : 48;
  const [current, setCurrent] = useState(present);
  const { shown, reveal } = useShown(box, drawing.lanes, rowPx);
  const hovering = useRef<(() => void) | null>(null);
  const focus = (session: string | null): void => {
    const lane = drawing.lanes.find((one) => one.session === session);
    if (session === null || lane === undefined) return;
    reveal(lane.row);
    if (!isNarrow) showHead(box.current, lane, drawing);
    setCurrent(session);
    look(session);
    // A row that is not rendered yet exists after the next render.
    if (!focusRow(box.current, session))
      requestAnimationFrame(() => requestAnimationFrame(() => focusRow(box.current, session)));
  };
  const press = (event: KeyboardEvent): void => {
    const way = ways[event.key];
    const isMenu = (event.target as HTMLElement).closest("[role=menu]") !== null;
    if (way === undefined || isMenu || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    focus(relativeOf(drawing, current, way));
  };
  const rest = (session: string): void => {
    hovering.current?.();
    hovering.current = after(restMs, () => look(session));
  };
  const move = (way: ArrowTarget): void => {
    const isHere = box.current?.contains(document.activeElement) === true;
    focus(isHere ? relativeOf(drawing, current, way) : current);
  };
  useKeys({ current, nodes, acts, move });
  useEffect(() => () => hovering.current?.(), []);
  return (
    <div
      className="family-graph"
      ref={box}
      data-narrow={isNarrow || undefined}
      onMouseLeave={() => hovering.current?.()}
    >
      <div className="family-canvas" style={{ height: drawing.lanes.length * rowPx }}>
        <ol aria-label="The family" onKeyDown={press}>
          {shown.map((lane) => (
            <LaneRow
              key={lane.session}
              lane={lane}
              rowPx={rowPx}
              nodes={nodes}
              isPresent={lane.session === present}
              isCurrent={lane.session === current}
              cost={costs?.get(lane.session)}
              acts={acts}
              focused={() => {
                setCurrent(lane.session);
                look(lane.session);
              }}
              rest={() => rest(lane.session)}
            />
          ))}
        </ol>
        {isNarrow || width === 0 ? null : (
          <Lanes
            drawing={drawing}
            shown={shown}
            nodes={nodes}
            present={present}
            current={current}
            rowPx={rowPx}
            width={width}
          />
        )}
      </div>
    </div>
  );
}

function focusRow(box: HTMLElement | null, session: string): boolean {
  const name = box?.querySelector<HTMLElement>(`[data-session="${CSS.escape(session)}"]`);
  name?.focus();
  return name !== null && name !== undefined;
}

/** Scrolls to the end of a lane if the graph is wider than its container. */
function showHead(box: HTMLElement | null, { spots }: Lane, drawing: FamilyDrawing): void {
  if (box === null) return;
  const x = laneX(drawing, box.clientWidth)(spots.at(-1)?.column ?? 0);
  const room = box.clientWidth - labelPx;
  if (x > box.scrollLeft + room - headPx) box.scrollLeft = x - room + headPx;
  else if (x < box.scrollLeft + headPx) box.scrollLeft = Math.max(0, x - room / 2);
}

const headPx = 70;

interface Keys {
  readonly current: string;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly acts: Acts;
  readonly move: (way: ArrowTarget) => void;
}

function useKeys({ current, nodes, acts, move }: Keys): void {
  const choose = (word: string) => (): void => {
    const node = nodes.get(current);
    if (node === undefined) return;
    const choice = choicesOf(node, acts).find(({ name }) => name.startsWith(word));
    if (choice?.refusal === undefined) choice?.act?.();
    else showToast(choice.refusal);
  };
  useShortcuts([
    { key: "j", what: "Next session of the family", act: () => move("down") },
    { key: "k", what: "Previous session of the family", act: () => move("up") },
    { key: "c", what: "Compare the selected session", act: choose("Compare") },
    { key: "m", what: "Merge the selected session", act: choose("Merge") },
    { key: "f", what: "Fork the selected session", act: choose("Fork") },
    { key: "v", what: "Mark for comparison or merge", act: choose("Mark") },
  ]);
}

/** The width of the container, and whether it is too narrow for lanes. */
function useWidth(box: RefObject<HTMLDivElement | null>): {
  readonly width: number;
  readonly isNarrow: boolean;
} {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { width, isNarrow: width > 0 && width < 560 };
}

interface ShownNode {
  readonly shown: readonly Lane[];
  readonly reveal: (place: number) => void;
}

function useShown(box: RefObject<HTMLDivElement | null>, lanes: readonly Lane[], rowPx: number): ShownNode {
  const isWhole = lanes.length <= wholeMax;
  const virtual = useWindowVirtualizer({
    count: isWhole ? 0 : lanes.length,
    estimateSize: () => rowPx,
    overscan: 12,
    scrollMargin: box.current?.offsetTop ?? 0,
  });
  useEffect(() => virtual.measure(), [rowPx]);
  if (isWhole) return { shown: lanes, reveal: () => undefined };
  const shown = virtual.getVirtualItems().flatMap(({ index }) => lanes[index] ?? []);
  return { shown, reveal: (place) => virtual.scrollToIndex(place, { align: "auto" }) };
}
