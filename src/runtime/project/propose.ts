/** What a session does with the plan of its project: it reads it, and proposes tickets. */
import { SkeinError } from "../../core/error.ts";
import { isProjectId, isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { PlanCommand } from "../../core/project/plan-decide.ts";
import { decideProject } from "../../core/project/project.ts";
import type { TicketSpec } from "../../core/project/ticket.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import type { Also } from "../log/workspace-effects.ts";
import { refusalError } from "./change.ts";
import { prepareTickets, showPlan, type ProjectPlan, type ProjectTicket } from "./plan.ts";

const proposer = "tool:plan";

/** The records of a proposal, and what the session is told of it. */
export async function proposeBeside(
  deps: Deps,
  session: SessionId,
  state: State,
  given: readonly TicketSpec[],
): Promise<{ readonly also: Also; readonly output: string }> {
  const project = await projectOf(deps, state);
  const tickets = prepareTickets(deps, given);
  const line = await lineOf(deps, session, state);
  const command: PlanCommand = { do: "propose", tickets, session, line };
  const decided = async () => {
    const { state: now, seq, hash } = await deps.projects.read(project);
    const decision = decideProject(now, command, proposer);
    if (!decision.ok) throw refusalError(decision.refusal);
    const events = decision.drafts.map((draft) => ({ ...draft, actor: proposer }));
    return { log: project, headSeq: seq, headHash: hash, events };
  };
  const { events } = await decided();
  const taken = events.flatMap(({ type, body }) =>
    type === "ticket.accepted" ? [(body as { readonly ticket: string }).ticket] : [],
  );
  const waiting = tickets.flatMap(({ id }) => (taken.includes(id) ? [] : [id]));
  const said = [
    taken.length === 0 ? [] : `in the plan: ${taken.join(", ")}`,
    waiting.length === 0 ? [] : `proposed, a person decides: ${waiting.join(", ")}`,
  ];
  return { also: decided, output: said.flat().join("; ") };
}

/** The plan as a session reads it, in pages. */
export async function planForSession(deps: Deps, state: State, page: number): Promise<unknown> {
  const plan = await showPlan(deps, await projectOf(deps, state));
  const { tickets, proposed } = plan;
  const rows = [
    ...tickets.map((one) => ({ ...shown(one), ...progressOf(one) })),
    ...proposed.map(asProposed),
  ];
  const from = (page - 1) * limit.ticketsReadMax;
  const part = rows.slice(from, from + limit.ticketsReadMax);
  const more = from + part.length < rows.length;
  return {
    tickets: part,
    ...(more ? { readOn: { page: page + 1, left: rows.length - from - part.length } } : {}),
  };
}

const progressOf = ({ status, why, session }: ProjectPlan["tickets"][number]) =>
  present({ status, why: why ?? undefined, session: session ?? undefined });

const asProposed = (one: ProjectTicket) => ({ ...shown(one), status: "proposed" });

const shown = ({ ticket, title, after, agent, accept }: ProjectTicket) =>
  present({
    id: ticket,
    title: title ?? undefined,
    after: after.length === 0 ? undefined : after,
    agent: agent ?? undefined,
    accept: accept.length === 0 ? undefined : accept.map(({ name }) => name),
  });

async function projectOf({ store }: Deps, { standing }: State): Promise<ProjectId> {
  const { project } = standing;
  if (project === null || !isProjectId(project))
    throw new SkeinError("refused", "plan: the session belongs to no project");
  if ((await store.head(project)) === undefined)
    throw new SkeinError("refused", `plan: this store does not have the project ${project}`);
  return project;
}

const lineMax = 1_000;

/** The session, and those that it comes from: as a fork, as a child, or as the next of a chain. */
async function lineOf({ store, writer }: Deps, session: SessionId, state: State): Promise<string[]> {
  const line = new Set<string>([session]);
  const left = [state];
  for (let one = left.pop(); one !== undefined && line.size < lineMax; one = left.pop()) {
    const { fork, parent, first } = one.standing;
    for (const id of [fork?.parent, parent?.session, first]) {
      if (id === undefined || id === null || line.has(id) || !isSessionId(id)) continue;
      line.add(id);
      if ((await store.head(id)) !== undefined) left.push(await writer.current(id));
    }
  }
  return [...line];
}
