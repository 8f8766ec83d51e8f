/**
 * The plan of a project: set and extended by people, proposed by sessions, read with its texts. The tickets
 * are those of `skein/tickets`: the project keeps them, so that a plan outlives its file.
 */
import { checkCall } from "../../call/check.ts";
import type { Budget } from "../../core/budget/commands.ts";
import type { NamedCheck } from "../../core/check/check.ts";
import { parseChecks } from "../../core/check/text.ts";
import { amountsOf } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import type { ProjectId } from "../../core/ids.ts";
import { quote } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import type { PlanCommand } from "../../core/project/plan-decide.ts";
import type { PlannedTicket, PlanRule, PlanState, ProposedTicket } from "../../core/project/plan.ts";
import { plannedStatusOf, type PlannedStatus } from "../../core/project/ticket-status.ts";
import { idHint, isTicketId, type TicketDraft, type TicketSpec } from "../../core/project/ticket.ts";
import type { Amounts } from "../../core/state.ts";
import { agentHint, isAgentWord } from "../../core/workspace/agent.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { checkMeant } from "../log/redact.ts";
import { contentOf } from "../read/content.ts";
import { readRecords } from "../read/record-pages.ts";
import { changeProject } from "./change.ts";
import { findProject, type ReadProject } from "./project-reader.ts";

/** A ticket in the plan of a project, or a proposed one. */
export interface ProjectTicket {
  readonly ticket: string;
  /** Null when it was erased. */
  readonly title: string | null;
  readonly text: string;
  readonly after: readonly string[];
  readonly agent: string | null;
  readonly budget: Budget | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly accept: readonly NamedCheck[];
  /** The position of its definition. */
  readonly seq: number;
  readonly at: number;
  /** The session that proposed it; null for one that a person planned. */
  readonly proposedBy: string | null;
}

/** A ticket in the plan, and how far it is. */
export interface PlannedTicketRow extends ProjectTicket {
  readonly status: PlannedStatus;
  /** Why it failed. */
  readonly why: string | null;
  /** The session that works on it, or worked on it last. */
  readonly session: string | null;
  readonly attempt: number;
}

/** The plan of a project. */
export interface ProjectPlan {
  readonly project: ProjectId;
  /** Its name in labels and branches. */
  readonly name: string;
  /** What becomes of tickets that sessions propose. */
  readonly rule: PlanRule;
  /** Of sessions that name none. */
  readonly agent: string | null;
  /** Those that may work on it; empty: all. */
  readonly agents: readonly string[];
  readonly tickets: readonly PlannedTicketRow[];
  /** What waits for a person: new tickets, and changes of planned ones. */
  readonly proposed: readonly ProjectTicket[];
  /** The position of this reading. */
  readonly seq: number;
}

/** Options of `engine.planTickets`. */
export interface PlanTicketsOptions {
  readonly tickets?: readonly TicketSpec[];
  /** Ids of tickets that leave the plan. */
  readonly remove?: readonly string[];
  /** Removes all tickets that are not given. */
  readonly replace?: boolean;
  readonly reason?: string;
}

/** Options of `engine.markTicket`. */
export interface MarkTicketOptions {
  readonly ticket: string;
  /** The session that works on it. */
  readonly session?: string;
  /** Of the session: how often the ticket was started; by default once more. */
  readonly attempt?: number;
  /** How it ended; without it, that the session works on it. */
  readonly outcome?: "done" | "failed";
  readonly reason?: string;
}

/** Options of `engine.configureProject`. */
export interface ConfigureProjectOptions {
  /** What becomes of tickets that sessions propose. */
  readonly plan?: PlanRule;
  /** The agent of sessions that name none; empty: none. */
  readonly agent?: string;
  /** The agents that may work on it; empty: all. */
  readonly agents?: readonly string[];
  readonly reason?: string;
}

/** The plan's name in labels and branches. It never changes, whatever is renamed or erased. */
export const planNameOf = (project: ProjectId): string => `prj-${project.slice(-10)}`;

