/** The raw events: all or of some types, with their content; verify, copy, keyboard navigation. */
import { useEffect, useRef, useState, type MouseEvent, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty } from "../../ui/load-error.tsx";
import { goWith } from "../../route.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after } from "../../world.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { useScope } from "../session/scope.ts";
import { filterOf, isAll, seqOf, type LogFilter } from "./filter.ts";
import { eventJson } from "./row.tsx";
import { Rows, type MarkedRow } from "./rows.tsx";
import { useRows, type LogRows as RowsSource } from "./source.ts";
import { nowhereWords, Tools, useNamedTime } from "./tools.tsx";
import "./log.css";

export function Log({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { at, log } = useScope();
  const filter = filterOf(params);
  const rows = useRows(filter);
  const named = seqOf(params);
  const isLooking = useNamedTime(params);
  const [marked, setMarked] = useState<MarkedRow>({
    chosen: named,
    picked: new Set(),
    unfolded: new Set(named === null ? [] : [named]),
  });
  // The position changed: by the field, by a link, or by going back.
  useEffect(() => {
    if (named === null) return;
    const headSeq = log.headSeq.get();
    if (named > headSeq) showToast(nowhereWords(named, headSeq));
    setMarked((before) => ({ ...before, chosen: named }));
  }, [named]);
  const moves = useMoves(rows, marked, setMarked);
  const begin = named ?? at;
  return (
    <div className="log">
      <Tools filter={filter} picked={marked.picked} copy={moves.copy} />
      <Heads />
      {rows.count === 0 ? (
        <Nothing filter={filter} rows={rows} />
      ) : isLooking ? null : (
        <Rows
          key={`${filter.types.join()} ${filter.text}`}
          rows={rows}
          marked={marked}
          choose={moves.choose}
          begin={begin}
        />
      )}
      <Looked rows={rows} filter={filter} />
    </div>
  );
}

interface LogMoves {
  choose(seq: number, event: MouseEvent): void;
  copy(): Promise<void>;
}

const addressMs = 300;

/** The actions of keys and clicks. The URL follows after a pause. */
function useMoves(rows: RowsSource, marked: MarkedRow, setMarked: (marked: MarkedRow) => void): LogMoves {
  const { log } = useScope();
  const waiting = useRef<(() => void) | null>(null);
  useEffect(() => () => waiting.current?.(), []);
  const { chosen, picked, unfolded } = marked;
  const go = (seq: number, more: Partial<MarkedRow> = {}): void => {
    setMarked({ ...marked, ...more, chosen: seq });
    waiting.current?.();
    waiting.current = after(addressMs, () => goWith({ seq, time: null }, { replace: true }));
  };
  const step = (by: number): void => {
    if (rows.count === 0) return;
    const place = chosen === null ? rows.count - 1 : rows.placeOf(chosen) + by;
    go(rows.seqOf(Math.min(rows.count - 1, Math.max(0, place))));
  };
  const turned = (of: ReadonlySet<number>, seq: number): ReadonlySet<number> =>
    of.has(seq) ? new Set([...of].filter((one) => one !== seq)) : new Set([...of, seq]);
  const unfold = (): void => {
    if (chosen !== null) setMarked({ ...marked, unfolded: turned(unfolded, chosen) });
  };
  const pick = (): void => {
    if (chosen !== null) setMarked({ ...marked, picked: turned(picked, chosen) });
  };
  const copy = async (): Promise<void> => {
    const seqs = picked.size > 0 ? [...picked].toSorted((a, b) => a - b) : chosen === null ? [] : [chosen];
    if (seqs.length === 0) return;
    const events: SessionEvent[] = [];
    for (const seq of seqs) events.push(...(await log.read(seq, seq)));
    await copyText(eventJson(events), `${plural(events.length, "event")} as JSON`);
  };
  useLogKeys({
    step,
    unfold,
    pick,
    copy,
    end: (place) => go(rows.seqOf(place === "first" ? 0 : rows.count - 1)),
  });
  return {
    copy,
    choose(seq, event) {
      if (event.shiftKey && chosen !== null) go(seq, { picked: rangeOf(rows, chosen, seq) });
      else if (event.ctrlKey || event.metaKey) go(seq, { picked: turned(picked, seq) });
      else if (getSelection()?.toString() === "") go(seq, { unfolded: turned(unfolded, seq) });
    },
  };
}

const pickedMax = 5_000;

function rangeOf(rows: RowsSource, from: number, to: number): ReadonlySet<number> {
  const [first, last] = [rows.placeOf(Math.min(from, to)), rows.placeOf(Math.max(from, to))];
  const places = Math.min(pickedMax, last - first + 1);
  return new Set(Array.from({ length: places }, (_, place) => rows.seqOf(first + place)));
}

interface LogKeys {
  step(by: number): void;
  unfold(): void;
  pick(): void;
  copy(): Promise<void>;
  end(which: "first" | "last"): void;
}

function useLogKeys({ step, unfold, pick, copy, end }: LogKeys): void {
  const pageRows = 20;
  useShortcuts([
    { key: "j", what: "Next row", act: () => step(1) },
    { key: "k", what: "Previous row", act: () => step(-1) },
    { key: "ArrowDown", what: "Next row", act: () => step(1) },
    { key: "ArrowUp", what: "Previous row", act: () => step(-1) },
    { key: "PageDown", what: "Next page", act: () => step(pageRows) },
    { key: "PageUp", what: "Previous page", act: () => step(-pageRows) },
    { key: "Home", what: "First row", act: () => end("first") },
    { key: "End", what: "Last row", act: () => end("last") },
    { key: "Enter", what: "Expand the event", act: unfold },
    { key: " ", what: "Select the event", act: pick },
    { key: "c", what: "Copy the selected events as JSON", act: () => void copy() },
  ]);
}

function Heads(): ReactNode {
  return (
    <div className="log-cells log-heads" aria-hidden="true">
      <span className="log-seq">Position</span>
      <span className="log-time">Time</span>
      <span className="log-type">Type</span>
      <span className="log-actor">Actor</span>
      <span className="log-turn">Turn</span>
      <span className="log-words">Summary</span>
      <span className="log-fold" />
    </div>
  );
}

function Nothing({ filter, rows }: { readonly filter: LogFilter; readonly rows: RowsSource }): ReactNode {
  if (rows.isReading) return <p className="waiting">Loading…</p>;
  return (
    <Empty title="No matching events">
      <p>
        {rows.looked === null
          ? "No event of this log has these types and this text."
          : `No match in the newest ${count(rows.looked)} events. Older ones were not searched yet.`}
      </p>
      <div className="row">
        {rows.more === null ? null : <Button act={rows.more}>Search older events</Button>}
        {isAll(filter) ? null : <Button act={() => goWith({ types: null, q: null })}>Show all events</Button>}
      </div>
    </Empty>
  );
}

/** The number of searched events, if not all are shown. */
function Looked({ rows, filter }: { readonly rows: RowsSource; readonly filter: LogFilter }): ReactNode {
  const { log, at } = useScope();
  const headSeq = useCell(log.headSeq);
  if (isAll(filter) || rows.count === 0) return null;
  return (
    <p className="small faint log-looked" role="status">
      {plural(rows.count, "event")} of {count(at ?? headSeq)}
      {rows.looked === null ? "" : ", older ones load as you scroll up"}
    </p>
  );
}
