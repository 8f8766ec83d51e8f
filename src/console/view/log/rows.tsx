/** The rows of a log: only visible ones are rendered, for any length. */
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type MouseEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { useScope } from "../session/scope.ts";
import { Row, rowId } from "./row.tsx";
import type { LogRows as RowsSource } from "./source.ts";

const [rowHeight, narrowRowHeight] = [33, 53];
/** Rows from the top at which older events are read. */
const aheadRows = 20;
/** Within this distance the view counts as at the end. */
const endPx = 40;
const leastHeight = 240;

export interface MarkedRow {
  readonly chosen: number | null;
  readonly picked: ReadonlySet<number>;
  readonly unfolded: ReadonlySet<number>;
}

interface RowsProps {
  readonly rows: RowsSource;
  readonly marked: MarkedRow;
  readonly choose: (seq: number, event: MouseEvent) => void;
  /** The initial scroll position; null: the end. */
  readonly begin: number | null;
}

export function Rows({ rows, marked, choose, begin }: RowsProps): ReactNode {
  const { at } = useScope();
  const frame = useRef<HTMLDivElement>(null);
  const height = useHeight(frame);
  const { chosen, picked, unfolded } = marked;
  const rowPx = useNarrow() ? narrowRowHeight : rowHeight;
  // Only rows that are or were expanded are measured: all others have one height.
  const measured = useRef(new Set<number>());
  for (const seq of unfolded) measured.current.add(seq);
  const virtual = useVirtualizer({
    count: rows.count,
    getScrollElement: () => frame.current,
    estimateSize: () => rowPx,
    overscan: 8,
    // A stable function per list: another one would lay out all rows again.
    getItemKey: rows.seqOf,
  });
  const scrollTo = (place: number, align: "center" | "end"): void => {
    const start = virtual.measurementsCache[place]?.start;
    if (frame.current === null || start === undefined) virtual.scrollToIndex(place, { align });
    else frame.current.scrollTop = align === "end" ? virtual.getTotalSize() : start - height / 2;
  };
  useEnd(frame, rows, { begin, at }, scrollTo);
  useOlder(frame, rows, virtual.range?.startIndex ?? null, rowPx);
  useEffect(() => virtual.measure(), [rowPx]);
  useChosenInView(marked, rows, scrollTo);
  return (
    <div
      ref={frame}
      role="grid"
      tabIndex={0}
      className="log-rows"
      aria-label="Events"
      aria-multiselectable="true"
      aria-rowcount={rows.count}
      aria-activedescendant={chosen === null ? undefined : rowId(chosen)}
      style={{ height }}
    >
      <div role="rowgroup" className="log-all" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const seq = rows.seqOf(index);
          return (
            <div
              key={key}
              role="presentation"
              ref={measured.current.has(seq) ? virtual.measureElement : undefined}
              data-index={index}
              className="log-place"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Row
                seq={seq}
                event={rows.eventOf(index)}
                isChosen={seq === chosen}
                isPicked={picked.has(seq)}
                isOpen={unfolded.has(seq)}
                isLater={at !== null && seq > at}
                choose={(event) => choose(seq, event)}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Scrolls the selected row into view, with as much of its expanded part as fits; also after it was read. */
function useChosenInView(
  { chosen, unfolded }: MarkedRow,
  rows: RowsSource,
  scrollTo: (place: number, align: "center") => void,
): void {
  const isOpen = chosen !== null && unfolded.has(chosen);
  const isHere = chosen !== null && rows.eventOf(rows.placeOf(chosen)) !== undefined;
  useEffect(() => {
    if (chosen === null) return;
    const request = requestAnimationFrame(() => {
      const element = document.getElementById(rowId(chosen))?.closest(".log-place");
      if (element === null || element === undefined) scrollTo(rows.placeOf(chosen), "center");
      else element.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(request);
  }, [chosen, isOpen, isHere]);
}

const narrow = matchMedia("(max-width: 760px)");

function useNarrow(): boolean {
  return useSyncExternalStore(watchNarrow, () => narrow.matches);
}

function watchNarrow(heard: () => void): () => void {
  narrow.addEventListener("change", heard);
  return () => narrow.removeEventListener("change", heard);
}

type Frame = RefObject<HTMLDivElement | null>;

/** As high as the room above the timeline. */
function useHeight(frame: Frame): number {
  const [height, setHeight] = useState(leastHeight);
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = (frame.current?.getBoundingClientRect().top ?? 0) + scrollY;
      const { height: below = 0 } = document.querySelector(".time")?.getBoundingClientRect() ?? {};
      const nav = document.querySelector(".nav");
      const low = nav !== null && getComputedStyle(nav).position === "fixed" ? nav.clientHeight : 0;
      setHeight(Math.max(leastHeight, innerHeight - top - below - low - 1));
    };
    measure();
    const watcher = new ResizeObserver(measure);
    for (const element of document.querySelectorAll(".session > *, .log > *:not(.log-rows)"))
      watcher.observe(element);
    window.addEventListener("resize", measure);
    return () => {
      watcher.disconnect();
      window.removeEventListener("resize", measure);
    };
  }, [frame]);
  return height;
}

/** Starts at the initial position; and at the end, follows new events. */
function useEnd(
  frame: Frame,
  { count, placeOf }: RowsSource,
  { begin, at }: { readonly begin: number | null; readonly at: number | null },
  scrollTo: (place: number, align: "center" | "end") => void,
): void {
  const isAtEnd = useRef(begin === null);
  const hasBegun = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const look = (): void => {
      isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - endPx;
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, [frame]);
  useLayoutEffect(() => {
    if (count === 0) return;
    if (!hasBegun.current && begin !== null) scrollTo(placeOf(begin), "center");
    else if (isAtEnd.current) scrollTo(count - 1, "end");
    hasBegun.current = true;
  }, [count]);
  const before = useRef(at);
  useLayoutEffect(() => {
    if (before.current === at) return;
    before.current = at;
    if (at === null) scrollTo(count - 1, "end");
    else scrollTo(placeOf(at), "center");
  }, [at]);
}

/** Reads older events near the first row; the visible rows stay in place. */
function useOlder(frame: Frame, rows: RowsSource, startIndex: number | null, rowPx: number): void {
  const { more, isReading, count } = rows;
  const first = useRef<number | null>(null);
  useLayoutEffect(() => {
    const before = first.current;
    first.current = count === 0 ? null : rows.seqOf(0);
    if (before === null || first.current === null || first.current >= before) return;
    const added = rows.placeOf(before);
    if (frame.current !== null && added > 0) frame.current.scrollTop += added * rowPx;
  }, [rows]);
  const isNear = startIndex === null || startIndex < aheadRows;
  useEffect(() => {
    if (isNear && !isReading && count > 0) more?.();
  }, [isNear, isReading, more, count]);
}
