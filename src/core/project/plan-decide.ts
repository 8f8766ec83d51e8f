/**
 * Decisions on the plan of a project. A person, or a program in a person's name, plans, accepts and removes
 * tickets. A session can only propose: what it proposes counts once a person or the rule of the project
 * accepts it, and the rule never changes a ticket that is planned. So no session can add, change or weaken
 * the checks of a ticket, its own least of all.
 */
import { isWorker } from "../check/decide.ts";
import { accept, refuse, type Decision, type DraftEvent } from "../decision.ts";
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import type { PlannedTicket, PlanRule, PlanState, ProposedTicket } from "./plan.ts";
import { cycleIn, type TicketDraft } from "./ticket.ts";

export type PlanCommand =
  | {
      readonly do: "plan";
      readonly tickets: readonly TicketDraft[];
      readonly remove?: readonly string[] | undefined;
      /** Tickets that are not named are removed. */
      readonly replace?: boolean | undefined;
      readonly reason?: string | undefined;
    }
  | {
      readonly do: "propose";
      readonly tickets: readonly TicketDraft[];
      readonly session: string;
      /** The session, and those that it comes from. */
      readonly line: readonly string[];
    }
  | { readonly do: "accept-tickets"; readonly tickets: readonly string[] }
  | {
      readonly do: "reject-tickets";
      readonly tickets: readonly string[];
      readonly reason?: string | undefined;
    }
  | {
      readonly do: "start-ticket";
      readonly ticket: string;
      readonly session: string;
      readonly attempt: number;
    }
  | {
      readonly do: "settle-ticket";
      readonly ticket: string;
      readonly outcome: "done" | "failed";
      readonly session?: string | undefined;
      readonly reason?: string | undefined;
    }
  | {
      readonly do: "configure";
      readonly plan?: PlanRule | undefined;
      readonly agent?: string | null | undefined;
      readonly agents?: readonly string[] | undefined;
      readonly reason?: string | undefined;
    };

type CommandOf<K extends PlanCommand["do"]> = Extract<PlanCommand, { readonly do: K }>;

export interface PlanFacts {
  readonly actor: string;
  /** The head of the project's log. */
  readonly seq: number;
}

/** No drafts: the plan is so already. */
export function decidePlan(plan: PlanState, command: PlanCommand, facts: PlanFacts): Decision {
  if (command.do === "propose") return proposed(plan, command, facts);
  if (isWorker(facts.actor))
    return refuse(
      "refused",
      `project: ${facts.actor} cannot change the plan of a project`,
      "a session proposes tickets; a person accepts them",
    );
  switch (command.do) {
    case "plan":
      return planned(plan, command);
    case "accept-tickets":
      return accepted(plan, command.tickets);
    case "reject-tickets":
      return rejected(plan, command);
    case "start-ticket":
      return started(plan, command);
    case "settle-ticket":
      return settled(plan, command);
    case "configure":
      return configured(command);
  }
}

/** Dependencies by id. */
type Graph = ReadonlyMap<string, { readonly id: string; readonly after: readonly string[] }>;

function planned(plan: PlanState, { tickets, remove = [], replace, reason }: CommandOf<"plan">): Decision {
  const named = new Set(tickets.map(({ id }) => id));
  const gone = [
    ...new Set([
      ...remove,
      ...(replace === true ? [...plan.tickets.keys()].filter((id) => !named.has(id)) : []),
    ]),
  ];
  const unknown = gone.find((id) => !plan.tickets.has(id));
  if (unknown !== undefined) return noTicket(plan, unknown);
  const both = gone.find((id) => named.has(id));
  if (both !== undefined) return refuse("invalid", `project: ticket "${both}" is both planned and removed`);
  const next = new Map<string, TicketDraft | PlannedTicket>(plan.tickets);
  for (const id of gone) next.delete(id);
  for (const ticket of tickets) next.set(ticket.id, ticket);
  const mistake = repeated(tickets) ?? unlike(tickets, next) ?? wrongGraph(next, "ticket");
  if (mistake !== null) return mistake;
  const drafts = [
    ...gone.map((id) => withReason({ type: "ticket.removed", body: { ticket: id } }, reason)),
    ...tickets.flatMap((ticket) => {
      const before = plan.tickets.get(ticket.id);
      const isSame = before?.digest === ticket.digest && !plan.proposals.has(ticket.id);
      const settles = ticket.done === true && before?.settled?.outcome !== "done";
      const done = { type: "ticket.settled", body: { ticket: ticket.id, outcome: "done" } };
      return [
        ...(isSame ? [] : [{ type: "ticket.planned", ...definition(ticket) }]),
        ...(settles ? [done] : []),
      ];
    }),
  ];
  return bounded(drafts);
}

