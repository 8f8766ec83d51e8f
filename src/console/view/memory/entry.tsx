/** One entry of memory: its value, its origin, editing and forgetting it. */
import { shortId } from "../../../core/text/short-id.ts";
import { useState, type ReactNode } from "react";
import { useRefusal, useScopeRefusal } from "../../scopes.ts";
import { AskFirst } from "../../ui/confirm.tsx";
import { Button } from "../../ui/button.tsx";
import { actorWords } from "../../ui/event-summary.ts";
import { Ago } from "../../ui/moment.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { showToast } from "../../ui/toast.tsx";
import { plural } from "../../ui/amount.ts";
import { brief, visible } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { goWith } from "../../route.ts";
import { engine } from "../../server.ts";
import { EditDialog } from "./edit.tsx";

export type Entry = Awaited<ReturnType<typeof engine.memory>>[number];

export function EntryRow({ entry }: { readonly entry: Entry }): ReactNode {
  const [asking, setAsking] = useState<"forget" | "edit" | null>(null);
  const refusal = useRefusal("engine.forget");
  const mayEdit = useRefusal("engine.remember");
  const mayShare = useScopeRefusal("operate");
  const { scope, owner, kind, key, value, because, erased, origin, actor, at, approvedBy } = entry;
  const forget = async (): Promise<void> => {
    await engine.forget({ scope, kind, key, ...(owner === null ? {} : { owner }) });
    refresh("memory");
    refresh("memory-review");
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
          {approvedBy === undefined ? null : <span>approved by {actorWords(approvedBy)}</span>}
        </p>
      </div>
      <div className="row">
        <Button
          size="small"
          kind="quiet"
          act={() => setAsking("edit")}
          refusal={scope === "workspace" ? mayShare : mayEdit}
          aria-label={`Edit ${brief(key, 60)}`}
        >
          Edit
        </Button>
        <Button
          size="small"
          kind="quiet"
          act={() => setAsking("forget")}
          refusal={refusal}
          aria-label={`Forget ${brief(key, 60)}`}
        >
          Forget
        </Button>
      </div>
      <Carriers entry={entry} />
      {asking === "edit" ? <EditDialog entry={entry} close={() => setAsking(null)} /> : null}
      {asking === "forget" ? (
        <AskFirst
          title={`Forget ${brief(key, 60)}?`}
          does="Forget"
          act={forget}
          close={() => setAsking(null)}
        >
          <p>New sessions no longer carry it. Open sessions that carry it are told at their next turn.</p>
        </AskFirst>
      ) : null}
    </li>
  );
}

/** Which sessions carry it; looked up when it is opened. */
function Carriers({ entry }: { readonly entry: Entry }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="memory-carriers small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Carried by</summary>
      {isOpen ? <CarrierList entry={entry} /> : null}
    </details>
  );
}

function CarrierList({ entry }: { readonly entry: Entry }): ReactNode {
  const { scope, owner, kind, key, seq } = entry;
  const { value: page, error } = useReading(`memory-carriers ${seq}`, () =>
    engine.memoryCarriers({ scope, kind, key, ...(owner === null ? {} : { owner }) }),
  );
  if (error !== undefined) return <p className="faint">{visible(error.message)}</p>;
  if (page === undefined) return <p className="faint">Looking…</p>;
  const { carriers, looked, cursor } = page;
  return (
    <>
      <ul>
        {carriers.map((one) => (
          <li key={one.session}>
            <SessionName id={one.session} to={one.seq} />
            {one.current ? null : <span className="faint"> · an older value</span>}
          </li>
        ))}
      </ul>
      <p className="faint">
        {plural(carriers.length, "session")} of the {looked} looked at
        {cursor === null ? "" : ", the most recently active"}
      </p>
    </>
  );
}

const shownChars = 600;

export function Value({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "string") return <Said text={value} chars={shownChars} />;
  return <Json value={value} chars={shownChars} />;
}

export function Scope({ scope, owner }: Pick<Entry, "scope" | "owner">): ReactNode {
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
