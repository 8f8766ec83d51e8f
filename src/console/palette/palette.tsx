/** The command palette: every call and every session, by a few letters. */
import { shortId } from "../../core/text/short-id.ts";
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { logout } from "../connection.ts";
import { call, type PaletteOutcome } from "./call.ts";
import { Answer, CommandForm, shownFields, type SentCommand } from "./command-form.tsx";
import { commandOf, needsSession, searchPath } from "./commands.ts";
import { offered, type PaletteItem, type PaletteState, type PageAction } from "./items.ts";
import { piecesOf, recentOf, recentWith } from "./match.ts";
import { bytes } from "../ui/amount.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Status } from "../ui/status.tsx";
import { showToast } from "../ui/toast.tsx";
import { LoadError } from "../ui/load-error.tsx";
import { useReading } from "../query-cache.ts";
import { go, sessionPath, useRoute, type PageRoute } from "../route.ts";
import { engine } from "../server.ts";
import { turnTheme } from "../theme.ts";
import { chosen } from "../view/sessions/row-selection.ts";
import { after } from "../world.ts";
import type { OperationId } from "../../call/operations.ts";
import "./palette.css";

interface PaletteProps {
  readonly close: () => void;
  /** Opens the dialog for a new session. */
  readonly open: () => void;
  /** Shows the keys. */
  readonly keys?: () => void;
}

type Step =
  | { readonly at: "list" }
  | { readonly at: "form"; readonly id: OperationId }
  | { readonly at: "answer"; readonly id: OperationId; readonly outcome: PaletteOutcome };

const kept = "skein-commands";

/** The session for session calls: of the page, or of the chosen row. */
const sessionHere = (route: PageRoute): string | null =>
  route.at === "session" ? route.id : route.at === "sessions" ? chosen.get() : null;

export function Palette({ close, open, keys }: PaletteProps): ReactNode {
  const route = useRoute();
  const [session] = useState(() => sessionHere(route));
  const [step, setStep] = useState<Step>({ at: "list" });
  const [query, setQuery] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const back = (): void => setStep({ at: "list" });
  const send = async (id: OperationId, sent: SentCommand): Promise<void> => {
    const { does } = commandOf(id);
    if (does.how === "go") {
      close();
      return go(does.to(sent.session ?? "", sent.params));
    }
    const outcome = await call(id, sent);
    if (outcome.what === "answer" || outcome.what === "file") return setStep({ at: "answer", id, outcome });
    close();
    settle(id, outcome);
  };
  const runNow = async (id: OperationId): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await send(id, { session, params: {}, file: null });
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const choose = (item: PaletteItem, wantsForm: boolean): void => {
    remember(item.id);
    if (item.kind !== "call") {
      close();
      return actOn(item);
    }
    const { id } = item;
    const { how } = commandOf(id).does;
    if (how === "open") return open();
    const asks =
      shownFields(id).some(({ isRequired }) => isRequired) || (needsSession(id) && session === null);
    if (how === "form" || asks || (wantsForm && shownFields(id).length > 0)) setStep({ at: "form", id });
    else void runNow(id);
  };
  const own = useOwn(close, keys);
  return (
    <Dialog title="Commands" close={close} bare wide={step.at !== "list"}>
      {step.at === "form" ? (
        <CommandForm id={step.id} session={session} back={back} send={(sent) => send(step.id, sent)} />
      ) : step.at === "answer" && (step.outcome.what === "answer" || step.outcome.what === "file") ? (
        <Answer id={step.id} outcome={step.outcome} back={back} />
      ) : (
        <>
          <List
            session={session}
            query={query}
            setQuery={setQuery}
            own={own}
            choose={choose}
            isBusy={isBusy}
          />
          {error === null ? null : <LoadError error={error} />}
        </>
      )}
    </Dialog>
  );
}

function settle(id: OperationId, outcome: PaletteOutcome): void {
  const { title } = commandOf(id);
  if (outcome.what === "made") {
    if (outcome.carriedOver !== null) showToast(carriedText(outcome.carriedOver));
    go(sessionPath(outcome.session));
  } else if (outcome.what === "place") go(sessionPath(outcome.session, "transcript", { at: outcome.seq }));
  else if (outcome.what === "file") showToast(`${outcome.name}: ${bytes(outcome.bytes)}`);
  else showToast(`${title}: done.`);
  if (id === "engine.delete") go("/");
}

/** What a successor inherited from another session, and what not. */
function carriedText({
  moved,
  left,
}: NonNullable<Extract<PaletteOutcome, { what: "made" }>["carriedOver"]>): string {
  const list = (parts: typeof moved): string =>
    parts.map(({ what, names }) => `${what} ${names.join(", ")}`).join("; ");
  return [
    ...(moved.length === 0 ? [] : [`Moved: ${list(moved)}.`]),
    ...(left.length === 0 ? [] : [`Not carried over: ${list(left)}.`]),
  ].join(" ");
}

const remember = (id: string): void =>
  localStorage.setItem(kept, JSON.stringify(recentWith(recentOf(localStorage.getItem(kept)), id)));

