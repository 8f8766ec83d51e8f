/** The side panel: what the session knows and has; behind a button on narrow screens. */
import { useRef, useState, type ReactNode } from "react";
import { mayIn } from "../../../protocol/library.ts";
import { Link } from "../../link.tsx";
import { count } from "../../ui/amount.ts";
import { FormDialog, type FormSpec } from "../../ui/form-dialog.tsx";
import { Button } from "../../ui/button.tsx";
import { Said } from "../../ui/untrusted-text.tsx";
import { Zone } from "../../ui/status.tsx";
import { WindowBar } from "../../ui/window-bar.tsx";
import { useReading } from "../../query-cache.ts";
import { sessionPath } from "../../route.ts";
import { contextKey, readContext } from "../time/context-reading.ts";
import { useMe } from "./entry.tsx";
import { PanelAdd } from "./panel-add.tsx";
import { Items } from "./panel-items.tsx";
import { Bindings, Budget, Permissions } from "./panel-resources.tsx";
import { Checkpoints, Forks, Labels, Scores, Triggers } from "./panel-more.tsx";
import { useScope } from "./scope.ts";
import { Section, type Ask } from "./section.tsx";
import { splitForm } from "./session-menu.ts";
import { mayWrite } from "./standing.tsx";

export function Panel(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <aside className="panel" data-open={isOpen || undefined} aria-label="Session details">
      <button
        type="button"
        className="button panel-turn"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        Details
      </button>
      <div className="panel-body">
        <Sections />
      </div>
    </aside>
  );
}

function Sections(): ReactNode {
  const { at, state } = useScope();
  const me = useMe();
  const [form, setForm] = useState<FormSpec | null>(null);
  const may = (command: "write" | "describe"): Ask =>
    at === null && state.newer === null && mayWrite(me) && mayIn(state.status, command) ? setForm : null;
  return (
    <>
      <Objective add={<PanelAdd write={may("write")} describe={may("describe")} />} />
      <Window ask={may("describe")} />
      <Items ask={may("write")} />
      <Budget ask={may("write")} />
      <Triggers ask={may("write")} />
      <Bindings ask={may("write")} />
      <Permissions ask={may("write")} />
      <Checkpoints />
      <Labels ask={may("describe")} />
      <Scores />
      <Forks />
      {form === null ? null : <FormDialog form={form} close={() => setForm(null)} />}
    </>
  );
}

function Objective({ add }: { readonly add: ReactNode }): ReactNode {
  const { objective } = useScope().state;
  return (
    <Section title="Objective" actions={add}>
      {() =>
        objective === null || objective === "" ? (
          <p className="faint">None, or erased.</p>
        ) : (
          <Said text={objective} chars={1_200} />
        )
      }
    </Section>
  );
}

/** Read again after a turn or step; the last one stays until then. */
function Window({ ask }: { readonly ask: Ask }): ReactNode {
  const { id, at } = useScope();
  return (
    <Section
      title="Context window"
      actions={
        <Link className="small" to={sessionPath(id, "context", { at })}>
          Context
        </Link>
      }
    >
      {() => <WindowNow ask={ask} />}
    </Section>
  );
}

function WindowNow({ ask }: { readonly ask: Ask }): ReactNode {
  const scope = useScope();
  const { id, session, at, state, isDrawn } = scope;
  const { turn } = state;
  const when =
    turn === null
      ? `turn-end-${state.transcript.ranges.at(-1)?.[1] ?? 0}`
      : `step-${turn.number}.${turn.steps}`;
  const compactions = state.transcript.compactions;
  // In the past it is the same as in the timeline: what the model was last sent.
  const key = at === null ? `window/${id}/${when}/${compactions}` : contextKey(id, "sent", at);
  const reading = useReading(isDrawn ? null : key, () =>
    at === null ? session.context() : readContext(session, at, "sent"),
  );
  const last = useRef(reading.value);
  if (reading.value !== undefined) last.current = reading.value;
  const context = last.current;
  if (context === undefined)
    return <p className="faint small">{reading.error === undefined ? "Loading…" : "Not available."}</p>;
  const { tokens, windowTokens } = context;
  return (
    <>
      <p className="small number panel-window">
        {count(tokens)} tokens
        {windowTokens === null ? "" : ` of ${count(windowTokens)}, ${share(tokens, windowTokens)}`}
      </p>
      {state.zone === "smart" ? null : (
        <p className="small panel-window">
          <Zone zone={state.zone} /> {state.zoneCauses.join(", ")}
          {state.zoneActions.length === 0 ? "" : `; done: ${state.zoneActions.join(", ")}`}
        </p>
      )}
      {ask !== null && state.zoneCauses.includes("drift") ? (
        <p className="small panel-window">
          The last inputs look like another task.{" "}
          <Button size="small" act={() => ask(splitForm(scope))}>
            Split off…
          </Button>
        </p>
      ) : null}
      <WindowBar context={context} />
    </>
  );
}

const share = (part: number, whole: number): string => {
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 1 ? "below 1 %" : `${Math.round(percent)} %`;
};
