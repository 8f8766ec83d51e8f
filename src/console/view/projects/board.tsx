/** The plan of a project as a board: its tickets by how far they are, each with its checks. */
import type { ReactNode } from "react";
import { Link } from "../../link.tsx";
import { Button } from "../../ui/button.tsx";
import { plural } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";
import { refresh } from "../../query-cache.ts";
import { sessionPath } from "../../route.ts";
import { useRefusal } from "../../scopes.ts";
import { engine } from "../../server.ts";

export type ProjectPlan = Awaited<ReturnType<typeof engine.plan>>;
type Ticket = ProjectPlan["tickets"][number];
type Proposed = ProjectPlan["proposed"][number];

/** In the order in which work goes. A column without tickets is not shown, but Planned and Done are. */
const columns = [
  { title: "Planned", of: ["ready", "waiting"] },
  { title: "In progress", of: ["running"] },
  { title: "Failed", of: ["failed", "skipped"] },
  { title: "Done", of: ["done"] },
] as const satisfies readonly { readonly title: string; readonly of: readonly Ticket["status"][] }[];

interface Column {
  readonly title: string;
  readonly tickets: readonly Ticket[];
}

function columnsOf({ tickets }: Pick<ProjectPlan, "tickets">): readonly Column[] {
  return columns
    .map(({ title, of }) => ({
      title,
      tickets: of.flatMap((status) => tickets.filter((ticket) => ticket.status === status)),
    }))
    .filter(({ title, tickets: some }) => some.length > 0 || title === "Planned" || title === "Done");
}

/** What a check does, in a few words. */
function checkWords(check: Ticket["accept"][number]): string {
  if (check.kind === "command") return check.command;
  if (check.kind === "person") return check.question;
  return check.kind === "review" ? `Review: ${check.rubric}` : `File ${check.path}`;
}

/** Cards of one column; the rest is counted. */
const cardsMax = 50;

export function Board({ plan }: { readonly plan: ProjectPlan }): ReactNode {
  const { tickets, proposed, project } = plan;
  if (tickets.length + proposed.length === 0) return null;
  const titles = new Map(tickets.map(({ ticket, title }) => [ticket, title ?? ticket]));
  return (
    <section aria-label="Plan" className="projects-board">
      {proposed.length === 0 ? null : <Proposals project={project} proposed={proposed} />}
      <div className="projects-columns">
        {columnsOf(plan).map(({ title, tickets: some }) => (
          <div key={title}>
            <h2>
              {title} <small className="faint number">{some.length}</small>
            </h2>
            <ul>
              {some.slice(0, cardsMax).map((ticket) => (
                <Card key={ticket.ticket} ticket={ticket} titles={titles} />
              ))}
            </ul>
            {some.length > cardsMax ? <p className="soft small">{some.length - cardsMax} more</p> : null}
          </div>
        ))}
      </div>
    </section>
  );
}

interface CardProps {
  readonly ticket: Ticket;
  readonly titles: ReadonlyMap<string, string>;
}

const states = { done: "y", failed: "n" } as const;

function Card({ ticket, titles }: CardProps): ReactNode {
  const { ticket: id, title, status, accept, agent, session, after, why, attempt } = ticket;
  const state = states[status as keyof typeof states] ?? "o";
  return (
    <li className="sheet projects-ticket" data-status={status}>
      <b className="said">{brief(title ?? id, 160)}</b>
      {accept.length === 0 ? null : (
        <ul className="projects-checks">
          {accept.map((check) => (
            <li key={check.name} data-state={state}>
              <span aria-hidden="true" />
              <span className="said">{brief(checkWords(check), 120)}</span>
              <span className="aside">{{ y: "passed", n: "failed", o: "open" }[state]}</span>
            </li>
          ))}
        </ul>
      )}
      {why === null ? null : <p className="small projects-why said">{brief(why, 300)}</p>}
      <p className="small soft projects-ticket-foot">
        <span>{agent === null ? (session === null ? "Unassigned" : "") : brief(agent, 60)}</span>
        {status === "waiting" ? (
          <span title={after.map((one) => titles.get(one) ?? one).join(", ")}>
            Starts after {plural(after.length, "ticket")}
          </span>
        ) : null}
        {session === null ? null : (
          <Link to={sessionPath(session)}>{attempt > 1 ? `Session, attempt ${attempt}` : "Session"}</Link>
        )}
      </p>
    </li>
  );
}

interface ProposalsProps {
  readonly project: string;
  readonly proposed: readonly Proposed[];
}

/** What sessions propose waits for a person. */
function Proposals({ project, proposed }: ProposalsProps): ReactNode {
  const refusal = useRefusal("engine.acceptTickets");
  const decide = async (accepts: boolean, ticket: string): Promise<void> => {
    await (accepts ? engine.acceptTickets(project, [ticket]) : engine.rejectTickets(project, [ticket]));
    refresh("project");
  };
  return (
    <div className="projects-proposed">
      <h2>
        Proposed <small className="faint number">{proposed.length}</small>
      </h2>
      <ul>
        {proposed.map(({ ticket, title, accept }) => (
          <li key={ticket} className="row wrap">
            <span className="spread">
              <b className="said">{brief(title ?? ticket, 160)}</b>
              {accept.length === 0 ? null : (
                <span className="small soft said">
                  {" "}
                  {accept.map((check) => brief(checkWords(check), 80)).join(", ")}
                </span>
              )}
            </span>
            <Button size="small" act={() => decide(false, ticket)} refusal={refusal}>
              Reject
            </Button>
            <Button size="small" kind="main" act={() => decide(true, ticket)} refusal={refusal}>
              Accept
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
