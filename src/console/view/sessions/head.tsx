/** Above the table: the totals, and the filter. */
import { Options } from "../../ui/form.tsx";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { statuses } from "../../../protocol/library.ts";
import { useRefusal } from "../../scopes.ts";
import { Link } from "../../link.tsx";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { goWith, withParams } from "../../route.ts";
import { engine } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after } from "../../world.ts";
import { isFiltered, labelsOf, labelsText, sortParams, sorts, type Filter, type ListSort } from "./filter.ts";
import { labelTrouble, leftOut } from "./filter-warnings.ts";
import type { Totals } from "./totals.ts";

interface HeadProps {
  readonly filter: Filter;
  readonly totals: Totals | undefined;
  readonly open: () => void;
  /** The progress. */
  readonly children: ReactNode;
}

export function Head({ filter, totals, open, children }: HeadProps): ReactNode {
  return (
    <header className="head sessions-head">
      <h1>Sessions</h1>
      {totals === undefined ? null : <Counts filter={filter} totals={totals} />}
      {children}
      <Link to="/import" className="button">
        Import
      </Link>
      <Button kind="main" act={open} refusal={useRefusal("engine.open")}>
        New session <kbd className="key sessions-key">n</kbd>
      </Button>
    </header>
  );
}

function Counts({ filter, totals }: { readonly filter: Filter; readonly totals: Totals }): ReactNode {
  const { all, running, asking, isMore } = totals;
  const more = isMore ? "+" : "";
  const onlyRunning = filter.statuses.length === 1 && filter.statuses[0] === "running" && !filter.asks;
  return (
    <p className="sessions-counts" role="status">
      <Link to="/" className="number sessions-all" aria-current={isFiltered(filter) ? undefined : "true"}>
        {count(all)} total
      </Link>
      <Link
        className="mark"
        data-tone={running > 0 ? "busy" : undefined}
        aria-current={onlyRunning ? "true" : undefined}
        to={onlyRunning ? "/" : withParams("/", { status: "running" })}
      >
        {count(running)}
        {more} running
      </Link>
      <Link
        className="mark"
        data-tone={asking > 0 ? "warn" : undefined}
        aria-current={filter.asks ? "true" : undefined}
        to={filter.asks ? "/" : withParams("/", { waits: "person" })}
      >
        {count(asking)}
        {more} waiting for a person
      </Link>
    </p>
  );
}

const typedMs = 180;

/** The typed text goes into the URL after a moment; changes of the URL go into the field. */
function useTyped(inAddress: string, say: (text: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(inAddress);
  const waiting = useRef<(() => void) | null>(null);
  useEffect(() => () => waiting.current?.(), []);
  useEffect(() => {
    if (waiting.current === null) setTyped(inAddress);
  }, [inAddress]);
  const change = (text: string): void => {
    setTyped(text);
    waiting.current?.();
    waiting.current = after(typedMs, () => {
      waiting.current = null;
      say(text);
    });
  };
  return [typed, change];
}

export function Filters({ filter }: { readonly filter: Filter }): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useTyped(filter.text, (q) => goWith({ q }, { replace: true }));
  useShortcuts([{ key: ".", what: "Filter the list", act: () => field.current?.focus() }]);
  return (
    <search className="sessions-filters">
      <input
        ref={field}
        type="search"
        className="field sessions-text"
        aria-label="Name or objective"
        placeholder="Filter by name or objective"
        maxLength={200}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter" || key === "Escape") currentTarget.blur();
        }}
      />
      <AgentField filter={filter} />
      <LabelField filter={filter} />
      <OrderField filter={filter} />
      <Statuses filter={filter} />
    </search>
  );
}

/** An incomplete label is reported once the field loses focus. */
function LabelField({ filter }: { readonly filter: Filter }): ReactNode {
  const id = useId();
  const [trouble, setTrouble] = useState<string | null>(null);
  const [label, setLabel] = useTyped(labelsText(filter.labels), (said) =>
    goWith({ label: labelsText(labelsOf(said)) }, { replace: true }),
  );
  const look = (): void => setTrouble(labelTrouble(label));
  return (
    <>
      <input
        className="field sessions-label"
        aria-label="Labels"
        aria-invalid={trouble !== null || undefined}
        aria-describedby={trouble === null ? undefined : id}
        placeholder="label=value"
        value={label}
        spellCheck={false}
        onBlur={look}
        onChange={({ target }) => {
          setLabel(target.value);
          if (trouble !== null) setTrouble(labelTrouble(target.value));
        }}
        onKeyDown={({ key }) => {
          if (key === "Enter") look();
        }}
      />
      {trouble === null ? null : (
        <p id={id} className="sessions-wrong" role="alert">
          {trouble}
        </p>
      )}
    </>
  );
}

/** The invalid parts of the URL. */
export function LeftOut({ params }: { readonly params: URLSearchParams }): ReactNode {
  const words = leftOut(params);
  if (words.length === 0) return null;
  return (
    <p className="sessions-cut sessions-wrong" role="status">
      {words.join(" ")} Ignored.
    </p>
  );
}

function AgentField({ filter }: { readonly filter: Filter }): ReactNode {
  const { value = [] } = useReading("agents", () => engine.agents());
  const names = [...new Set([...value.map(({ name }) => name), ...(filter.agent ? [filter.agent] : [])])];
  return (
    <select
      className="field sessions-agents"
      aria-label="Agent"
      value={filter.agent ?? ""}
      onChange={({ target }) => goWith({ agent: target.value })}
    >
      <Options of={names} none="Any agent" title={(name) => brief(name, 60)} />
    </select>
  );
}

const orders: Readonly<Record<ListSort, string>> = {
  active: "Last active",
  opened: "Last opened",
  name: "Name",
  status: "Status",
  priority: "Most urgent",
  cost: "Most expensive",
};

function OrderField({ filter }: { readonly filter: Filter }): ReactNode {
  return (
    <select
      className="field sessions-order"
      aria-label="Order"
      value={filter.sort}
      onChange={({ target }) => {
        const sort = sorts.find((one) => one === target.value) ?? "active";
        goWith({ ...sortParams(sort, filter.falls), dir: null });
      }}
    >
      <Options of={sorts} title={(sort) => orders[sort]} />
    </select>
  );
}

/** Each on or off; none selected means all. */
function Statuses({ filter }: { readonly filter: Filter }): ReactNode {
  const on = filter.asks ? [] : filter.statuses;
  const turn = (status: (typeof statuses)[number]): void => {
    const next = on.includes(status) ? on.filter((one) => one !== status) : [...on, status];
    goWith({ status: next.join(","), waits: null });
  };
  return (
    <div className="sessions-statuses" role="group" aria-label="Status">
      {statuses.map((status) => (
        <button
          key={status}
          type="button"
          className="sessions-status-choice"
          aria-pressed={on.includes(status)}
          onClick={() => turn(status)}
        >
          {status}
        </button>
      ))}
    </div>
  );
}
