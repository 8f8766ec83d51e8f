/** A new session in two keystrokes: n, and Enter after the objective. */
import { Options } from "../ui/form.tsx";
import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { limit } from "../../protocol/library.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { showToast, showError } from "../ui/toast.tsx";
import { LoadError } from "../ui/load-error.tsx";
import { brief } from "../ui/visible.ts";
import { refresh, useReading } from "../query-cache.ts";
import { go, sessionPath } from "../route.ts";
import { engine } from "../server.ts";
import { freshKey } from "../world.ts";
import "../palette/palette.css";
import "./sessions/sessions.css";
import { runWithoutWorker } from "./session/pending.ts";
import { fieldsOf, lastUsed, openingOf, type OpeningFields, type LastChoice } from "./opening.ts";

const kept = "skein-opened-with";

function before(): LastChoice {
  return lastUsed(localStorage.getItem(kept));
}

interface OpenDialogProps {
  readonly close: () => void;
  /** The project that it is opened in. */
  readonly project: string | null;
}

export function OpenDialog({ close, project }: OpenDialogProps): ReactNode {
  const [fields, setFields] = useState<OpeningFields>(() => fieldsOf(before()));
  const [isMore, setMore] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (part: Partial<OpeningFields>): void => setFields({ ...fields, ...part });
  const open = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      await openWith(fields, project);
      close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const enter = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <Dialog title={project === null ? "New session" : "New session in the project"} close={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <label className="labeled">
          <span>Objective</span>
          <textarea
            className="field"
            autoFocus
            required
            rows={3}
            maxLength={limit.objectiveCharsMax}
            placeholder="Find out why the nightly import is slow"
            value={fields.objective}
            onChange={({ target }) => set({ objective: target.value })}
            onKeyDown={enter}
          />
        </label>
        {error === null ? null : <LoadError error={error} />}
        <Who fields={fields} />
        <details open={isMore} onToggle={({ currentTarget }) => setMore(currentTarget.open)}>
          <summary className="soft">More</summary>
          {isMore ? <More fields={fields} set={set} /> : null}
        </details>
        <div className="dialog-actions">
          <Button act={close} kind="quiet">
            Cancel
          </Button>
          <Button kind="main" disabled={isBusy}>
            Open <kbd className="key sessions-key">Enter</kbd>
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Opened once, also after a lost response; a first message follows, and is sent once as well. */
async function openWith(fields: OpeningFields, project: string | null): Promise<void> {
  const session = await engine.open({ ...openingOf(fields), ...(project === null ? {} : { project }) });
  const { agent, model, first } = fields;
  localStorage.setItem(kept, JSON.stringify({ agent, model } satisfies LastChoice));
  refresh("sessions");
  refresh("project");
  go(sessionPath(session.id));
  if (first.trim() === "") return;
  try {
    await session.input(first, { key: freshKey() });
    await runWithoutWorker(session);
  } catch (error) {
    showToast("The session is open, but sending its first message failed.");
    showError(error);
  }
}

/** The agent and model, in a line: visible before Enter is pressed. */
function Who({ fields }: { readonly fields: OpeningFields }): ReactNode {
  const { agent, model } = fields;
  const whose = agent === "" ? "No agent" : `Agent ${brief(agent, 60)}`;
  const which =
    model !== ""
      ? `model ${brief(model, 80)}`
      : agent === ""
        ? "the server's default model"
        : "the agent's model";
  return (
    <p className="small soft">
      {whose}, {which}.{model === "offline/offline" ? ` It ${offline}` : ""}
      {model === "" && agent === "" ? ` Without a provider key that is offline/offline: it ${offline}` : ""}
    </p>
  );
}

const offline = "needs no key or network, understands a few fixed commands, and is free.";

interface MoreProps {
  readonly fields: OpeningFields;
  readonly set: (part: Partial<OpeningFields>) => void;
}

/** Models that were used before, or that an agent has. */
async function knownModels(): Promise<readonly string[]> {
  const [agents, used] = await Promise.all([
    engine.agents().catch(() => []),
    // A store without SQL has none.
    engine.query("SELECT DISTINCT model FROM costs LIMIT 50").catch(() => ({ rows: [] })),
  ]);
  const names = [
    ...agents.map(({ model }) => model),
    ...used.rows.map(([model]) => model),
    "offline/offline",
  ];
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

function More({ fields, set }: MoreProps): ReactNode {
  const agents = useReading("agents", () => engine.agents()).value ?? [];
  const models = useReading("models", knownModels).value ?? [];
  const list = useId();
  const known = agents.map(({ name }) => name);
  const names = fields.agent === "" || known.includes(fields.agent) ? known : [...known, fields.agent];
  return (
    <div className="open-more">
      <label className="labeled">
        <span>Agent</span>
        <select
          className="field"
          value={fields.agent}
          onChange={({ target }) => set({ agent: target.value })}
        >
          <Options of={names} none="None" title={(name) => brief(name, 60)} />
        </select>
      </label>
      <label className="labeled">
        <span>Model</span>
        <input
          className="field"
          list={list}
          placeholder={fields.agent === "" ? "Server default" : "Agent's model"}
          value={fields.model}
          onChange={({ target }) => set({ model: target.value })}
        />
        <datalist id={list}>
          {models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <Details fields={fields} set={set} />
    </div>
  );
}

const details = [
  ["name", "Name", "Default: the objective", "text"],
  ["labels", "Labels", "team=blue, stage=2", "text"],
  ["priority", "Priority (0 is highest)", "5", "number"],
  ["usd", "Budget in dollars", "No limit", "number"],
  ["steps", "Budget in steps", "No limit", "number"],
] as const;

function Details({ fields, set }: MoreProps): ReactNode {
  return (
    <>
      {details.map(([name, title, hint, type]) => (
        <label className={type === "number" ? "labeled open-small" : "labeled"} key={name}>
          <span>{title}</span>
          <input
            className="field"
            type={type}
            min={0}
            max={name === "priority" ? limit.priorityMax : undefined}
            step={name === "usd" ? "any" : 1}
            maxLength={name === "name" ? limit.nameCharsMax : undefined}
            placeholder={hint}
            value={fields[name]}
            onChange={({ target }) => set({ [name]: target.value })}
          />
        </label>
      ))}
      <label className="labeled open-first">
        <span>First message (starts the work)</span>
        <textarea
          className="field"
          rows={2}
          value={fields.first}
          onChange={({ target }) => set({ first: target.value })}
        />
      </label>
    </>
  );
}
