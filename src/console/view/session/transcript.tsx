/**
 * The transcript, live. Of a long one only a stretch is held, and only its visible part is rendered; older
 * and newer events are read on demand.
 */
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { mended } from "../../connection.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, LoadError } from "../../ui/load-error.tsx";
import { useRoute } from "../../route.ts";
import { useShortcuts } from "../../shortcut.ts";
import { Composer } from "./composer.tsx";
import { EntryOf, InputEntry } from "./entry.tsx";
import { LiveEntry, PendingEntry } from "./live-entry.tsx";
import { dropArrived, pendingOf, type PendingMessage } from "./pending.ts";
import { useScope } from "./scope.ts";
import {
  gapsIn,
  placeOf,
  buildTranscript,
  type SessionTranscriptEntry,
  type Input,
  type SessionTranscript as TranscriptModel,
} from "../../../core/transcript.ts";
import { makeTranscriptLoader, type TranscriptLoader } from "./transcript-window.ts";

type Row =
  | {
      readonly kind: "entry";
      readonly key: string;
      readonly entry: SessionTranscriptEntry;
      readonly isFirst: boolean;
    }
  | { readonly kind: "live"; readonly key: "live" }
  | { readonly kind: "waiting"; readonly key: string; readonly input: Input }
  | { readonly kind: "more"; readonly key: "more"; readonly count: number }
  | { readonly kind: "pending"; readonly key: string; readonly pending: PendingMessage };

export function Transcript(): ReactNode {
  return (
    <section className="transcript" aria-label="Transcript">
      <Entries />
      <Composer />
    </section>
  );
}

/** What is expanded, by key. It stays so when scrolled away. */
function useUnfolded() {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(({ key }: { readonly key: string }): void => {
    setKeys((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const lost = useMemo(
    () =>
      new Set(
        [...keys].filter((key) => key.startsWith("lost")).map((key) => Number(key.slice("lost".length))),
      ),
    [keys],
  );
  return { keys, toggle, lost };
}

const nothing: TranscriptModel = { entries: [], untaken: [] };

/** The loaded part of the transcript, and its loader. */
function useTranscript(unfolded: ReadonlySet<number>) {
  const { at, state, log, session, isDrawn } = useScope();
  const headSeq = useCell(log.headSeq);
  const version = useCell(log.version);
  const loader = useMemo(() => makeTranscriptLoader(session, log), [session, log]);
  const loaded = useCell(loader.loaded);
  const isReading = useCell(loader.isReading);
  const endSeq = at ?? headSeq;
  // With the last page loaded, live events are kept there.
  useEffect(() => void log.at(log.headSeq.get()), [log]);
  const again = useCell(mended);
  useEffect(() => loader.reach(endSeq, isDrawn), [loader, endSeq, isDrawn, version, again]);
  const { ranges } = state.transcript;
  const transcript = useMemo(() => {
    if (loaded === null) return nothing;
    const { events, fromSeq, toSeq } = loaded;
    return buildTranscript({ events, at: log.at, fromSeq, toSeq: Math.min(toSeq, endSeq), ranges, unfolded });
  }, [loaded, endSeq, ranges, unfolded, log, version]);
  return { loader, loaded, isReading, endSeq, transcript };
}

function useRows(unfolded: ReadonlySet<number>) {
  const { at, state, log, session, draft } = useScope();
  const headSeq = useCell(log.headSeq);
  const pending = useCell(pendingOf(session));
  const drafted = useCell(draft);
  const isDrafting = drafted !== null;
  // Its end was missed, as after a disconnect; the state says that it is over.
  const isOver = at === null && state.turn === null && state.seq > (drafted?.requestSeq ?? Infinity);
  useEffect(() => {
    if (isOver) draft.set(null);
  }, [isOver, draft]);
  const { loader, loaded, isReading, endSeq, transcript } = useTranscript(unfolded);
  const isEnd = loaded !== null && loaded.toSeq >= endSeq;
  useEffect(() => dropArrived(session, headSeq), [session, headSeq]);
  const waitingCount = state.inbox.count;
  const isLive = at === null && (isDrafting || state.status === "running");
  const rows = useMemo((): readonly Row[] => {
    const shown: Row[] = transcript.entries.map((entry, place) => ({
      kind: "entry",
      key: entry.key,
      entry,
      isFirst: !["answer", "call"].includes(transcript.entries[place - 1]?.kind ?? "none"),
    }));
    // Inputs being sent are shown even if nothing can be read, as without a network.
    const sent = at === null ? pending.filter(({ seq }) => seq === null || seq > headSeq) : [];
    const going = sent.map((one) => ({ kind: "pending", key: one.key, pending: one }) as const);
    if (!isEnd) return [...shown, ...going];
    const waiting = waitingCount === 0 ? [] : transcript.untaken.slice(-waitingCount);
    const left = waitingCount - waiting.length;
    return [
      ...shown,
      ...(isLive ? [{ kind: "live", key: "live" } as const] : []),
      ...waiting.map((input) => ({ kind: "waiting", key: `waiting${input.seq}`, input }) as const),
      ...(left > 0 ? [{ kind: "more", key: "more", count: left } as const] : []),
      ...going,
    ];
  }, [transcript, isEnd, waitingCount, pending, headSeq, isLive, at]);
  return { rows, loader, isReading, isEnd, endSeq, isBegun: loaded !== null, entries: transcript.entries };
}

const nearPx = 800;

function Entries(): ReactNode {
  const { at } = useScope();
  const unfolded = useUnfolded();
  const list = useRows(unfolded.lost);
  const { rows, loader, isReading, isEnd, endSeq, isBegun, entries } = list;
  const element = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => element.current,
    estimateSize: () => 72,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 20,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 60,
  });
  useFirstPlace(virtual, rows.length, `${useCell(loader.begun)}/${at ?? "now"}`);
  const marked = useMarked(virtual, { entries, loader, endSeq });
  const toggle = useToggle(unfolded.toggle, entries, loader);
  const chosen = useChosen(virtual, rows, toggle);
  const look = useLooking(element, list);
  const isAtEnd = isEnd && virtual.isAtEnd(120);
  useKeptAtEnd(virtual, element);
  const toEnd = (): void => {
    loader.toEnd(endSeq);
    virtual.scrollToEnd();
  };
  useShortcuts([{ key: "G", what: "Jump to the newest", act: toEnd }]);
  return (
    <div className="entries-frame">
      <div ref={element} className="entries" tabIndex={0} role="region" aria-label="Entries" onScroll={look}>
        <div className="entries-all" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <article
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                {...looksOf(row, marked, chosen)}
                style={{ transform: `translateY(${start}px)` }}
              >
                <RowOf row={row} isOpen={unfolded.keys.has(row.key)} toggle={toggle} />
              </article>
            );
          })}
        </div>
        {isBegun && !isReading && rows.every(isQuiet) ? <Nothing /> : null}
      </div>
      <Unread loader={loader} />
      {isAtEnd || !isBegun || rows.length === 0 ? null : (
        <Button size="small" className="button entries-newer" act={toEnd}>
          New messages
        </Button>
      )}
    </div>
  );
}

