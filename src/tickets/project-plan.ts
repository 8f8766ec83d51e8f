/**
 * The plan that a project keeps, in place of a file: read again while it runs, because sessions and people
 * extend it; and told which sessions work on its tickets, and how they end.
 */
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";
import { present } from "../core/present.ts";
import type { BranchWork } from "./git-worktree.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { PlannedTicketRow, ProjectPlan } from "../runtime/project/plan.ts";
import type { Plan } from "./plan.ts";
import type { Ticket } from "./plan-draft.ts";
import type { TicketRow } from "./ticket-status.ts";

/** The plan of a project, to list or to run. */
export const projectPlan = async (engine: Engine, project: string): Promise<Plan> =>
  planFrom(await engine.plan(project));

/** Of a project when it is named by its id; a plan from a file as it is. */
export const planNow = async (engine: Engine, plan: Plan | string): Promise<Plan> =>
  typeof plan === "string" ? projectPlan(engine, plan) : plan;

export function planFrom({ project, name, agent, tickets }: ProjectPlan): Plan {
  return {
    name,
    project,
    ...present({ agent: agent ?? undefined }),
    tickets: tickets.map((one, place) => ticketFrom(one, place + 1)),
  };
}

function ticketFrom(row: PlannedTicketRow, line: number): Ticket {
  const { ticket: id, title, text, after, agent, labels, budget, accept, status } = row;
  return {
    id,
    title: title ?? id,
    text,
    after,
    line,
    ...present({
      agent: agent ?? undefined,
      budget: budget ?? undefined,
      labels: Object.keys(labels).length === 0 ? undefined : labels,
      accept: accept.length === 0 ? undefined : accept,
      done: status === "done" ? (true as const) : undefined,
    }),
  };
}

/** What the project does not say of its tickets yet: found in the sessions, so a crash loses nothing. */
export async function markTickets(
  engine: Engine,
  plan: ProjectPlan,
  rows: readonly TicketRow[],
  /** What sessions have committed. */
  work: ReadonlyMap<string, string>,
): Promise<ProjectPlan> {
  const known = new Map(plan.tickets.map((row) => [row.ticket, row]));
  let now = plan;
  for (const { ticket, session, attempt, status, why } of rows) {
    const before = known.get(ticket);
    if (before === undefined || session === null) continue;
    const isStarted = before.session === session;
    if (!isStarted) now = await engine.markTicket(plan.project, { ticket, session, attempt });
    if (status !== "done" && status !== "failed") continue;
    if (isStarted && before.status === status) continue;
    const said = status === "failed" ? (why ?? undefined) : work.get(session);
    const reason = present({ reason: said?.slice(0, limit.reasonCharsMax) });
    now = await engine.markTicket(plan.project, { ticket, session, outcome: status, ...reason });
  }
  return now;
}

/** Branch, commits and changed files in a few lines. */
export function workText({ branch, commits, diffstat }: BranchWork): string {
  const subjects = commits.slice(0, subjectsMax).map((line) => line.slice(0, subjectCharsMax));
  return [`branch ${branch}`, ...subjects, diffstat.at(-1) ?? ""].filter((line) => line !== "").join("\n");
}

const subjectsMax = 10;
const subjectCharsMax = 120;

/** A closed project takes no marks, and a ticket may leave the plan while its session runs. */
export const isUnmarkable = (error: unknown): error is SkeinError =>
  error instanceof SkeinError && (error.code === "refused" || error.code === "not-found");
