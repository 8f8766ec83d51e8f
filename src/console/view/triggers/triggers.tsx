/** Triggers: templates, which open sessions, and sessions with triggers. */
import { useState, type ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { Link } from "../../link.tsx";
import { count } from "../../ui/amount.ts";
import { AskFirst } from "../../ui/confirm.tsx";
import { Button } from "../../ui/button.tsx";
import { Ago, Due, exact } from "../../ui/moment.tsx";
import { PlaceHead } from "../../ui/page-header.tsx";
import { PortionList } from "../../ui/show-more.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { Status } from "../../ui/status.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { go, sessionPath } from "../../route.ts";
import { engine, sessionOf } from "../../server.ts";
import { useHeard } from "../use-refetch-on-event.ts";
import { useRowKeys } from "../row-keys.ts";
import { TemplateDialog } from "./form.tsx";
import { specWords } from "./spec.ts";
import { readWaiting, type SessionListRow } from "./waiting.ts";
import "../../ui/page.css";

type Template = Awaited<ReturnType<typeof engine.triggers>>[number];

export function Triggers(): ReactNode {
  const [isAdding, setAdding] = useState(false);
  const templates = useReading("triggers/templates", () => engine.triggers());
  const waiting = useReading("triggers/sessions", () => readWaiting(engine));
  useRowKeys(".places-row");
  useHeard(/^(?:trigger|session)\./, ["triggers"]);
  return (
    <div className="places">
      <PlaceHead title="Triggers" does="New template" act={() => setAdding(true)} needs="engine.trigger" />
      <section>
        <h2>Templates</h2>
        <p className="soft">Each opens a new session when it fires.</p>
        <WhenRead of={templates}>{(list) => <Templates list={list} />}</WhenRead>
      </section>
      <section>
        <h2>Sessions with triggers</h2>
        <WhenRead of={waiting}>
          {({ rows, left }) => (
            <>
              <WaitingSessions rows={rows} />
              {left === null ? null : (
                <p className="faint">Searched the {count(left)} most recently active; there are more.</p>
              )}
            </>
          )}
        </WhenRead>
      </section>
      {isAdding ? <TemplateDialog close={() => setAdding(false)} /> : null}
    </div>
  );
}

function Templates({ list }: { readonly list: readonly Template[] }): ReactNode {
  if (list.length === 0)
    return (
      <Empty title="No templates yet">
        <p>A template opens sessions automatically: every morning, once an hour, or on a webhook call.</p>
      </Empty>
    );
  return (
    <PortionList of={list}>
      {(template) => <TemplateRow key={template.name} template={template} />}
    </PortionList>
  );
}

function TemplateRow({ template }: { readonly template: Template }): ReactNode {
  const { name, spec, open, nextMs, fired } = template;
  const fire = async (): Promise<void> => {
    const session = await engine.fire(name);
    refresh("triggers");
    showToast("Session opened.", { name: "View", act: () => go(sessionPath(session.id)) });
  };
  const remove = async (): Promise<void> => {
    await engine.untrigger(name);
    refresh("triggers");
    showToast(`Template ${brief(name, 60)} removed.`);
  };
  return (
    <li tabIndex={-1} className="places-row">
      <div className="spread">
        <p className="row wrap">
          <b className="said">{brief(name, 80)}</b>
          {open?.labels?.["sample"] === "yes" ? <span className="mark">sample</span> : null}
          <span className="soft">{specWords(spec, exact)}</span>
        </p>
        <p className="said">{open === null ? "" : brief(open.objective, 200)}</p>
        <p className="faint small places-when">
          {nextMs === null ? null : (
            <span>
              Next <Due at={nextMs} />
            </span>
          )}
          {fired === null ? <span>Not fired yet</span> : <Fired fired={fired} />}
        </p>
      </div>
      <FireOrRemove what="template" name={name} fire={fire} remove={remove}>
        It no longer fires. Sessions it opened continue.
      </FireOrRemove>
    </li>
  );
}

function Fired({ fired }: { readonly fired: NonNullable<Template["fired"]> }): ReactNode {
  return (
    <span>
      Fired <Ago at={fired.at} />
      {fired.opened === null ? null : (
        <>
          , opened <SessionName id={fired.opened} />
        </>
      )}
    </span>
  );
}

function WaitingSessions({ rows }: { readonly rows: readonly SessionListRow[] }): ReactNode {
  if (rows.length === 0)
    return <p className="soft">None. Add a trigger on a session's page, or when you open it.</p>;
  return <PortionList of={rows}>{(row) => <WaitingRow key={row.session} row={row} />}</PortionList>;
}

function WaitingRow({ row }: { readonly row: SessionListRow }): ReactNode {
  const { session, name, objective, status, triggers, dueMs, labels } = row;
  const reading = useReading(`triggers/of/${session}`, async () => (await sessionOf(session)).triggers());
  return (
    <li tabIndex={-1} className="places-row places-stack">
      <p className="row wrap">
        <Link to={sessionPath(session)} dir="auto">
          {brief(name ?? objective ?? session, 100)}
        </Link>
        <Status status={status} />
        {labels["sample"] === "yes" ? <span className="mark">sample</span> : null}
        {dueMs === null ? null : (
          <span className="faint small">
            due <Due at={dueMs} />
          </span>
        )}
      </p>
      {reading.value === undefined ? (
        <p className="soft said">{brief(triggers ?? "", 200)}</p>
      ) : (
        <ul>
          {reading.value.map((trigger) => (
            <OwnTrigger key={trigger.name} session={session} trigger={trigger} />
          ))}
        </ul>
      )}
    </li>
  );
}

type Trigger = Awaited<ReturnType<Awaited<ReturnType<typeof sessionOf>>["triggers"]>>[number];

interface OwnTriggerProps {
  readonly session: string;
  readonly trigger: Trigger;
}

function OwnTrigger({ session, trigger }: OwnTriggerProps): ReactNode {
  const { name, spec, firedAt } = trigger;
  const fire = async (): Promise<void> => {
    await (await sessionOf(session)).fire(name);
    refresh("triggers");
    showToast(`${brief(name, 60)} fired: the session got its input and woke up.`);
  };
  const remove = async (): Promise<void> => {
    await (await sessionOf(session)).untrigger(name);
    refresh("triggers");
    showToast(`Trigger ${brief(name, 60)} removed.`);
  };
  return (
    <li className="row wrap">
      <span className="spread">
        <span className="said">{brief(name, 80)}</span>
        <span className="soft"> {specWords(spec, exact)} </span>
        {firedAt === null ? null : (
          <span className="faint small">
            fired <Ago at={firedAt} />
          </span>
        )}
      </span>
      <FireOrRemove what="trigger" name={name} fire={fire} remove={remove}>
        It no longer wakes the session. Past effects remain.
      </FireOrRemove>
    </li>
  );
}

interface FireOrRemoveProps {
  readonly what: "template" | "trigger";
  readonly name: string;
  readonly fire: () => Promise<void>;
  readonly remove: () => Promise<void>;
  /** What removing it means. */
  readonly children: ReactNode;
}

function FireOrRemove({ what, name, fire, remove, children }: FireOrRemoveProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const firing = useRefusal(what === "template" ? "engine.fire" : "session.fire");
  const removing = useRefusal(what === "template" ? "engine.untrigger" : "session.untrigger");
  return (
    <div className="row">
      <Button size="small" act={fire} refusal={firing}>
        Fire now
      </Button>
      <Button size="small" kind="quiet" act={() => setAsking(true)} refusal={removing}>
        Remove
      </Button>
      {isAsking ? (
        <AskFirst
          title={`Remove ${brief(name, 60)}?`}
          does={`Remove ${what}`}
          act={remove}
          close={() => setAsking(false)}
        >
          <p>{children}</p>
        </AskFirst>
      ) : null}
    </div>
  );
}