function actOn(item: Exclude<PaletteItem, { readonly kind: "call" }>): void {
  if (item.kind === "own") item.own.act();
  else if (item.kind === "search") go(searchPath(item.text));
  else go(sessionPath(item.kind === "session" ? item.id : item.text));
}

const stops: readonly (readonly [title: string, path: string, key: string])[] = [
  ["Go to Sessions", "/", "g s"],
  ["Go to Search", "/search", "g f"],
  ["Go to Agents", "/agents", "g a"],
  ["Go to Triggers", "/triggers", "g t"],
  ["Go to Workers", "/workers", "g w"],
  ["Go to Cost", "/cost", "g c"],
  ["Go to Memory", "/memory", "g m"],
  ["Import sessions of other tools", "/import", ""],
  ["Stats of imported sessions", "/import/stats", ""],
  ["Sessions waiting for a person", "/?waits=person", ""],
  ["Running sessions", "/?status=running", ""],
];

function useOwn(close: () => void, keys: (() => void) | undefined): readonly PageAction[] {
  return useMemo(
    () => [
      ...stops.map(([title, path, key]) => ({ id: `go ${path}`, title, key, act: () => go(path) })),
      { id: "theme", title: "Change theme: light, dark, system", act: () => void turnTheme() },
      ...(keys === undefined ? [] : [{ id: "keys", title: "Show keyboard shortcuts", key: "?", act: keys }]),
      { id: "log out", title: "Log out", act: () => void logout() },
    ],
    [close, keys],
  );
}

const waitMs = 120;

/** Sessions by the typed text, with a short delay. */
function useSessions(query: string): readonly PaletteState[] {
  const [asked, setAsked] = useState("");
  useEffect(() => after(waitMs, () => setAsked(query.trim().slice(0, 200))), [query]);
  const first = useReading("sessions/palette/", () => engine.sessions({ limit: 50 })).value?.rows;
  const found = useReading(asked === "" ? null : `sessions/palette/${asked}`, () =>
    engine.sessions({ text: asked, limit: 20 }),
  ).value?.rows;
  return useMemo(() => {
    const all = new Map([...(first ?? []), ...(found ?? [])].map((row) => [row.session as string, row]));
    return [...all.values()];
  }, [first, found]);
}

interface ListProps {
  readonly session: string | null;
  readonly query: string;
  readonly setQuery: (query: string) => void;
  readonly own: readonly PageAction[];
  readonly choose: (item: PaletteItem, wantsForm: boolean) => void;
  readonly isBusy: boolean;
}

function List({ session, query, setQuery, own, choose, isBusy }: ListProps): ReactNode {
  const sessions = useSessions(query);
  const [recent] = useState(() => recentOf(localStorage.getItem(kept)));
  const items = useMemo(
    () => offered({ query: query.trim(), sessions, own, recent, hasSession: session !== null }),
    [query, sessions, own, recent, session],
  );
  const [place, setPlace] = useState(0);
  const at = Math.min(place, items.length - 1);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const press = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    const item = items[at];
    if (step !== undefined) setPlace(Math.max(0, Math.min(items.length - 1, at + step)));
    else if (event.key === "Enter" && item !== undefined) choose(item, event.ctrlKey || event.metaKey);
    else if (event.key === "Tab" && !event.shiftKey && item?.kind === "call") choose(item, true);
    else return;
    event.preventDefault();
  };
  return (
    <div className="palette">
      <input
        className="palette-field"
        type="text"
        role="combobox"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        aria-label="Command or session"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={items.length === 0 ? undefined : `${id}-${at}`}
        placeholder={session === null ? "Command or session" : "Command for this session, or a session"}
        value={query}
        onChange={({ target }) => {
          setQuery(target.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      <ul ref={list} id={id} role="listbox" aria-label="Commands and sessions" className="palette-list">
        {items.map((item, nth) => (
          <li
            key={`${item.kind} ${item.id}`}
            id={`${id}-${nth}`}
            role="option"
            aria-selected={nth === at}
            className="palette-item"
            onPointerMove={() => setPlace(nth)}
            onClick={() => choose(item, false)}
          >
            <ItemWords item={item} />
          </li>
        ))}
      </ul>
      <p className="palette-foot small faint" role="status">
        {isBusy ? "Working…" : "↵ run · ⇥ options · esc close"}
        {isBusy || query.trim() !== "" ? "" : " · type to find a session"}
      </p>
    </div>
  );
}

function ItemWords({ item }: { readonly item: PaletteItem }): ReactNode {
  return (
    <>
      <span className="palette-title" dir="auto">
        {piecesOf(item.title, item.places).map(({ text, isHit }, nth) =>
          isHit ? <b key={nth}>{text}</b> : <span key={nth}>{text}</span>,
        )}
      </span>
      {item.kind === "session" ? (
        <>
          <code className="palette-id">{shortId(item.id)}</code>
          <Status status={item.known.status} />
        </>
      ) : null}
      {item.kind === "call" ? <code className="palette-id">{item.id}</code> : null}
      {item.kind === "own" && item.own.key ? <kbd className="key">{item.own.key}</kbd> : null}
    </>
  );
}
