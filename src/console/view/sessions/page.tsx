/** The process table: every session with its status, live. */
import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { mended } from "../../connection.ts";
import { useFollow, type LiveUpdate } from "../../live.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import type { Choice } from "../../ui/menu.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty, LoadError } from "../../ui/load-error.tsx";
import { useReading } from "../../query-cache.ts";
import { go, sessionPath } from "../../route.ts";
import { engine } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after, every } from "../../world.ts";
import { FirstRun, SampleNote } from "../first-run.tsx";
import { actionOf, actions, doable, eitherOf, isEntitled, keyOfAction, type Action } from "./action.ts";
import { Ask, type ActionQuestion } from "./asking.tsx";
import { chosen, clearSelected, selected, toggle } from "./row-selection.ts";
import { filterName, filterOf, isFiltered, needsAll, type Filter, type SessionListRow } from "./filter.ts";
import { Filters, Head, LeftOut } from "./head.tsx";
import {
  listNamed,
  removeEverywhere,
  rowsMax,
  sessionList,
  type SessionListing,
  type SessionList,
} from "./list.ts";
import { isBusy, perform } from "./perform.ts";
import { Selection } from "./selection.tsx";
import { Table } from "./table.tsx";
import { refreshTotals, useTotals, type Totals } from "./totals.ts";
import "./sessions.css";

interface SessionsProps {
  readonly params: URLSearchParams;
  /** Opens the dialog for a new session. */
  readonly open: () => void;
}

export function Sessions({ params, open }: SessionsProps): ReactNode {
  const filter = useMemo(() => filterOf(params), [params]);
  const list = useList(filter);
  const listing = useCell(list.listing);
  const totals = useTotals(listing.isBegun);
  const me = useReading("me", () => engine.me()).value;
  const [asking, setAsking] = useState<ActionQuestion | null>(null);
  useLive(list);
  const act = useCallback(
    (action: Action, rows: readonly SessionListRow[]): void => {
      if (rows.some(isBusy)) return;
      if (!isEntitled(action, me)) showToast(`This needs the scope ${action.scope}, which your login lacks.`);
      else if (action.asks === true && doable(action, rows).length > 0) setAsking({ action, rows });
      else void perform(action, rows);
    },
    [me],
  );
  const choices = useCallback((row: SessionListRow) => choicesOf(row, me, act), [me, act]);
  const picked = useCell(selected);
  const rows = listing.rows.filter(({ session }) => picked.has(session));
  useRowKeys(list, act);
  const isEmpty = listing.isBegun && listing.isWhole && listing.rows.length === 0;
  if (isEmpty && !isFiltered(filter)) return <FirstRun open={open} />;
  return (
    <div className="sessions">
      <Head filter={filter} totals={totals} open={open}>
        <Progress filter={filter} list={list} listing={listing} totals={totals} />
      </Head>
      {listing.isBegun ? <SampleNote /> : null}
      <Filters filter={filter} />
      <LeftOut params={params} />
      {listing.isCut ? (
        <p className="sessions-cut">
          These are the {count(rowsMax)} most recently active. Use a filter to find the others.
        </p>
      ) : null}
      {listing.error === undefined ? null : <Failed list={list} error={listing.error} />}
      {isEmpty ? <NoneFits /> : <Table filter={filter} list={list} listing={listing} choices={choices} />}
      <Selection rows={rows} listing={listing} me={me} act={act} />
      {asking === null ? null : <Ask asking={asking} close={() => setAsking(null)} />}
    </div>
  );
}

function useList(filter: Filter): SessionList {
  const name = filterName(filter);
  const list = useMemo(
    () => listNamed(name, () => sessionList(filter, (asked) => engine.sessions(asked))),
    [name],
  );
  useEffect(() => {
    let isHere = true;
    const read = (): void => {
      void list.readHead().then(() => (needsAll(filter) ? list.all(() => isHere) : undefined));
    };
    read();
    const unwatch = mended.watch(read);
    return () => {
      isHere = false;
      unwatch();
      list.hold(false);
    };
  }, [list]);
  return list;
}

const gatherMs = 400;
const countMs = 2_000;
const lookMs = 10_000;

/** Events are batched for a moment, and then read at once. */
function useLive(list: SessionList): void {
  const gathered = useRef({ sinceMs: Infinity, call: null as (() => void) | null });
  const counting = useRef<(() => void) | null>(null);
  const recount = (): void => {
    counting.current ??= after(countMs, () => {
      counting.current = null;
      refreshTotals();
    });
  };
  const hear = (update: LiveUpdate): void => {
    if ("delta" in update) return;
    const { event } = update;
    recount();
    if (event.type === "session.deleted") {
      removeEverywhere((event.body as { readonly session: string }).session);
    }
    const now = gathered.current;
    now.sinceMs = Math.min(now.sinceMs, event.at);
    now.call ??= after(gatherMs, () => {
      const { sinceMs } = now;
      gathered.current = { sinceMs: Infinity, call: null };
      void list.catchUp(sinceMs - 1_000);
    });
  };
  useFollow(null, hear, () => {
    void list.readHead();
    recount();
  });
  useEffect(
    () => () => {
      gathered.current.call?.();
      counting.current?.();
    },
    [],
  );
  useEffect(
    () =>
      every(lookMs, () => {
        if (!document.hidden) void list.lookAgain();
      }),
    [list],
  );
}

