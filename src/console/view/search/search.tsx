/** Search over everything, as you type. */
import { shortId } from "../../../core/text/short-id.ts";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Ago } from "../../ui/moment.tsx";
import { brief, visible } from "../../ui/visible.ts";
import { useSessionTitle } from "../../ui/session-name.tsx";
import { Status } from "../../ui/status.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { useReading } from "../../query-cache.ts";
import { goWith, sessionPath, withParams } from "../../route.ts";
import { engine } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { useReadAgain } from "../use-refetch-on-event.ts";
import {
  askedFor,
  grouped,
  isOfMemory,
  kindOf,
  outdated,
  pieces,
  type Group,
  type Hit,
} from "./search-results.ts";
import { useTyped } from "../query-field.ts";
import "./search.css";

const restMs = 160;
const firstHits = 50;
const hitsMax = 200;
const namedMax = 6;

export function Search({ params }: { readonly params: URLSearchParams }): ReactNode {
  const text = params.get("q") ?? "";
  const only = params.get("in");
  const list = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useShortcuts([{ key: ".", what: "Focus the search field", act: () => field.current?.select() }]);
  useReadAgain("search");
  const move = (event: KeyboardEvent): void => {
    const step = stepOf(event, event.target === field.current);
    if (step === 0) return;
    event.preventDefault();
    moveFocus(list.current, field.current, step);
  };
  return (
    <div className="search" onKeyDown={move} ref={list}>
      <div className="head">
        <h1>Search</h1>
      </div>
      <Field text={text} field={field} />
      {only === null ? null : <Only id={only} />}
      {askedFor(text) === "" ? <Teach /> : <Found text={text} only={only} />}
    </div>
  );
}

function stepOf({ key, ctrlKey, altKey, metaKey }: KeyboardEvent, isTyping: boolean): number {
  if (ctrlKey || altKey || metaKey) return 0;
  if (key === "ArrowDown" || (key === "j" && !isTyping)) return 1;
  return key === "ArrowUp" || (key === "k" && !isTyping) ? -1 : 0;
}

/** Between matches; above the first is the field. */
function moveFocus(list: HTMLElement | null, field: HTMLInputElement | null, step: number): void {
  const hits = [...(list?.querySelectorAll<HTMLElement>("[data-hit]") ?? [])];
  const at = hits.indexOf(document.activeElement as HTMLElement);
  const next = at + step;
  if (next < 0) field?.focus();
  else hits[Math.min(next, hits.length - 1)]?.focus();
}

interface FieldProps {
  readonly text: string;
  readonly field: { readonly current: HTMLInputElement | null };
}

function Field({ text, field }: FieldProps): ReactNode {
  const { typed, type, ask } = useTyped(text, restMs);
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        ask(typed);
        const found = field.current?.closest(".search");
        // The results may still be those of the previous text.
        if (found?.querySelector<HTMLElement>("[data-asked]")?.dataset["asked"] === askedFor(typed))
          found.querySelector<HTMLElement>("[data-hit]")?.click();
      }}
    >
      <input
        ref={field}
        className="field search-field"
        type="search"
        aria-label="Search text"
        placeholder="Search messages, results, items, objectives…"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={typed}
        onChange={(event) => type(event.target.value)}
      />
    </form>
  );
}

function Only({ id }: { readonly id: string }): ReactNode {
  const title = useSessionTitle(id);
  return (
    <p className="row wrap search-only">
      <span className="soft">Only in</span>
      <b className="said">{brief(title?.name ?? id, 80)}</b>
      <Button size="small" act={() => goWith({ in: null })}>
        Search everywhere
      </Button>
    </p>
  );
}

function Teach(): ReactNode {
  return (
    <div className="search-teach soft">
      <p>
        An event matches if it contains <b>every</b> word, in any order. The last word may be unfinished;{" "}
        <code>rate*</code> finds every word with that prefix. Case and accents are ignored.
      </p>
      <p>
        Covers messages, answers, tool results, items, objectives and memory, including rewound parts, and
        session names.
      </p>
      <p>
        <kbd className="key">↓</kbd> <kbd className="key">↑</kbd> move between results,{" "}
        <kbd className="key">Enter</kbd> opens it.
      </p>
    </div>
  );
}

interface AllFound {
  readonly hits: readonly Hit[];
  /** Positions in the workspace log of entries that are no longer in memory. */
  readonly gone: ReadonlySet<number>;
}

const none: ReadonlySet<number> = new Set();