const looksOf = (row: Row, marked: string | null, chosen: string | null) => ({
  className: "entry",
  "data-kind": row.kind === "entry" ? row.entry.kind : row.kind,
  "data-lost": (row.kind === "entry" && row.entry.isLost) || undefined,
  "data-marked": row.key === marked || undefined,
  "data-chosen": row.key === chosen || undefined,
});

/** Expands; for a rewound range, reads its skipped events. */
function useToggle(
  unfold: (entry: { readonly key: string }) => void,
  entries: readonly SessionTranscriptEntry[],
  loader: TranscriptLoader,
): (entry: { readonly key: string }) => void {
  return useCallback(
    (entry) => {
      unfold(entry);
      const lost = entries.find(({ key, kind }) => key === entry.key && kind === "lost");
      if (lost?.kind === "lost" && !lost.isOpen) loader.within(lost.range);
    },
    [unfold, entries, loader],
  );
}

/** Reads more near the edge; also automatically, if many events gave few entries. */
function useLooking(
  element: { readonly current: HTMLDivElement | null },
  { rows, loader, isReading, endSeq }: ReturnType<typeof useRows>,
): () => void {
  const { state, isDrawn } = useScope();
  const look = (): void => {
    if (element.current === null || isReading || isDrawn) return;
    const { scrollTop, scrollHeight, clientHeight } = element.current;
    if (scrollTop < nearPx) loader.older(gapsIn(state.transcript.ranges));
    if (scrollHeight - scrollTop - clientHeight < nearPx) loader.newer(endSeq);
  };
  useEffect(() => {
    if (loader.error.get() === null) look();
  }, [rows, isReading, isDrawn]);
  return look;
}

/** The load error, or the loading state. */
function Unread({ loader }: { readonly loader: TranscriptLoader }): ReactNode {
  const error = useCell(loader.error);
  const isBegun = useCell(loader.loaded) !== null;
  if (error !== null) return <LoadError error={error} />;
  if (isBegun) return null;
  return (
    <p className="entries-reading faint small" role="status">
      Loading…
    </p>
  );
}

type Rows = Virtualizer<HTMLDivElement, Element>;

