/** The triggers of the session, its checkpoints, labels, scores and forks. */
import { shortId } from "../../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { Link } from "../../link.tsx";
import { Button } from "../../ui/button.tsx";
import type { FormSpec } from "../../ui/form-dialog.tsx";
import { Ago, Due, span } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { sessionPath } from "../../route.ts";
import { engine } from "../../server.ts";
import { filled } from "./session-menu.ts";
import { useScope, type Scope } from "./scope.ts";
import { Section, type Ask } from "./section.tsx";

export function Triggers({ ask }: { readonly ask: Ask }): ReactNode {
  const { id, session } = useScope();
  const { value = [] } = useReading(`session/${id}/triggers`, () => session.triggers());
  if (value.length === 0) return null;
  return (
    <Section title="Triggers" count={value.length}>
      {() => (
        <ul className="items">
          {value.map((trigger) => (
            <TriggerRow key={trigger.name} trigger={trigger} ask={ask} />
          ))}
        </ul>
      )}
    </Section>
  );
}

type Trigger = Awaited<ReturnType<Scope["session"]["triggers"]>>[number];

function TriggerRow({ trigger, ask }: { readonly trigger: Trigger; readonly ask: Ask }): ReactNode {
  const { session, reread } = useScope();
  const { name, kind, nextMs, firedAt } = trigger;
  const refusal = useRefusal("session.untrigger");
  const fire = async (): Promise<void> => {
    await session.fire(name);
    showToast("Fired.");
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
          {nextMs === null && firedAt === null ? `${kind}, not fired yet` : null}
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
            aria-label={`Remove ${brief(name, 60)}`}
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
  if (spec === null) return `${kind} (erased)`;
  if (spec.kind === "every") return `every ${span(spec.everyMs)}`;
  if (spec.kind === "cron")
    return `cron ${brief(spec.cron, 60)}${spec.zone === undefined ? "" : `, ${spec.zone}`}`;
  if (spec.kind === "at") return "once";
  const { kind: _, ...rest } = spec;
  return brief(`${kind} ${Object.values(rest).map(String).join(", ")}`, 120);
}

export const triggerForm = ({ session, reread, id }: Scope): FormSpec => ({
  title: "Add a trigger",
  lead: "Wakes the session when it fires.",
  fields: [
    { name: "name", label: "Name", required: true, placeholder: "morning" },
    {
      name: "kind",
      label: "When",
      kind: "choice",
      choices: [
        ["every", "At an interval"],
        ["cron", "By a cron expression"],
        ["at", "Once, at a time"],
      ],
    },
    { name: "minutes", label: "Interval in minutes", kind: "number", value: "60" },
    { name: "cron", label: "Cron expression", placeholder: "0 9 * * 1-5" },
    { name: "at", label: "Time", kind: "moment" },
  ],
  confirm: "Add",
  act: async (given) => {
    const { kind, minutes = "0", cron = "", at = "" } = filled(given, "kind", "minutes", "cron", "at");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const name = given["name"]?.trim() ?? "";
    if (kind === "at" && at === "") throw new Error("Time: required.");
    if (kind === "cron") await session.trigger(name, { kind, cron, zone });
    else if (kind === "at") await session.trigger(name, { kind, at: new Date(at).getTime() });
    else await session.trigger(name, { kind: "every", everyMs: Math.round(Number(minutes) * 60_000) });
    refresh(`session/${id}`);
    reread();
  },
});

export function Checkpoints(): ReactNode {
  const { id, state } = useScope();
  const all = Object.entries(state.checkpoints).toSorted(([, a], [, b]) => b - a);
  if (all.length === 0) return null;
  return (
    <Section title="Checkpoints" count={all.length}>
      {() => (
        <ul className="items">
          {all.map(([name, seq]) => (
            <li key={name} className="item">
              <Link className="spread" to={sessionPath(id, "transcript", { at: seq })} dir="auto">
                {brief(name, 80)}
              </Link>
              <span className="faint small number">{seq}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

export function Labels({ ask }: { readonly ask: Ask }): ReactNode {
  const { session, state, reread } = useScope();
  const all = Object.entries(state.labels);
  if (all.length === 0) return null;
  return (
    <Section title="Labels" count={all.length}>
      {() => (
        <ul className="labels">
          {all.map(([key, value]) => (
            <li key={key} className="mark">
              {brief(value === "" ? key : `${key}=${value}`, 80)}
              {ask === null ? null : (
                <button
                  type="button"
                  className="label-drop"
                  aria-label={`Remove the label ${brief(key, 60)}`}
                  onClick={() => void session.label({}, { remove: [key] }).then(reread, showError)}
                >
                  ×
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

export const labelForm = ({ session, reread }: Scope): FormSpec => ({
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

export function Scores(): ReactNode {
  const all = Object.entries(useScope().state.scores);
  if (all.length === 0) return null;
  return (
    <Section title="Scores" count={all.length}>
      {() => (
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
      )}
    </Section>
  );
}

export const scoreForm = ({ session, reread }: Scope): FormSpec => ({
  title: "Add a score",
  fields: [
    { name: "name", label: "Name", required: true, placeholder: "usefulness" },
    { name: "value", label: "Number", required: true, placeholder: "0.8" },
    { name: "because", label: "Reason" },
  ],
  confirm: "Add",
  act: async (given) => {
    const value = Number(given["value"]);
    if (!Number.isFinite(value)) throw new Error("Number: expected a number such as 0.8 or -1.");
    await session.score(given["name"]?.trim() ?? "", value, filled(given, "because"));
    reread();
  },
});

/** The parent and the forks. */
export function Forks(): ReactNode {
  const { id, state } = useScope();
  const { value } = useReading(`lineage/${id}`, () => engine.lineage(id));
  const forks = value?.nodes.filter(({ parent }) => parent?.session === id) ?? [];
  if (state.fork === null && forks.length === 0) return null;
  return (
    <Section title="Forks" count={forks.length} isOpen={false}>
      {() => (
        <ul className="items">
          {state.fork === null ? null : (
            <li className="item">
              <span className="soft">Forked from</span>
              <Link
                className="spread"
                to={sessionPath(state.fork.parent, "transcript", { to: state.fork.seq })}
              >
                {shortId(state.fork.parent)}@{state.fork.seq}
              </Link>
            </li>
          )}
          {forks.map(({ session, name, objective, status, parent }) => (
            <li key={session} className="item">
              <Link className="spread cut" to={sessionPath(session)} dir="auto">
                {brief(name ?? objective ?? shortId(session), 80)}
              </Link>
              <span className="faint small number">at {parent?.seq}</span>
              <Status status={status} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