function Found({ text, only }: { readonly text: string; readonly only: string | null }): ReactNode {
  const [most, setMost] = useState(firstHits);
  const asked = askedFor(text);
  const key = `search/${only ?? ""}/${most}/${asked}`;
  const reading = useReading(key, async (): Promise<AllFound> => {
    const hits = await engine.search(asked, { limit: most, ...(only === null ? {} : { session: only }) });
    return { hits, gone: hits.some(isOfMemory) ? outdated(hits, await engine.memory()) : none };
  });
  // While the next results load, the last ones stay, without flicker.
  const last = useRef<(AllFound & { readonly asked: string }) | null>(null);
  if (reading.value !== undefined) last.current = { ...reading.value, asked };
  const named = useNamed(only === null ? text : "");
  const shown = last.current === null ? reading : { ...reading, value: last.current };
  return (
    <div data-asked={last.current?.asked}>
      <Named rows={named} />
      <WhenRead of={reading.error === undefined ? shown : reading}>
        {({ hits, gone }) => (
          <Hits
            hits={hits}
            gone={gone}
            asked={last.current?.asked ?? asked}
            isOnly={only !== null}
            some={named.length > 0}
          >
            {hits.length < most || most >= hitsMax ? null : (
              <Button act={() => setMost(hitsMax)}>Show more</Button>
            )}
          </Hits>
        )}
      </WhenRead>
    </div>
  );
}

type Row = Awaited<ReturnType<typeof engine.sessions>>["rows"][number];

function useNamed(text: string): readonly Row[] {
  const asked = text.trim().slice(0, 200);
  const { value } = useReading(asked === "" ? null : `sessions/named/${asked}`, async () => {
    const { rows } = await engine.sessions({ text: asked, limit: namedMax });
    return rows;
  });
  const last = useRef<readonly Row[]>([]);
  if (value !== undefined) last.current = value;
  return asked === "" ? [] : last.current;
}

function Named({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  if (rows.length === 0) return null;
  return (
    <section className="search-named" aria-label="Sessions by name">
      {rows.map(({ session, name, objective, status }) => (
        <Link key={session} data-hit to={sessionPath(session)} className="search-session">
          <span className="cut" dir="auto">
            <b>{brief(name ?? objective ?? session, 80)}</b>{" "}
            {name === null ? null : <span className="faint">{brief(objective ?? "", 100)}</span>}
          </span>
          <Status status={status} />
        </Link>
      ))}
    </section>
  );
}

interface HitsProps extends AllFound {
  readonly asked: string;
  readonly isOnly: boolean;
  /** Sessions were found by name. */
  readonly some: boolean;
  readonly children: ReactNode;
}

function Hits({ hits, gone, asked, isOnly, some, children }: HitsProps): ReactNode {
  const groups = grouped(hits);
  if (hits.length === 0 && some) return null;
  if (hits.length === 0)
    return (
      <Empty title="No results">
        <p>Try fewer words, or a prefix with a star: pay*.</p>
      </Empty>
    );
  const where = isOnly ? "" : ` in ${plural(groups.length, "place")}`;
  return (
    <>
      <p className="soft small search-count" role="status">
        {plural(hits.length, "hit")}
        {where}, latest first
      </p>
      {groups.map((group) => (
        <HitGroup key={group.log} group={group} gone={gone} asked={asked} isOnly={isOnly} />
      ))}
      {children}
    </>
  );
}

interface HitGroupProps {
  readonly group: Group;
  readonly gone: AllFound["gone"];
  readonly asked: string;
  readonly isOnly: boolean;
}

function HitGroup({ group: { log, hits }, gone, asked, isOnly }: HitGroupProps): ReactNode {
  const isSession = log.startsWith("ses_");
  return (
    <section className="search-group">
      {isOnly ? null : isSession ? <GroupHead id={log} count={hits.length} /> : <h2>The workspace</h2>}
      <ul>
        {hits.map((hit) => (
          <li key={hit.seq} className="search-hit">
            <Link data-hit to={placeOf(hit)} className="search-snippet" dir="auto">
              {pieces(visible(hit.snippet), asked).map(({ text, isMeant }, place) =>
                isMeant ? <mark key={place}>{text}</mark> : text,
              )}
            </Link>
            <span className="search-about small faint">
              <span>{kindOf(hit.type)}</span>
              {hit.mind === "live" ? null : <span className="mark">{minds[hit.mind]}</span>}
              {isSession || !gone.has(hit.seq) ? null : <span className="mark">no longer in memory</span>}
              <Ago at={hit.at} />
              {isSession ? (
                <Link to={sessionPath(log, "log", { seq: hit.seq })}>position {hit.seq}</Link>
              ) : null}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const minds = { rewound: "rewound", compacted: "compacted" } as const;

function GroupHead({ id, count }: { readonly id: string; readonly count: number }): ReactNode {
  const title = useSessionTitle(id);
  return (
    <h2 className="row">
      <Link to={sessionPath(id)} className="cut" dir="auto">
        {brief(title?.name ?? shortId(id), 100)}
      </Link>
      {title?.labels["sample"] === "yes" ? <span className="mark">sample</span> : null}
      {count < 2 ? null : (
        <Button kind="quiet" size="small" act={() => goWith({ in: id })}>
          Only this session
        </Button>
      )}
    </h2>
  );
}

/** The URL of a match: a transcript, or the view of the workspace's data. */
function placeOf({ session, seq, type }: Hit): string {
  if (session.startsWith("ses_")) return sessionPath(session, "transcript", { to: seq });
  if (type.startsWith("agent.")) return "/agents";
  return type.startsWith("trigger.") ? "/triggers" : withParams("/memory", {});
}