type Act = (action: Action, rows: readonly SessionListRow[]) => void;

function choicesOf(row: SessionListRow, me: Parameters<typeof isEntitled>[1], act: Act): readonly Choice[] {
  const rows = [row];
  const able = actions.filter(
    (action) => (action.asks === true || doable(action, rows).length > 0) && isEntitled(action, me),
  );
  return [
    { name: "Open", key: "Enter", act: () => go(sessionPath(row.session)) },
    ...able.map((action) => {
      const key = keyOfAction[action.name];
      return {
        name: action.title,
        ...(key === undefined ? {} : { key }),
        ...(action.name === "delete" || action.name === "prioritize" ? { apart: true } : {}),
        act: doable(action, rows).length === 0 ? undefined : () => act(action, rows),
      };
    }),
    {
      name: "Copy the id",
      act: async () => {
        await navigator.clipboard.writeText(row.session);
        showToast("Id copied.");
      },
    },
  ];
}

/** Keys act on the selected rows, or else on the cursor row. */
function useRowKeys(list: SessionList, act: Act): void {
  const rows = (): readonly SessionListRow[] => list.listing.get().rows;
  const meant = (): readonly SessionListRow[] => {
    const picked = selected.get();
    const at = chosen.get();
    return rows().filter(({ session }) => (picked.size > 0 ? picked.has(session) : session === at));
  };
  const last = useRef(-1);
  const move = (step: number): void => {
    const all = rows();
    const at = all.findIndex(({ session }) => session === chosen.get());
    // The neighbors of a removed cursor row.
    const place = at >= 0 ? at : step > 0 ? last.current - 1 : last.current;
    const next = Math.max(0, Math.min(all.length - 1, place + step));
    last.current = next;
    const to = all[next]?.session ?? null;
    list.hold(to !== null);
    chosen.set(to);
  };
  const put = (): void => {
    if (selected.get().size > 0) {
      clearSelected();
      return list.hold(chosen.get() !== null);
    }
    chosen.set(null);
    last.current = -1;
    list.hold(false);
  };
  const doing = (pick: (of: readonly SessionListRow[]) => Action) => (): void => {
    const of = meant();
    if (of.length === 0) showToast("Select a session first, with j and k or the arrows.");
    else act(pick(of), of);
  };
  useEffect(() => () => chosen.set(null), []);
  const at = (): string | null => chosen.get();
  const open = (): void => {
    const session = at();
    if (session !== null) go(sessionPath(session));
  };
  const pick = (): void => {
    const session = at();
    if (session !== null) toggle(session);
  };
  useShortcuts([
    { key: "j", what: "Next session", act: () => move(1) },
    { key: "k", what: "Previous session", act: () => move(-1) },
    { key: "ArrowDown", what: "Next session", act: () => move(1) },
    { key: "ArrowUp", what: "Previous session", act: () => move(-1) },
    { key: "Enter", what: "Open", act: open },
    { key: " ", what: "Toggle selection", act: pick },
    { key: "s", what: "Suspend or activate", act: doing((of) => eitherOf("suspend", "activate", of)) },
    { key: "i", what: "Interrupt", act: doing(() => actionOf("interrupt")) },
    { key: "x", what: "Close or reopen", act: doing((of) => eitherOf("close", "reopen", of)) },
    { key: "p", what: "Set the priority", act: doing(() => actionOf("prioritize")) },
    { key: "f", what: "Fork", act: doing(() => actionOf("fork")) },
    { key: "d", what: "Delete", act: doing(() => actionOf("delete")) },
    { key: "Escape", what: "Clear selection", act: put },
  ]);
}

interface ProgressProps {
  readonly filter: Filter;
  readonly list: SessionList;
  readonly listing: SessionListing;
  readonly totals: Totals | undefined;
}

/** The progress of reading, and new rows. In a place where nothing moves when it appears. */
function Progress({ filter, list, listing, totals }: ProgressProps): ReactNode {
  const { rows, kept, isReading, isWhole, isCut } = listing;
  const most = isFiltered(filter) || totals === undefined ? null : Math.min(rowsMax, totals.all);
  const release = (): void => {
    list.hold(false);
    if (chosen.get() !== null || selected.get().size > 0) list.hold(true);
  };
  return (
    <div className="sessions-progress spread" role="status">
      {needsAll(filter) && !isWhole && !isCut && isReading && rows.length > 0 ? (
        <>
          <span className="number">
            Reading {count(rows.length)}
            {most === null ? "" : ` of ${count(most)}`}
          </span>
          {most === null ? null : <progress value={rows.length} max={most} aria-label="Reading" />}
        </>
      ) : null}
      {kept > 0 ? (
        <Button size="small" act={release}>
          Show {plural(kept, "new session")}
        </Button>
      ) : null}
    </div>
  );
}

function Failed({ list, error }: { readonly list: SessionList; readonly error: Error }): ReactNode {
  return (
    <div className="stack">
      <LoadError error={error} />
      <p>
        <Button act={() => list.readHead()}>Reload</Button>
      </p>
    </div>
  );
}

function NoneFits(): ReactNode {
  return (
    <Empty title="No matching sessions">
      <p>
        The filter covers names and objectives. To find messages, use the search, with{" "}
        <kbd className="key">/</kbd>.
      </p>
      <Button act={() => go("/")}>Show all sessions</Button>
    </Empty>
  );
}
