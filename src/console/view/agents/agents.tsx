/** Agents: their versions, and their sessions. */
import { Options } from "../../ui/form.tsx";
import { useState, type ReactNode } from "react";
import { useRefusal } from "../../scopes.ts";
import { Link } from "../../link.tsx";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { actorWords } from "../../ui/event-summary.ts";
import { Ago } from "../../ui/moment.tsx";
import { PlaceHead } from "../../ui/page-header.tsx";
import { Portion } from "../../ui/show-more.tsx";
import { Json, Said } from "../../ui/untrusted-text.tsx";
import { Status } from "../../ui/status.tsx";
import { showToast } from "../../ui/toast.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { goWith, sessionPath, withParams } from "../../route.ts";
import { engine } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { emptyForm, formOf, restOf } from "./definition.ts";
import { AgentDialog } from "./form.tsx";
import { useHeard } from "../use-refetch-on-event.ts";
import { useRowKeys } from "../row-keys.ts";
import "./agents.css";

type Summary = Awaited<ReturnType<typeof engine.agents>>[number];
type Version = Awaited<ReturnType<typeof engine.agent>>;

interface AgentsProps {
  readonly name: string | null;
  readonly params: URLSearchParams;
}

export function Agents({ name, params }: AgentsProps): ReactNode {
  const agents = useReading("agents", () => engine.agents());
  useHeard(/^(?:agent|session)\./, ["agents", "sessions/of"]);
  return name === null ? (
    <WhenRead of={agents}>{(list) => <List agents={list} />}</WhenRead>
  ) : (
    <Agent key={name} name={name} params={params} models={modelsOf(agents.value ?? [])} />
  );
}

const modelsOf = (agents: readonly Summary[]): readonly string[] => [
  ...new Set([...agents.flatMap(({ model }) => model ?? []), "offline/offline"]),
];

function List({ agents }: { readonly agents: readonly Summary[] }): ReactNode {
  const [isAdding, setAdding] = useState(false);
  useRowKeys(".agents-row");
  return (
    <div className="agents">
      <PlaceHead title="Agents" does="New agent" act={() => setAdding(true)} needs="engine.addAgent" />
      {agents.length === 0 ? (
        <Empty title="No agents yet">
          <p>
            An agent is a named role: instructions, a model, tools and rules. A session pins the agent's
            version when it is opened. Agents are optional.
          </p>
        </Empty>
      ) : (
        <Portion of={agents}>
          {(shown) => shown.map((agent) => <AgentRow key={agent.name} agent={agent} />)}
        </Portion>
      )}
      {isAdding ? (
        <AgentDialog
          first={emptyForm}
          version={null}
          models={modelsOf(agents)}
          close={() => setAdding(false)}
        />
      ) : null}
    </div>
  );
}

function AgentRow({
  agent: { name, version, model, description, at },
}: {
  readonly agent: Summary;
}): ReactNode {
  return (
    <Link to={`/agents/${encodeURIComponent(name)}`} className="agents-row">
      <span className="row wrap">
        <b className="said">{brief(name, 100)}</b>
        <span className="mark">version {version}</span>
        <span className="mono soft said">{model === null ? "" : brief(model, 80)}</span>
      </span>
      <span className="soft agents-about">
        <span className="said">{brief(description ?? "No description", 200)}</span>
        <span className="faint small">
          <Ago at={at} />
        </span>
      </span>
    </Link>
  );
}

interface AgentProps extends AgentsProps {
  readonly name: string;
  readonly models: readonly string[];
}

function Agent({ name, params, models }: AgentProps): ReactNode {
  const asked = /^[1-9]\d{0,8}$/.test(params.get("version") ?? "") ? Number(params.get("version")) : null;
  const newest = useReading(`agents/${name}/newest`, () => engine.agent(name));
  const earlier = useReading(asked === null ? null : `agents/${name}/${asked}`, () =>
    engine.agent(name, { version: asked ?? 1 }),
  );
  return (
    <div className="agents">
      <Link to="/agents" className="small">
        Agents
      </Link>
      <WhenRead of={newest}>
        {(last) => (
          <WhenRead of={asked === null ? newest : earlier}>
            {(shown) => <Shown shown={shown} last={last} models={models} />}
          </WhenRead>
        )}
      </WhenRead>
    </div>
  );
}

