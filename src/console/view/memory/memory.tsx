/** Memory: what later sessions carry, its origin, and forgetting it. */
import { Options } from "../../ui/form.tsx";
import { shortId } from "../../../core/text/short-id.ts";
import { useState, type ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { plural } from "../../ui/amount.ts";
import { AskFirst } from "../../ui/confirm.tsx";
import { Button } from "../../ui/button.tsx";
import { actorWords } from "../../ui/event-summary.ts";
import { Ago } from "../../ui/moment.tsx";
import { PlaceHead } from "../../ui/page-header.tsx";
import { Portion } from "../../ui/show-more.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { goWith } from "../../route.ts";
import { engine } from "../../server.ts";
import { useHeard } from "../use-refetch-on-event.ts";
import { useRowKeys } from "../row-keys.ts";
import { RememberDialog, scopes } from "./form.tsx";
import { useTyped } from "../query-field.ts";
import "../../ui/page.css";

type Entry = Awaited<ReturnType<typeof engine.memory>>[number];

export function Memory({ params }: { readonly params: URLSearchParams }): ReactNode {
  const [isAdding, setAdding] = useState(false);
  const text = params.get("q") ?? "";
  const scope = scopes.find((one) => one === params.get("scope"));
  const owner = params.get("owner");
  const reading = useReading(`memory/${scope ?? ""}/${owner ?? ""}/${text}`, () =>
    engine.memory({
      ...(text.trim() === "" ? {} : { text }),
      ...(scope === undefined ? {} : { scope }),
      ...(owner === null ? {} : { owner }),
    }),
  );
  useRowKeys(".places-row");
  useHeard(/^memory\./, ["memory"]);
  const isFiltered = text.trim() !== "" || scope !== undefined || owner !== null;
  return (
    <div className="places">
      <PlaceHead
        title="Memory"
        does="Add"
        what="Add to memory"
        act={() => setAdding(true)}
        needs="engine.remember"
      />
      <Filter text={text} scope={scope ?? ""} owner={owner} />
      <WhenRead of={reading}>{(entries) => <Entries entries={entries} isFiltered={isFiltered} />}</WhenRead>
      {isAdding ? <RememberDialog close={() => setAdding(false)} /> : null}
    </div>
  );
}

interface FilterProps {
  readonly text: string;
  readonly scope: string;
  readonly owner: string | null;
}

const restMs = 200;

function Filter({ text, scope, owner }: FilterProps): ReactNode {
  const { typed, type } = useTyped(text, restMs);
  return (
    <div className="places-filter">
      <input
        className="field"
        type="search"
        aria-label="Search memory"
        placeholder="Search memory"
        value={typed}
        onChange={({ target }) => type(target.value)}
      />
      <select
        className="field"
        aria-label="Scope"
        value={scope}
        onChange={({ target }) => goWith({ scope: target.value })}
      >
        <Options of={scopes} none="All scopes" />
      </select>
      {owner === null ? null : <Button act={() => goWith({ owner: null })}>All owners</Button>}
    </div>
  );
}

interface EntriesProps {
  readonly entries: readonly Entry[];
  readonly isFiltered: boolean;
}

function Entries({ entries, isFiltered }: EntriesProps): ReactNode {
  if (entries.length === 0 && isFiltered)
    return (
      <Empty title="No matching entries">
        <Button act={() => goWith({ q: null, scope: null, owner: null })}>Show all</Button>
      </Empty>
    );
  if (entries.length === 0)
    return (
      <Empty title="Memory is empty">
        <p>
          New sessions carry the entries that are relevant to their objective. Promote an item of a session,
          let an agent do so, or add an entry here.
        </p>
      </Empty>
    );
  return (
    <>
      <p className="soft small" role="status">
        {plural(entries.length, "entry", "entries")}, newest first
      </p>
      <Portion of={entries}>
        {(shown) => (
          <ul>
            {shown.map((entry) => (
              <EntryRow
                key={`${entry.scope} ${entry.owner ?? ""} ${entry.kind} ${entry.key}`}
                entry={entry}
              />
            ))}
          </ul>
        )}
      </Portion>
    </>
  );
}

function EntryRow({ entry }: { readonly entry: Entry }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const refusal = useRefusal("engine.forget");
  const { scope, owner, kind, key, value, because, erased, origin, actor, at } = entry;
  const forget = async (): Promise<void> => {
    await engine.forget({ scope, kind, key, ...(owner === null ? {} : { owner }) });
    refresh("memory");
    showToast(`${brief(key, 60)} forgotten.`);
  };
  return (
    <li tabIndex={-1} className="places-row">
      <div className="spread">
        <p className="row wrap">
          <b className="said">{brief(key, 120)}</b>
          <span className="mark">{kind}</span>
          <Scope scope={scope} owner={owner} />
        </p>
        {erased ? <p className="faint">Content erased.</p> : <Value value={value} />}
        {because === null ? null : <p className="soft said">Because {brief(because, 400)}</p>}
        <p className="faint small places-when">
          <Ago at={at} />
          <span>by {actorWords(actor)}</span>
          {origin === null ? <span>added by hand</span> : <Origin origin={origin} />}
        </p>
      </div>
      <Button
        size="small"
        kind="quiet"
        act={() => setAsking(true)}
        refusal={refusal}
        aria-label={`Forget ${brief(key, 60)}`}
      >
        Forget
      </Button>
      {isAsking ? (
        <AskFirst
          title={`Forget ${brief(key, 60)}?`}
          does="Forget"
          act={forget}
          close={() => setAsking(false)}
        >
          <p>New sessions no longer carry it. Sessions that already carry it keep it.</p>
        </AskFirst>
      ) : null}
    </li>
  );
}

const shownChars = 600;

function Value({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "string") return <Said text={value} chars={shownChars} />;
  return <Json value={value} chars={shownChars} />;
}

function Scope({ scope, owner }: Pick<Entry, "scope" | "owner">): ReactNode {
  if (owner === null) return <span className="mark">{scope}</span>;
  return (
    <button type="button" className="mark places-owner" onClick={() => goWith({ scope, owner })}>
      {scope} {brief(scope === "user" ? shortId(owner) : owner, 40)}
    </button>
  );
}

function Origin({ origin }: { readonly origin: NonNullable<Entry["origin"]> }): ReactNode {
  return (
    <span>
      from <SessionName id={origin.session} to={origin.seq} />
    </span>
  );
}