function proposed(
  plan: PlanState,
  { tickets, session, line }: CommandOf<"propose">,
  { seq: head }: PlanFacts,
): Decision {
  const taken = tickets.map((one) => unchangeable(plan, one.id, line)).find((one) => one !== null);
  if (taken !== undefined && taken !== null) return taken;
  const waiting = new Map<string, TicketDraft | PlannedTicket | ProposedTicket>(plan.tickets);
  for (const proposal of plan.proposals.values()) waiting.set(proposal.id, proposal);
  for (const ticket of tickets) waiting.set(ticket.id, ticket);
  const mistake = repeated(tickets) ?? unlike(tickets, waiting) ?? wrongGraph(waiting, "ticket");
  if (mistake !== null) return mistake;
  const drafts: DraftEvent[] = tickets.map((ticket) => {
    const { body, content } = definition(ticket);
    return { type: "ticket.proposed", body: { ...body, session }, content };
  });
  const fresh = tickets.flatMap((ticket, place) =>
    !plan.tickets.has(ticket.id) && isAcceptedByRule(plan.rule, ticket)
      ? [{ id: ticket.id, after: ticket.after, seq: head + place + 1 }]
      : [],
  );
  for (const { id, seq } of inOrder(fresh, new Set(plan.tickets.keys())).done)
    drafts.push({ type: "ticket.accepted", body: { ticket: id, seq, by: "rule" } });
  return bounded(drafts);
}

const isAcceptedByRule = (rule: PlanRule, { accept: checks = [] }: TicketDraft): boolean =>
  rule === "trust" || (rule === "extend" && checks.length === 0);

/** A session cannot change what it works on, nor what is begun or done. */
function unchangeable(plan: PlanState, id: string, line: readonly string[]): Decision | null {
  const known = plan.tickets.get(id);
  if (known === undefined) return null;
  if (known.runs.some(({ session }) => line.includes(session)))
    return refuse(
      "refused",
      `plan: ticket "${id}": the session that works on a ticket cannot change it`,
      "say in your answer what is wrong with it; a person can change it",
    );
  if (known.settled?.outcome === "done") return refuse("refused", `plan: ticket "${id}" is done`);
  if (known.runs.length === 0 || known.settled !== null) return null;
  return refuse("refused", `plan: ticket "${id}" has started`, "propose another ticket");
}

function accepted(plan: PlanState, ids: readonly string[]): Decision {
  const given = [...new Set(ids)];
  const missing = given.find((id) => !plan.proposals.has(id));
  if (missing !== undefined) return noProposal(plan, missing);
  const proposals = given.flatMap((id) => plan.proposals.get(id) ?? []);
  const { done, left } = inOrder(proposals, new Set(plan.tickets.keys()));
  const next = new Map<string, PlannedTicket | ProposedTicket>(plan.tickets);
  for (const one of proposals) next.set(one.id, one);
  const circle = circular(next);
  if (circle !== null) return circle;
  const [stuck] = left;
  if (stuck !== undefined) {
    const needs = stuck.after.filter((id) => !plan.tickets.has(id) && !given.includes(id));
    return refuse(
      "refused",
      `project: ticket "${stuck.id}" is after ${needs.join(", ")}, not in the plan`,
      "accept those too, or reject it",
    );
  }
  return bounded(done.map(({ id, seq }) => ({ type: "ticket.accepted", body: { ticket: id, seq } })));
}

/** Those whose dependencies are in the plan or among them, each behind its own. */
function inOrder<T extends { readonly id: string; readonly after: readonly string[] }>(
  tickets: readonly T[],
  known: Set<string>,
): { readonly done: readonly T[]; readonly left: readonly T[] } {
  const done: T[] = [];
  let left = tickets;
  for (let before = -1; before !== left.length;) {
    before = left.length;
    const now = left.filter(({ after }) => after.every((id) => known.has(id)));
    done.push(...now);
    for (const { id } of now) known.add(id);
    left = left.filter((one) => !now.includes(one));
  }
  return { done, left };
}

function rejected(plan: PlanState, { tickets, reason }: CommandOf<"reject-tickets">): Decision {
  const given = [...new Set(tickets)];
  const missing = given.find((id) => !plan.proposals.has(id));
  if (missing !== undefined) return noProposal(plan, missing);
  return bounded(
    given.map((id) =>
      withReason({ type: "ticket.rejected", body: { ticket: id, seq: plan.proposals.get(id)?.seq } }, reason),
    ),
  );
}

