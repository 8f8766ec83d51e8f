/** The triggers of the session, its checkpoints, labels, scores and forks. */
import { shortId } from "../../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { Link } from "../../link.tsx";
import { Button } from "../../ui/button.tsx";
import type { Form } from "../../ui/form-dialog.tsx";
import { Ago, Due, span } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { tell, tellError } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { sessionPath } from "../../route.ts";
import { engine } from "../../server.ts";
import { filled } from "./session-menu.ts";
import { useScope, type Scope } from "./scope.ts";
import { AskButton, Section, type Ask } from "./section.tsx";

export function Triggers({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const refusal = useRefusal("session.trigger");
  const deeds = (
    <AskButton ask={ask} form={() => triggerForm(scope)} label="Add a trigger" refusal={refusal}>
      Add
    </AskButton>
  );
  return (
    <Section title="Triggers" isOpen={false} deeds={deeds}>
      {() => <TriggerList ask={ask} />}
    </Section>
  );
}

type Trigger = Awaited<ReturnType<Scope["session"]["triggers"]>>[number];

function TriggerList({ ask }: { readonly ask: Ask }): ReactNode {
  const { id, session } = useScope();
  const { value } = useReading(`session/${id}/triggers`, () => session.triggers());
  if (value === undefined) return <p className="faint small">Reading…</p>;
  if (value.length === 0)
    return (
      <p className="faint small">
        A trigger wakes it: at a time, again and again, or when something changes.
      </p>
    );
  return (
    <ul className="items">
      {value.map((trigger) => (
        <TriggerRow key={trigger.name} trigger={trigger} ask={ask} />
      ))}
    </ul>
  );
}

function TriggerRow({ trigger, ask }: { readonly trigger: Trigger; readonly ask: Ask }): ReactNode {
  const { session, reread } = useScope();
  const { name, kind, nextMs, firedAt } = trigger;
  const refusal = useRefusal("session.untrigger");
  const fire = async (): Promise<void> => {
    await session.fire(name);
    tell("Fired.");
    reread();
  };
  return (
    <li className="item">
      <div className="spread">
        <span className="item-key" dir="auto">
          {brief(name, 80)}
        </span>
        <p className="small soft">{specWords(trigger)}</p>
        <p className="small faint">
          {nextMs === null ? null : (
            <>
              next <Due at={nextMs} />
            </>
          )}
          {nextMs !== null && firedAt !== null ? ", " : null}
          {firedAt === null ? null : (
            <>
              fired <Ago at={firedAt} />
            </>
          )}
          {nextMs === null && firedAt === null ? `${kind}, has not fired yet` : null}
        </p>
      </div>
      {ask === null ? null : (
        <>
          <Button kind="quiet" size="small" aria-label={`Fire ${brief(name, 60)}`} act={fire}>
            Fire
          </Button>
          <Button
            kind="quiet"
            size="small"
            aria-label={`Take away ${brief(name, 60)}`}
            refusal={refusal}
            act={() => session.untrigger(name).then(reread)}
          >
            ×
          </Button>
        </>
      )}
    </li>
  );
}

function specWords({ spec, kind }: Trigger): string {
  if (spec === null) return `${kind}; what it watched was erased`;
  if (spec.kind === "every") return `every ${span(spec.everyMs)}`;
  if (spec.kind === "cron")
    return `cron ${brief(spec.cron, 60)}${spec.zone === undefined ? "" : `, ${spec.zone}`}`;
  if (spec.kind === "at") return "once";
  const { kind: _, ...rest } = spec;
  return brief(`${kind} ${Object.values(rest).map(String).join(", ")}`, 120);
}

const triggerForm = ({ session, reread, id }: Scope): Form => ({
  title: "Add a trigger",
  lead: "It wakes the session when it sleeps, and tells it why.",
  fields: [
    { name: "name", label: "Name", required: true, placeholder: "morning" },
    {
      name: "kind",
      label: "When",
      kind: "choice",
      choices: [
        ["every", "Every so many minutes"],
        ["cron", "By a cron line"],
        ["at", "Once, at a time"],
      ],
    },
    { name: "minutes", label: "Minutes, for every", kind: "number", value: "60" },
    { name: "cron", label: "Cron line, for cron", placeholder: "0 9 * * 1-5" },
    { name: "at", label: "Time, for once", kind: "moment" },
  ],
  confirm: "Add",
  act: async (given) => {
    const { kind, minutes = "0", cron = "", at = "" } = filled(given, "kind", "minutes", "cron", "at");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const name = given["name"]?.trim() ?? "";
    if (kind === "at" && at === "") throw new Error("Time, for once: this is missing.");
    if (kind === "cron") await session.trigger(name, { kind, cron, zone });
    else if (kind === "at") await session.trigger(name, { kind, at: new Date(at).getTime() });
    else await session.trigger(name, { kind: "every", everyMs: Math.round(Number(minutes) * 60_000) });
    refresh(`session/${id}`);
    reread();
  },
});

export function Checkpoints({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const all = Object.entries(scope.state.checkpoints).toSorted(([, a], [, b]) => b - a);
  const deeds = (
    <AskButton ask={ask} form={() => checkpointForm(scope)} label="Save a checkpoint">
      Save
    </AskButton>
  );
  return (
    <Section title="Checkpoints" count={all.length} isOpen={all.length > 0} deeds={deeds}>
      {() =>
        all.length === 0 ? (
          <p className="faint small">Positions with a name, to go back to or to fork from.</p>
        ) : (
          <ul className="items">
            {all.map(([name, seq]) => (
              <li key={name} className="item">
                <Link className="spread" to={sessionPath(scope.id, "transcript", { at: seq })} dir="auto">
                  {brief(name, 80)}
                </Link>
                <span className="faint small number">{seq}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Section>
  );
}

const checkpointForm = ({ session, reread }: Scope): Form => ({
  title: "Save a checkpoint",
  fields: [
    { name: "name", label: "Name", required: true },
    { name: "note", label: "Note", kind: "text" },
  ],
  confirm: "Save",
  act: async (given) => {
    await session.save(given["name"]?.trim() ?? "", filled(given, "note"));
    reread();
  },
});

export function Labels({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const { session, state, reread } = scope;
  const all = Object.entries(state.labels);
  const deeds = (
    <AskButton ask={ask} form={() => labelForm(scope)} label="Add a label">
      Add
    </AskButton>
  );
  return (
    <Section title="Labels" count={all.length} isOpen={all.length > 0} deeds={deeds}>
      {() =>
        all.length === 0 ? (
          <p className="faint small">Words by which sessions are found again, such as team=web.</p>
        ) : (
          <ul className="labels">
            {all.map(([key, value]) => (
              <li key={key} className="mark">
                {brief(value === "" ? key : `${key}=${value}`, 80)}
                {ask === null ? null : (
                  <button
                    type="button"
                    className="label-drop"
                    aria-label={`Take away the label ${brief(key, 60)}`}
                    onClick={() => void session.label({}, { remove: [key] }).then(reread, tellError)}
                  >
                    ×
                  </button>
                )}
              </li>
            ))}
          </ul>
        )
      }
    </Section>
  );
}

const labelForm = ({ session, reread }: Scope): Form => ({
  title: "Add a label",
  fields: [
    { name: "key", label: "Label", required: true, placeholder: "team" },
    { name: "value", label: "Value", placeholder: "web" },
  ],
  confirm: "Add",
  act: async (given) => {
    await session.label({ [given["key"]?.trim() ?? ""]: given["value"]?.trim() ?? "" });
    reread();
  },
});

export function Scores({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const all = Object.entries(scope.state.scores);
  const deeds = (
    <AskButton ask={ask} form={() => scoreForm(scope)} label="Add a score">
      Add
    </AskButton>
  );
  return (
    <Section title="Scores" count={all.length} isOpen={all.length > 0} deeds={deeds}>
      {() =>
        all.length === 0 ? (
          <p className="faint small">A judgment of it: a name and a number.</p>
        ) : (
          <dl className="facts">
            {all.map(([name, { value, seq }]) => (
              <div key={name} className="score">
                <dt dir="auto">{brief(name, 60)}</dt>
                <dd className="number">
                  {value} <span className="faint small">at {seq}</span>
                </dd>
              </div>
            ))}
          </dl>
        )
      }
    </Section>
  );
}

const scoreForm = ({ session, reread }: Scope): Form => ({
  title: "Add a score",
  fields: [
    { name: "name", label: "Name", required: true, placeholder: "usefulness" },
    { name: "value", label: "Number", required: true, placeholder: "0.8" },
    { name: "because", label: "Why" },
  ],
  confirm: "Add",
  act: async (given) => {
    const value = Number(given["value"]);
    if (!Number.isFinite(value)) throw new Error("A score is a number, such as 0.8 or -1.");
    await session.score(given["name"]?.trim() ?? "", value, filled(given, "because"));
    reread();
  },
});

export function Forks(): ReactNode {
  return (
    <Section title="Forks" isOpen={false}>
      {() => <ForkList />}
    </Section>
  );
}

function ForkList(): ReactNode {
  const { id, state } = useScope();
  const { value } = useReading(`lineage/${id}`, () => engine.lineage(id));
  const forks = value?.nodes.filter(({ parent }) => parent?.session === id);
  return (
    <ul className="items">
      {state.fork === null ? null : (
        <li className="item">
          <span className="soft">Forked from</span>
          <Link className="spread" to={sessionPath(state.fork.parent, "transcript", { to: state.fork.seq })}>
            {shortId(state.fork.parent)}@{state.fork.seq}
          </Link>
        </li>
      )}
      {forks?.map(({ session, name, objective, status, parent }) => (
        <li key={session} className="item">
          <Link className="spread cut" to={sessionPath(session)} dir="auto">
            {brief(name ?? objective ?? shortId(session), 80)}
          </Link>
          <span className="faint small number">at {parent?.seq}</span>
          <Status status={status} />
        </li>
      ))}
      {forks?.length === 0 ? (
        <li className="faint small">None. A fork goes its own way from a position.</li>
      ) : null}
      {value === undefined ? <li className="faint small">Reading…</li> : null}
    </ul>
  );
}
