/** Memory: what later sessions carry, and what waits to be remembered. */
import { Options } from "../../ui/form.tsx";
import { useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { PlaceHead } from "../../ui/page-header.tsx";
import { Portion } from "../../ui/show-more.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { useReading } from "../../query-cache.ts";
import { goWith } from "../../route.ts";
import { engine } from "../../server.ts";
import { useHeard } from "../use-refetch-on-event.ts";
import { useRowKeys } from "../row-keys.ts";
import { EntryRow, type Entry } from "./entry.tsx";
import { RememberDialog, scopes } from "./form.tsx";
import { Queue } from "./queue.tsx";
import { Review } from "./review.tsx";
import { useTyped } from "../query-field.ts";
import "../../ui/page.css";

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
      <Queue />
      <Review />
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