export async function showPlan(deps: Deps, idOrEnding: string): Promise<ProjectPlan> {
  const id = await findProject(deps.projects, idOrEnding);
  return planAt(deps, id, await deps.projects.read(id));
}

/** Sets, extends or shortens the plan. */
export const planTickets = (
  deps: Deps,
  project: string,
  options: PlanTicketsOptions,
): Promise<ProjectPlan> => {
  checkCall("engine.planTickets", options, { project });
  const { tickets = [], remove, replace, reason } = options;
  if (tickets.length === 0 && (remove ?? []).length === 0 && replace !== true)
    throw new SkeinError("invalid", "plan: tickets: specify at least one ticket, or remove", {
      hint: "to empty the plan, pass replace without tickets",
    });
  const drafts = prepareTickets(deps, tickets);
  return changePlan(deps, project, { do: "plan", tickets: drafts, remove, replace, reason });
};

export const acceptTickets = (
  deps: Deps,
  project: string,
  tickets: readonly string[],
): Promise<ProjectPlan> => {
  checkCall("engine.acceptTickets", {}, { project, tickets });
  return changePlan(deps, project, { do: "accept-tickets", tickets });
};

export const rejectTickets = (
  deps: Deps,
  project: string,
  tickets: readonly string[],
  options: { readonly reason?: string },
): Promise<ProjectPlan> => {
  checkCall("engine.rejectTickets", options, { project, tickets });
  return changePlan(deps, project, { do: "reject-tickets", tickets, ...options });
};

/** Records that a session works on a ticket, or how it ended. */
export async function markTicket(
  deps: Deps,
  project: string,
  options: MarkTicketOptions,
): Promise<ProjectPlan> {
  checkCall("engine.markTicket", options, { project });
  const { ticket, session, attempt, outcome, reason } = options;
  if (outcome !== undefined)
    return changePlan(deps, project, { do: "settle-ticket", ticket, outcome, session, reason });
  if (session === undefined)
    throw new SkeinError("invalid", "project ticket: specify a session, an outcome, or both", {
      hint: "--result done checks it off",
    });
  const id = await findProject(deps.projects, project);
  const { state } = await deps.projects.read(id);
  if (!state.sessions.has(session))
    throw new SkeinError("refused", `project ticket: ${session} does not belong to the project`, {
      hint: "open it with --project",
    });
  const last = state.plan.tickets.get(ticket)?.runs.at(-1)?.attempt ?? 0;
  return changePlan(deps, id, { do: "start-ticket", ticket, session, attempt: attempt ?? last + 1 });
}

export const configureProject = (
  deps: Deps,
  project: string,
  options: ConfigureProjectOptions,
): Promise<ProjectPlan> => {
  checkCall("engine.configureProject", options, { project });
  const { agent, agents = [], ...rest } = options;
  for (const name of [...(agent === undefined || agent === "" ? [] : [agent]), ...agents])
    checkAgent("project set: agent", name);
  const named = agent === "" ? null : agent;
  return changePlan(deps, project, { do: "configure", ...options, ...rest, agent: named });
};

const changePlan = async (deps: Deps, project: string, command: PlanCommand): Promise<ProjectPlan> => {
  const { id, read } = await changeProject(deps, project, command);
  return planAt(deps, id, read);
};

function checkAgent(where: string, name: string): void {
  if (!isAgentWord(name))
    throw new SkeinError("invalid", `${where}: invalid agent name ${quote(name)}`, { hint: agentHint });
}

