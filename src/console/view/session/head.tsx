/** The title, status and actions of a session. */
import { shortId } from "../../../core/text/short-id.ts";
import { useEffect, useRef, useState, type SubmitEvent, type ReactNode } from "react";
import { mayIn } from "../../../protocol/library.ts";
import { Link } from "../../link.tsx";
import { spendText } from "../../../core/text/money.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog, type FormSpec } from "../../ui/form-dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Status } from "../../ui/status.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { choicesOf } from "./session-menu.ts";
import { useMe } from "./entry.tsx";
import { runWithoutWorker } from "./pending.ts";
import { useScope, type State } from "./scope.ts";
import { mayWrite } from "./standing.tsx";

export function Head(): ReactNode {
  const { at, state } = useScope();
  const title = titleOf(state);
  useEffect(() => {
    // After the view has announced its name.
    const frame = requestAnimationFrame(() => {
      document.title = `${brief(title, 80)} · Skein`;
    });
    return () => cancelAnimationFrame(frame);
  }, [title]);
  return (
    <header className="session-head">
      <div className="session-head-what">
        <Title key={title} title={title} />
        <Facts />
      </div>
      {at === null ? <SessionActions /> : null}
    </header>
  );
}

const titleOf = ({ name, objective, session }: State): string =>
  name ?? (objective === null || objective === "" ? `Session ${shortId(session)}` : objective);

/** Editable in place. */
function Title({ title }: { readonly title: string }): ReactNode {
  const { at, state, session, reread } = useScope();
  const me = useMe();
  const [isWriting, setWriting] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const rename = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const name = field.current?.value.trim() ?? "";
    setWriting(false);
    if (name === "" || name === state.name) return;
    await session.rename(name);
    showToast("Renamed.");
    reread();
  };
  if (isWriting)
    return (
      <form className="row session-rename" onSubmit={(event) => void rename(event).catch(showError)}>
        <input
          ref={field}
          className="field"
          aria-label="Session name"
          maxLength={200}
          autoFocus
          defaultValue={state.name ?? ""}
          onKeyDown={({ key }) => {
            if (key === "Escape") setWriting(false);
          }}
        />
        <Button kind="main">Rename</Button>
        <Button kind="quiet" act={() => setWriting(false)}>
          Cancel
        </Button>
      </form>
    );
  return (
    <div className="row session-title">
      <h1 dir="auto" title={brief(title, 400)}>
        {brief(title, 160)}
      </h1>
      {at === null && mayWrite(me) && mayIn(state.status, "describe") ? (
        <Button kind="quiet" size="small" act={() => setWriting(true)}>
          Rename
        </Button>
      ) : null}
    </div>
  );
}

const causes: Readonly<Record<string, string>> = {
  approval: "waiting for approval",
  unknown: "call outcome unknown",
  tool: "waiting for a tool result",
  budget: "budget exhausted",
  imported: "waiting for review",
  "set-back": "log rolled back",
};

/** The reason of the status, in a few words; empty if the status says it. */
function whyWords({ status, why }: State): string {
  if (why === null || !["suspended", "closed"].includes(status)) return "";
  const cause = causes[why.by] ?? why.by;
  return why.by === "approval" || why.reason === null ? cause : `${cause}: ${brief(why.reason, 80)}`;
}

function Facts(): ReactNode {
  const { state } = useScope();
  const { agent, model, cost, lease, holds } = state;
  const why = whyWords(state);
  return (
    <p className="session-facts small soft">
      <Status status={state.status} />
      {why === "" ? null : <span>{why}</span>}
      {agent === null ? null : (
        <Link to={`/agents/${encodeURIComponent(agent.name)}`}>
          {brief(agent.name, 60)}
          {agent.version === 0 ? "" : `@${agent.version}`}
        </Link>
      )}
      {model === null ? null : <span>{brief(model, 80)}</span>}
      <span className="number" title={unpricedWords(cost.unpriced)}>
        {spendText(cost)}
      </span>
      {lease === null ? null : (
        <span title={brief(lease.holder, 120)}>running on {brief(hostOf(lease.holder), 40)}</span>
      )}
      {holds.length === 0 ? null : <span className="mark">on hold</span>}
    </p>
  );
}

/** `host:pid` of a lease holder. */
const hostOf = (holder: string): string => holder.replace(/\/.*$/s, "");

const unpricedWords = (calls: number): string =>
  calls === 0 ? "Model cost" : `${calls} model calls of unknown price`;

function SessionActions(): ReactNode {
  const scope = useScope();
  const { state, session, reread } = scope;
  const me = useMe();
  const [form, setForm] = useState<FormSpec | null>(null);
  const { status, why } = state;
  // A call that waits for approval would only wait again.
  const isAsked = status === "suspended" && why?.by === "approval";
  const doing = (work: () => Promise<unknown>, said: string) => async (): Promise<void> => {
    await work();
    showToast(said);
    reread();
  };
  const may = (command: Parameters<typeof mayIn>[1]): boolean => mayWrite(me) && mayIn(status, command);
  return (
    <div className="row session-actions">
      {status === "running" && may("interrupt") ? (
        <Button act={doing(() => session.interrupt(), "Interrupt requested.")}>Interrupt</Button>
      ) : null}
      {may("suspend") ? <Button act={doing(() => session.suspend(), "Suspended.")}>Suspend</Button> : null}
      {may("activate") && !isAsked ? (
        <Button act={doing(() => session.activate().then(() => runWithoutWorker(session)), "Activated.")}>
          Activate
        </Button>
      ) : null}
      {may("close") ? <Button act={doing(() => session.close(), "Closed.")}>Close</Button> : null}
      {may("reopen") ? (
        <Button kind="main" act={doing(() => session.reopen(), "Reopened.")}>
          Reopen
        </Button>
      ) : null}
      <Menu label="More actions" choices={choicesOf(scope, me, setForm)}>
        <Icon name="more" />
      </Menu>
      {form === null ? null : <FormDialog form={form} close={() => setForm(null)} />}
    </div>
  );
}
