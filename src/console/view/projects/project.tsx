/** One project: its sessions on a time line, its plan, what it knows, its journal, and what it cost. */
import { useState, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { Button } from "../../ui/button.tsx";
import { FormDialog, type FormSpec } from "../../ui/form-dialog.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { Ago } from "../../ui/moment.tsx";
import { brief } from "../../ui/visible.ts";
import { Said } from "../../ui/untrusted-text.tsx";
import { showToast } from "../../ui/toast.tsx";
import { useReading } from "../../query-cache.ts";
import { useRefusal } from "../../scopes.ts";
import { engine } from "../../server.ts";
import { useShortcuts } from "../../shortcut.ts";
import { now } from "../../world.ts";
import { useHeard } from "../use-refetch-on-event.ts";
import { Board } from "./board.tsx";
import { archive, closeForm, noteForm, recordForm, reopen } from "./forms.ts";
import { Journal, valueText, type ProjectView } from "./journal.tsx";
import { ranges, type ProjectNode } from "./lines.ts";
import { growthOf, Spend } from "./spend.tsx";
import { Standing } from "./standing.tsx";
import { TimeLine } from "./time-line.tsx";

interface ProjectProps {
  readonly id: string;
  readonly params: URLSearchParams;
  readonly open: () => void;
}

export function Project({ id, params, open }: ProjectProps): ReactNode {
  const view = useReading(`project/${id}/view`, () => engine.project(id));
  const lineage = useReading(`project/${id}/lineage`, () => engine.projectLineage(id));
  const plan = useReading(`project/${id}/plan`, () => engine.plan(id));
  useHeard(/^(?:project|ticket|item|hold|session|turn|lease)\./, [`project/${id}/`]);
  return (
    <div className="projects projects-one">
      <Link to="/projects" className="small">
        Projects
      </Link>
      <WhenRead of={view}>
        {(shown) => (
          <>
            <Head view={shown} open={open} />
            <div className="projects-grid">
              <div className="projects-column">
                <WhenRead of={lineage}>
                  {({ nodes }) => <Work nodes={nodes} params={params} open={open} view={shown} />}
                </WhenRead>
                {plan.value === undefined ? null : <Board plan={plan.value} />}
                <Known view={shown} />
              </div>
              <div className="projects-column">
                <Cost view={shown} />
                <Journal view={shown} />
              </div>
            </div>
          </>
        )}
      </WhenRead>
    </div>
  );
}

interface HeadProps {
  readonly view: ProjectView;
  readonly open: () => void;
}

function Head({ view, open }: HeadProps): ReactNode {
  const [form, setForm] = useState<FormSpec | null>(null);
  const { project, name, objective, status, openedAt, holds } = view;
  const refusals = {
    open: useRefusal("engine.open"),
    note: useRefusal("engine.noteInProject"),
    record: useRefusal("engine.recordInProject"),
    close: useRefusal("engine.closeProject"),
  };
  const isOpen = status === "open";
  const ask = (refusal: string | undefined, make: (id: string) => FormSpec) => (): void => {
    if (!isOpen) return showToast(`The project is ${status}.`);
    if (refusal !== undefined) return showToast(refusal);
    setForm(make(project));
  };
  const note = ask(refusals.note, noteForm);
  const record = ask(refusals.record, recordForm);
  useShortcuts([
    { key: "a", what: "Add to the journal", act: note },
    { key: "r", what: "Record an item of the project", act: record },
  ]);
  return (
    <>
      <div className="head projects-head">
        <div className="spread">
          <div className="row wrap">
            <h1 className="said">{brief(name ?? objective ?? "Erased", 100)}</h1>
            <Standing row={view} />
            {holds.map((hold) => (
              <span className="mark" data-tone="warn" key={hold}>
                Hold {brief(hold, 60)}
              </span>
            ))}
          </div>
          <p className="soft said">
            {name === null ? null : <>{brief(objective ?? "", 400)} </>}
            <span className="faint small">
              Opened <Ago at={openedAt} />
            </span>
          </p>
        </div>
        {isOpen ? (
          <>
            <Button kind="quiet" act={record} refusal={refusals.record}>
              Record
            </Button>
            <Button act={note} refusal={refusals.note}>
              Note
            </Button>
            <Button act={ask(refusals.close, closeForm)} refusal={refusals.close}>
              Close
            </Button>
            <Button kind="main" act={open} refusal={refusals.open}>
              New session <kbd className="key projects-key">N</kbd>
            </Button>
          </>
        ) : (
          <Ended view={view} refusal={refusals.close} />
        )}
      </div>
      {form === null ? null : <FormDialog form={form} close={() => setForm(null)} />}
    </>
  );
}

interface EndedProps {
  readonly view: ProjectView;
  readonly refusal: string | undefined;
}

function Ended({ view: { project, status }, refusal }: EndedProps): ReactNode {
  if (status === "moved") return null;
  return (
    <>
      <Button act={() => reopen(project)} refusal={refusal}>
        Reopen
      </Button>
      {status === "closed" ? (
        <Button act={() => archive(project)} refusal={refusal}>
          Archive
        </Button>
      ) : null}
    </>
  );
}

interface WorkProps extends HeadProps {
  readonly nodes: readonly ProjectNode[];
  readonly params: URLSearchParams;
}

function Work({ nodes, params, open, view }: WorkProps): ReactNode {
  const range = ranges.find((one) => one === params.get("range")) ?? "all";
  if (nodes.length > 0) return <TimeLine nodes={nodes} range={range} />;
  return (
    <section className="sheet">
      <Empty title="No sessions yet">
        <p>A session of the project starts with its objective, instructions, constraints and items.</p>
        {view.status === "open" ? <Button act={open}>New session</Button> : null}
      </Empty>
    </section>
  );
}

/** A store without SQL has no sum by day. */
function Cost({ view: { project, cost } }: { readonly view: ProjectView }): ReactNode {
  const days = useReading(`project/${project}/cost`, () =>
    engine.cost({ project, by: "day" }).then(
      (rows) => growthOf(rows, now()),
      () => [],
    ),
  );
  const budget = useReading(`project/${project}/budget`, () => engine.projectBudget(project));
  return <Spend cost={cost} days={days.value} limitUsd={budget.value?.limits?.usd ?? null} />;
}

const valueChars = 600;

/** What every session starts with. */
function Known({ view: { instructions, constraints, items } }: { readonly view: ProjectView }): ReactNode {
  if (instructions === null && constraints.length === 0 && items.length === 0) return null;
  return (
    <section className="sheet" aria-label="Known">
      <header className="projects-card-head">
        <h2>What its sessions know</h2>
      </header>
      <div className="projects-card stack">
        {instructions === null ? null : <Said text={instructions} />}
        {constraints.length === 0 ? null : (
          <div>
            <h3>Constraints</h3>
            <ul className="projects-rules">
              {constraints.map((rule) => (
                <li key={rule} className="said">
                  {brief(rule, valueChars)}
                </li>
              ))}
            </ul>
          </div>
        )}
        {items.length === 0 ? null : (
          <div>
            <h3>Items</h3>
            <dl className="projects-items">
              {items.map((item) => (
                <div key={item.seq}>
                  <dt>
                    <span className="faint">{brief(item.kind, 40)}</span> {brief(item.key, 100)}
                    {item.status === null ? null : <span className="mark">{brief(item.status, 40)}</span>}
                  </dt>
                  <dd className="said">
                    {brief(valueText(item) ?? "erased", valueChars)}
                    {item.because === null ? null : (
                      <span className="faint"> {brief(item.because, 200)}</span>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        )}
      </div>
    </section>
  );
}