function started(plan: PlanState, { ticket, session, attempt }: CommandOf<"start-ticket">): Decision {
  const known = plan.tickets.get(ticket);
  if (known === undefined) return noTicket(plan, ticket);
  if (known.runs.some((run) => run.session === session)) return accept();
  return accept({ type: "ticket.started", body: { ticket, session, attempt } });
}

function settled(
  plan: PlanState,
  { ticket, outcome, session, reason }: CommandOf<"settle-ticket">,
): Decision {
  const known = plan.tickets.get(ticket);
  if (known === undefined) return noTicket(plan, ticket);
  if (session !== undefined && known.runs.at(-1)?.session !== session)
    return refuse("refused", `project: ${session} does not work on ticket "${ticket}"`, "it has no such run");
  const isSame = known.settled?.outcome === outcome && known.settled.session === (session ?? null);
  if (isSame) return accept();
  const body = present({ ticket, outcome, session });
  return accept(withReason({ type: "ticket.settled", body }, reason));
}

function configured({ do: _, reason, ...settings }: CommandOf<"configure">): Decision {
  const body = present(settings);
  if (Object.keys(body).length === 0)
    return refuse("invalid", "project: specify at least one setting", "such as plan: approve");
  return accept(withReason({ type: "project.configured", body }, reason));
}

function definition(ticket: TicketDraft) {
  const { id, title, text, after, agent, budget, labels, accept: checks = [], digest } = ticket;
  return {
    body: present({ ticket: id, after, digest, checks: checks.length, agent, budget }),
    content: present({
      title,
      text: text === "" ? undefined : text,
      labels,
      accept: checks.length === 0 ? undefined : checks,
    }),
  };
}

function repeated(tickets: readonly TicketDraft[]): Decision | null {
  const seen = new Set<string>();
  const twice = tickets.find(({ id }) => seen.has(id) || !seen.add(id));
  return twice === undefined ? null : refuse("invalid", `project: duplicate ticket "${twice.id}"`);
}

/** Branches that differ only in case are the same on some machines. */
function unlike(tickets: readonly TicketDraft[], all: Graph): Decision | null {
  const named = new Set(tickets.map(({ id }) => id));
  const byLower = new Map<string, string>();
  for (const id of all.keys()) {
    const other = byLower.get(id.toLowerCase());
    if (other !== undefined && (named.has(id) || named.has(other)))
      return refuse("invalid", `project: tickets "${other}" and "${id}" differ only in case`, "rename one");
    byLower.set(id.toLowerCase(), id);
  }
  return null;
}

function wrongGraph(all: Graph, what: string): Decision | null {
  if (all.size > limit.ticketsMax)
    return refuse("refused", `a plan has at most ${limit.ticketsMax} tickets, got ${all.size}`);
  for (const { id, after } of all.values()) {
    if (after.length > limit.ticketAfterMax)
      return refuse("invalid", `${what} "${id}": after: expected at most ${limit.ticketAfterMax} tickets`);
    const unknown = after.find((one) => !all.has(one));
    if (unknown !== undefined)
      return refuse(
        "invalid",
        `${what} "${id}": after: there is no ticket "${unknown}"`,
        "plan it too, or remove the dependency",
      );
  }
  return circular(all);
}

function circular(all: Graph): Decision | null {
  const cycle = cycleIn(all.values());
  if (cycle === null) return null;
  const [first = ""] = cycle;
  return refuse(
    "invalid",
    `after: circular dependency: ${[...cycle, first].join(" after ")}`,
    "remove one of these dependencies",
  );
}

const bounded = (drafts: readonly DraftEvent[]): Decision =>
  drafts.length <= limit.appendRecordsMax
    ? accept(...drafts)
    : refuse(
        "invalid",
        `project: at most ${limit.appendRecordsMax} changes of the plan at once, got ${drafts.length}`,
        "change it in parts",
      );

const noTicket = ({ tickets }: PlanState, id: string): Decision =>
  refuse("not-found", `the plan has no ticket "${id}"`, listed([...tickets.keys()], "its tickets"));

const noProposal = ({ proposals }: PlanState, id: string): Decision =>
  refuse(
    "not-found",
    `no ticket "${id}" is proposed`,
    proposals.size === 0 ? "nothing is proposed" : listed([...proposals.keys()], "proposed"),
  );

const listed = (ids: readonly string[], what: string): string =>
  ids.length === 0
    ? '"skein project plan ID --file plan.md" sets a plan'
    : `${what}: ${ids.slice(0, 10).join(", ")}`;

const withReason = (draft: DraftEvent, reason: string | undefined): DraftEvent =>
  reason === undefined ? draft : { ...draft, content: { reason } };