interface ShownProps {
  readonly shown: Version;
  readonly last: Version;
  readonly models: readonly string[];
}

function Shown({ shown, last, models }: ShownProps): ReactNode {
  const [isEditing, setEditing] = useState(false);
  const refusal = useRefusal("engine.addAgent");
  const edit = (): void => (refusal === undefined ? setEditing(true) : showToast(refusal));
  useShortcuts([{ key: "e", what: "Edit as a new version", act: edit }]);
  const { name, version, definition, at, actor } = shown;
  const isLast = version === last.version;
  return (
    <>
      <div className="head">
        <h1 className="said spread">{brief(name, 100)}</h1>
        <Versions version={version} last={last.version} />
        <Button kind="main" act={edit} refusal={refusal}>
          {isLast ? "Edit" : "Restore this version"}
        </Button>
      </div>
      <p className="soft small">
        Version {version} of {last.version}, <Ago at={at} />, by {actorWords(actor)}
      </p>
      {definition.description === undefined ? null : <Said text={definition.description} />}
      <Definition definition={definition} />
      <Sessions name={name} />
      {isEditing ? (
        <AgentDialog
          first={formOf(definition)}
          version={last.version}
          models={models}
          close={() => setEditing(false)}
        />
      ) : null}
    </>
  );
}

interface VersionsProps {
  readonly version: number;
  readonly last: number;
}

const versionsMax = 200;

function Versions({ version, last }: VersionsProps): ReactNode {
  if (last === 1) return null;
  const all = Array.from({ length: Math.min(last, versionsMax) }, (_, place) => last - place);
  return (
    <select
      className="field agents-versions"
      aria-label="Version"
      value={version}
      onChange={({ target }) => goWith({ version: Number(target.value) === last ? null : target.value })}
    >
      <Options of={all} title={(one) => `Version ${one}`} />
    </select>
  );
}

function Definition({ definition }: { readonly definition: Version["definition"] }): ReactNode {
  const rest = Object.entries(restOf(definition));
  return (
    <>
      <section className="agents-part">
        <h2>Instructions</h2>
        <Said text={definition.instructions} className="agents-text" />
      </section>
      <section className="agents-part">
        <h2>Settings</h2>
        <dl className="facts">
          <dt>model</dt>
          <dd className="mono">{definition.model ?? "the session's"}</dd>
          <dt>tools</dt>
          <dd className="mono">{definition.tools?.join(", ") ?? "all bound tools"}</dd>
          {rest
            .filter(([field]) => field !== "tools")
            .map(([field, value]) => (
              <div key={field} className="keys-row">
                <dt>{field}</dt>
                <dd>
                  <Json value={compact(value)} />
                </dd>
              </div>
            ))}
        </dl>
      </section>
    </>
  );
}

const lineChars = 80;

/** On one line, if it is short. */
function compact(value: unknown): unknown {
  const line = JSON.stringify(value);
  return line.length > lineChars ? value : line;
}

const sessionsShown = 20;

function Sessions({ name }: { readonly name: string }): ReactNode {
  const reading = useReading(`sessions/of/${name}`, () =>
    engine.sessions({ agent: name, limit: sessionsShown }),
  );
  return (
    <section className="agents-part">
      <h2>Sessions</h2>
      <WhenRead of={reading}>
        {({ rows, cursor }) => (
          <>
            {rows.length === 0 ? <p className="soft">No sessions yet.</p> : null}
            <ul>
              {rows.map(({ session, name: title, objective, status, activeAt }) => (
                <li key={session} className="row agents-session">
                  <Link to={sessionPath(session)} className="cut spread" dir="auto">
                    {brief(title ?? objective ?? session, 100)}
                  </Link>
                  <Status status={status} />
                  <span className="faint small agents-when">
                    <Ago at={activeAt} />
                  </span>
                </li>
              ))}
            </ul>
            {cursor === null ? null : (
              <Link to={withParams("/", { agent: name })}>All sessions {plural(rows.length, "session")}</Link>
            )}
          </>
        )}
      </WhenRead>
    </section>
  );
}