/** It starts at its end, also when another position is viewed. */
function useFirstPlace(virtual: Rows, rows: number, place: string): void {
  const isNamed = useRoute().params.has("to");
  const placed = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (rows === 0 || placed.current === place) return;
    if (!isNamed || placed.current !== null) virtual.scrollToEnd();
    placed.current = place;
  }, [virtual, rows, place, isNamed]);
}

/**
 * At the end it stays there, whatever arrives, disappears or changes its size, as after a reconnect. It has
 * been left when it scrolled back while every size was unchanged: only a reader does that.
 */
function useKeptAtEnd(virtual: Rows, element: { readonly current: HTMLDivElement | null }): void {
  const known = useRef({ stays: false, top: 0, height: 0, client: 0 });
  const keep = useCallback((): void => {
    if (element.current === null) return;
    const { scrollTop: top, scrollHeight: height, clientHeight: client } = element.current;
    const before = known.current;
    const isBack = top < before.top - 1 && height === before.height && client === before.client;
    const left = height - client - top;
    const stays = left < 8 || (before.stays && !isBack);
    known.current = { stays, top, height, client };
    if (stays && left > 1) virtual.scrollToEnd();
  }, [virtual, element]);
  useLayoutEffect(keep);
  useEffect(() => {
    const shown = element.current;
    if (shown === null) return;
    shown.addEventListener("scroll", keep);
    const watcher = new ResizeObserver(keep);
    for (const one of [shown, ...shown.children]) watcher.observe(one);
    return () => {
      shown.removeEventListener("scroll", keep);
      watcher.disconnect();
    };
  }, [element, keep]);
}

interface MarkedEntryOptions {
  readonly entries: readonly SessionTranscriptEntry[];
  readonly loader: TranscriptLoader;
  readonly endSeq: number;
}

/** The entry named in the URL: scrolled to once, and highlighted. */
function useMarked(virtual: Rows, { entries, loader, endSeq }: MarkedEntryOptions): string | null {
  const named = useRoute().params.get("to") ?? "";
  const seq = /^\d{1,15}$/.test(named) ? Number(named) : null;
  const gone = useRef<number | null>(null);
  const place = seq === null ? -1 : placeOf(entries, seq);
  useEffect(() => {
    if (seq === null || gone.current === seq) return;
    if (!loader.show(seq, endSeq) || place === -1) return;
    gone.current = seq;
    virtual.scrollToIndex(place, { align: "center" });
  });
  return entries[place]?.key ?? null;
}

/** j and k select an entry, o expands it. */
function useChosen(virtual: Rows, rows: readonly Row[], toggle: (row: Row) => void): string | null {
  const [chosen, setChosen] = useState<string | null>(null);
  const move = (step: number): void => {
    const now = rows.findIndex(({ key }) => key === chosen);
    const from = now === -1 ? (virtual.range?.endIndex ?? rows.length) : now + step;
    const next = Math.min(Math.max(0, from), rows.length - 1);
    setChosen(rows[next]?.key ?? null);
    virtual.scrollToIndex(next, { align: "auto" });
  };
  const unfold = (): void => {
    const row = rows.find(({ key }) => key === chosen);
    if (row !== undefined) toggle(row);
  };
  useShortcuts([
    { key: "j", what: "Next entry", act: () => move(1) },
    { key: "k", what: "Previous entry", act: () => move(-1) },
    { key: "o", what: "Expand the entry", act: unfold },
    {
      key: "a",
      what: "Go to the call waiting for approval",
      act: () => document.querySelector<HTMLButtonElement>("[data-answer]")?.focus(),
    },
  ]);
  return chosen;
}

interface RowProps {
  readonly row: Row;
  readonly isOpen: boolean;
  readonly toggle: (entry: SessionTranscriptEntry) => void;
}

function RowOf({ row, isOpen, toggle }: RowProps): ReactNode {
  switch (row.kind) {
    case "entry":
      return <EntryOf entry={row.entry} isFirst={row.isFirst} isOpen={isOpen} toggle={toggle} />;
    case "live":
      return <LiveEntry />;
    case "waiting":
      return <InputEntry input={row.input} waits={waitWords(row.input)} />;
    case "more":
      return <p className="note-line faint">{plural(row.count, "more input")} queued, further up.</p>;
    case "pending":
      return <PendingEntry pending={row.pending} />;
  }
}

/** Only notes: no speaker. */
const isQuiet = (row: Row): boolean => row.kind === "entry" && row.entry.kind === "note";

const waitWords = (input: Input): string =>
  "mode" in input.body && input.body.mode === "steer"
    ? "queued for the next step"
    : "queued for the next turn";

function Nothing(): ReactNode {
  const { at } = useScope();
  if (at !== null) return <Empty title="No messages up to here" />;
  return (
    <Empty title="No messages yet">
      <p>Your first message starts the session. Its answers and tool calls appear here, live.</p>
    </Empty>
  );
}