/** Tickets ready to be decided on: without secrets, their checks named, with the digest of each. */
export function prepareTickets({ world }: Deps, given: readonly TicketSpec[]): TicketDraft[] {
  return given.map(({ done, ...one }) => {
    const {
      id,
      title,
      text = "",
      after = [],
      agent,
      labels,
      budget,
      accept = [],
    } = world.redactor?.json(one) ?? one;
    if (!isTicketId(id))
      throw new SkeinError("invalid", `ticket: id: invalid ticket id ${quote(id)}`, { hint: idHint });
    if (title.trim() === "") throw new SkeinError("invalid", `ticket ${quote(id)}: title: missing`);
    if (agent !== undefined) checkAgent(`ticket ${quote(id)}: agent`, agent);
    checkMeant(world.redactor, `ticket ${quote(id)}: accept`, one.accept ?? []);
    const checks = parseChecks(accept, `ticket ${quote(id)}: accept`);
    const defined = present({
      id,
      title,
      text,
      after: [...new Set(after)],
      agent,
      labels: labels === undefined || Object.keys(labels).length === 0 ? undefined : labels,
      budget: budget === undefined ? undefined : amountsOf(budget),
      accept: checks.length === 0 ? undefined : checks,
    });
    const digest = world.digest("", JSON.stringify(defined));
    return { ...defined, digest, ...(done === true ? { done } : {}) };
  });
}

async function planAt(
  { store }: Pick<Deps, "store">,
  project: ProjectId,
  { state, seq }: ReadProject,
): Promise<ProjectPlan> {
  const { plan } = state;
  const texts = await textsOf(store, project, plan, seq);
  const statuses = plannedStatusOf(plan);
  const tickets = [...plan.tickets.values()].map((ticket): PlannedTicketRow => {
    const run = ticket.runs.at(-1);
    return {
      ...shownTicket(ticket, texts.get(ticket.seq), ticket.proposedBy),
      status: statuses.get(ticket.id) ?? "waiting",
      why: ticket.settled?.outcome === "failed" ? (texts.get(ticket.settled.seq)?.reason ?? null) : null,
      session: run?.session ?? null,
      attempt: run?.attempt ?? 0,
    };
  });
  const proposed = [...plan.proposals.values()].map((one) =>
    shownTicket(one, texts.get(one.seq), one.session),
  );
  const { rule, agent, agents } = plan;
  return { project, name: planNameOf(project), rule, agent, agents, tickets, proposed, seq };
}

interface TicketTexts {
  readonly title?: string;
  readonly text?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly accept?: readonly NamedCheck[];
  readonly reason?: string;
}

function shownTicket(
  { id, after, agent, budget, seq, at }: PlannedTicket | ProposedTicket,
  texts: TicketTexts | undefined,
  proposedBy: string | null,
): ProjectTicket {
  const { title = null, text = "", labels = {}, accept = [] } = texts ?? {};
  const limits = budget === null ? null : budgetOf(budget);
  return { ticket: id, title, text, after, agent, budget: limits, labels, accept, seq, at, proposedBy };
}

/** Amounts as people write them, with money in dollars. */
const budgetOf = ({ nanoUsd, ...rest }: Amounts): Budget =>
  present({ usd: nanoUsd === undefined ? undefined : nanoUsd / 1e9, ...rest });

/** The contents that the plan refers to, by position. */
async function textsOf(
  store: Store,
  project: ProjectId,
  { tickets, proposals }: PlanState,
  toSeq: number,
): Promise<ReadonlyMap<number, TicketTexts>> {
  const wanted = new Set([
    ...[...tickets.values()].flatMap(({ seq, settled }) => [seq, settled?.seq ?? seq]),
    ...[...proposals.values()].map(({ seq }) => seq),
  ]);
  const texts = new Map<number, TicketTexts>();
  if (wanted.size === 0) return texts;
  const types = ["ticket.planned", "ticket.proposed", "ticket.settled"];
  const range = [Math.min(...wanted), toSeq] as const;
  for await (const record of readRecords(store, project, range, { types, contents: true })) {
    if (!wanted.has(record.seq)) continue;
    const content = (await contentOf(store, record)) as TicketTexts | undefined;
    if (content !== undefined) texts.set(record.seq, content);
  }
  return texts;
}
