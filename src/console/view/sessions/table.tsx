/** The rows of the process table: only visible ones are rendered, for any length. */
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { useCell } from "../../signal.ts";
import type { Choice } from "../../ui/menu.tsx";
import { goWith } from "../../route.ts";
import { chosen, pickRange, selected, toggleAll } from "./row-selection.ts";
import { turned, type Filter, type SessionListRow, type ListSort } from "./filter.ts";
import type { SessionList, SessionListing } from "./list.ts";
import { focusGrid, rowId, SessionRow } from "./row.tsx";

const columns: readonly (readonly [name: string, title: string, sort: ListSort | null])[] = [
  ["status", "Status", "status"],
  ["name", "Session", "name"],
  ["agent", "Agent", null],
  ["model", "Model", null],
  ["zone", "Context", null],
  ["cost", "Cost", "cost"],
  ["priority", "Prio", "priority"],
  ["standing", "Waiting for", null],
  ["active", "Active", "active"],
];

const narrow = typeof matchMedia === "undefined" ? null : matchMedia("(max-width: 760px)");
const watchNarrow = (heard: () => void): (() => void) => {
  narrow?.addEventListener("change", heard);
  return () => narrow?.removeEventListener("change", heard);
};
const useNarrow = (): boolean => useSyncExternalStore(watchNarrow, () => narrow?.matches === true);

interface TableProps {
  readonly filter: Filter;
  readonly list: SessionList;
  readonly listing: SessionListing;
  readonly choices: (row: SessionListRow) => readonly Choice[];
}

const aheadRows = 30;

export function Table({ filter, list, listing, choices }: TableProps): ReactNode {
  const { rows, isBegun, isWhole, isReading, error } = listing;
  const at = useCell(chosen);
  const picked = useCell(selected);
  const height = useNarrow() ? 84 : 52;
  const body = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const margin = useMargin(body);
  const select = useSelect(rows);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: margin,
    scrollPaddingStart: 80,
    scrollPaddingEnd: 80,
    getItemKey: (place) => rows[place]?.session ?? place,
  });
  useEffect(() => virtual.measure(), [height]);
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    const mayRead = isBegun && !isWhole && !isReading && error === undefined;
    if (mayRead && last >= rows.length - aheadRows) void list.more();
  }, [last, rows.length, isBegun, isWhole, isReading, error, list]);
  useKeptInView(at, rows, (place) => {
    virtual.scrollToIndex(place, { align: "auto" });
    grid.current?.focus({ preventScroll: true });
  });
  return (
    <div
      ref={grid}
      role="grid"
      tabIndex={0}
      className="sessions-table"
      aria-label="Sessions"
      aria-multiselectable="true"
      aria-rowcount={isWhole ? rows.length + 1 : -1}
      aria-activedescendant={
        at !== null && rows.some(({ session }) => session === at) ? rowId(at) : undefined
      }
      onPointerEnter={() => list.hold(true)}
      onPointerLeave={() => list.hold(at !== null || picked.size > 0)}
    >
      <Columns filter={filter} rows={rows} />
      <div ref={body} role="rowgroup" className="sessions-body" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <SessionRow
              key={row.session}
              row={row}
              place={index}
              top={start - margin}
              height={height}
              isChosen={row.session === at}
              isSelected={picked.has(row.session)}
              choices={choices}
              select={select}
            />
          );
        })}
      </div>
    </div>
  );
}

/** With Shift, the range from the last toggled row. */
function useSelect(rows: readonly SessionListRow[]): (session: string, isRange: boolean) => void {
  const latest = useRef(rows);
  latest.current = rows;
  const last = useRef<string | null>(null);
  return useCallback((session, isRange) => {
    pickRange(
      latest.current.map((row) => row.session),
      isRange ? last.current : null,
      session,
    );
    last.current = session;
  }, []);
}

/** The offset of the rows from the top of the page. */
function useMargin(body: { readonly current: HTMLElement | null }): number {
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const top = body.current === null ? 0 : body.current.getBoundingClientRect().top + window.scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  return margin;
}

/** Scrolls the cursor row into view, if it is not visible. */
function useKeptInView(
  at: string | null,
  rows: readonly SessionListRow[],
  show: (place: number) => void,
): void {
  useEffect(() => {
    const place = at === null ? -1 : rows.findIndex(({ session }) => session === at);
    if (place >= 0) show(place);
  }, [at]);
}

function Columns({
  filter,
  rows,
}: {
  readonly filter: Filter;
  readonly rows: readonly SessionListRow[];
}): ReactNode {
  const picked = useCell(selected);
  const all = rows.length > 0 && rows.every(({ session }) => picked.has(session));
  return (
    <div role="rowgroup" className="sessions-columns">
      <div role="row" aria-rowindex={1} className="sessions-row">
        <span role="columnheader" className="sessions-select">
          <input
            type="checkbox"
            checked={all}
            aria-label="Select all loaded"
            onChange={({ currentTarget }) => {
              toggleAll(rows.map(({ session }) => session));
              focusGrid(currentTarget);
            }}
          />
        </span>
        {columns.map(([name, title, sort]) => (
          <span
            key={name}
            role="columnheader"
            className={`sessions-${name}`}
            aria-sort={
              sort === null || sort !== filter.sort ? undefined : filter.falls ? "descending" : "ascending"
            }
          >
            {sort === null ? (
              title
            ) : (
              <button type="button" onClick={() => goWith(turned(filter, sort))}>
                {title}
                <span aria-hidden="true">{sort !== filter.sort ? "" : filter.falls ? " ↓" : " ↑"}</span>
              </button>
            )}
          </span>
        ))}
        <span role="columnheader" className="sessions-menu">
          <span className="aside">Actions</span>
        </span>
      </div>
    </div>
  );
}
