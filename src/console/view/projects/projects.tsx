/** Projects: the list of all, and the page of one. */
import { useState, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { money, plural } from "../../ui/amount.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { Ago } from "../../ui/moment.tsx";
import { PlaceHead } from "../../ui/page-header.tsx";
import { Portion } from "../../ui/show-more.tsx";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { useRowKeys } from "../row-keys.ts";
import { useHeard } from "../use-refetch-on-event.ts";
import { openForm, projectPath } from "./forms.ts";
import { Project } from "./project.tsx";
import { Standing } from "./standing.tsx";
import "./projects.css";

type Row = Awaited<ReturnType<typeof engine.projects>>[number];

interface ProjectsProps {
  readonly name: string | null;
  readonly params: URLSearchParams;
  /** Opens the dialog for a new session, in the project that is shown. */
  readonly open: () => void;
}

export function Projects({ name, params, open }: ProjectsProps): ReactNode {
  return name === null ? <List /> : <Project key={name} id={name} params={params} open={open} />;
}

function List(): ReactNode {
  const [isOpening, setOpening] = useState(false);
  const projects = useReading("projects", () => engine.projects());
  useHeard(/^(?:project|item|session|turn|lease)\./, ["projects"]);
  useRowKeys(".projects-row");
  return (
    <div className="projects">
      <PlaceHead
        title="Projects"
        does="New project"
        act={() => setOpening(true)}
        needs="engine.openProject"
      />
      <WhenRead of={projects}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No projects yet">
              <p>
                A project keeps work together that takes several sessions: its goal, what was decided, who
                works on it, and what it costs.
              </p>
            </Empty>
          ) : (
            <Portion of={list}>
              {(shown) => shown.map((row) => <ProjectRow key={row.project} row={row} />)}
            </Portion>
          )
        }
      </WhenRead>
      {isOpening ? <FormDialog form={openForm} close={() => setOpening(false)} /> : null}
    </div>
  );
}

function ProjectRow({ row }: { readonly row: Row }): ReactNode {
  const { project, name, objective, cost, sessions, activeAt } = row;
  return (
    <Link to={projectPath(project)} className="projects-row">
      <span className="row wrap">
        <b className="said">{brief(name ?? objective ?? "Erased", 100)}</b>
        <Standing row={row} />
      </span>
      <span className="soft projects-about">
        <span className="said cut">{name === null ? "" : brief(objective ?? "", 200)}</span>
        <span className="faint small number projects-facts">
          {plural(sessions, "session")} · {money(cost.nanoUsd)} · <Ago at={activeAt} />
        </span>
      </span>
    </Link>
  );
}
