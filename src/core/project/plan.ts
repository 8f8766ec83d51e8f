/**
 * The plan of a project: its tickets, and what sessions propose for it. A part of the state of a project,
 * folded from the same log, total and without contents.
 */
import type { Amounts } from "../state.ts";
import type { ProjectRecord } from "./project.ts";

export const planRules = ["extend", "approve", "trust"] as const;
/**
 * What becomes of a new ticket that a session proposes. `extend`: it is in the plan, unless it has checks;
 * then a person accepts it. `approve`: a person accepts each. `trust`: each is in the plan, with its checks.
 * A change of a planned ticket always waits for a person.
 */
export type PlanRule = (typeof planRules)[number];

/** A ticket of a project, without its texts: they are in the content at `seq`. */
export interface PlannedTicket {
  readonly id: string;
  readonly after: readonly string[];
  readonly agent: string | null;
  readonly budget: Amounts | null;
  /** The number of its accept checks. */
  readonly checks: number;
  readonly digest: string;
  /** The position of its definition. */
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  /** The session that proposed it; null for one that a person planned. */
  readonly proposedBy: string | null;
  /** The sessions that worked on it, the newest last. */
  readonly runs: readonly { readonly session: string; readonly attempt: number; readonly seq: number }[];
  /** Null until it has ended, and again once it is started again. */
  readonly settled: {
    readonly outcome: "done" | "failed";
    readonly session: string | null;
    readonly seq: number;
    readonly at: number;
  } | null;
}

/** A proposed ticket, or a proposed change of one with the same id. */
export type ProposedTicket = Omit<PlannedTicket, "runs" | "settled" | "proposedBy"> & {
  readonly session: string;
};

type Fields = Readonly<Record<string, unknown>>;

export class PlanState {
  rule: PlanRule = "extend";
  /** Of sessions that name none. */
  agent: string | null = null;
  /** Empty: all. */
  agents: readonly string[] = [];
  /** In the order of the plan. */
  readonly tickets = new Map<string, PlannedTicket>();
  /** What waits to be accepted: at most one for each id. */
  readonly proposals = new Map<string, ProposedTicket>();

  /** Applies a record of the plan; others change nothing. */
  apply(record: ProjectRecord, body: Fields): void {
    const id = String(body["ticket"]);
    const ticket = this.tickets.get(id);
    const proposal = this.proposals.get(id);
    const { seq, at } = record;
    switch (record.type) {
      case "ticket.planned":
        this.#plan(id, { ...definitionOf(record, body), proposedBy: null });
        return;
      case "ticket.proposed":
        this.proposals.delete(id);
        this.proposals.set(id, { ...definitionOf(record, body), session: String(body["session"]) });
        return;
      case "ticket.accepted":
        if (proposal === undefined || proposal.seq !== body["seq"]) return;
        this.#plan(id, { ...proposal, proposedBy: proposal.session });
        return;
      case "ticket.rejected":
        if (proposal?.seq === body["seq"]) this.proposals.delete(id);
        return;
      case "ticket.removed":
        this.tickets.delete(id);
        return;
      case "ticket.started": {
        if (ticket === undefined) return;
        const run = { session: String(body["session"]), attempt: Number(body["attempt"]) || 1, seq };
        this.tickets.set(id, { ...ticket, runs: [...ticket.runs, run], settled: null });
        return;
      }
      case "ticket.settled": {
        if (ticket === undefined) return;
        const outcome = body["outcome"] === "done" ? "done" : "failed";
        const session = typeof body["session"] === "string" ? body["session"] : null;
        this.tickets.set(id, { ...ticket, settled: { outcome, session, seq, at } });
        return;
      }
      case "project.configured":
        this.#configure(body);
        return;
      default:
    }
  }

  /** A planned ticket keeps its place and what was done for it. */
  #plan(id: string, { session: _, ...now }: Omit<PlannedTicket, "runs" | "settled"> & { session?: string }) {
    const { runs = [], settled = null } = this.tickets.get(id) ?? {};
    this.tickets.set(id, { ...now, runs, settled });
    this.proposals.delete(id);
  }

  #configure({ plan, agent, agents }: Fields): void {
    this.rule = planRules.find((one) => one === plan) ?? this.rule;
    if (agent === null || typeof agent === "string") this.agent = agent;
    if (Array.isArray(agents)) this.agents = agents.map(String);
  }
}

function definitionOf({ seq, at, actor }: ProjectRecord, body: Fields) {
  const { ticket, after, digest, checks, agent = null, budget = null } = body;
  return {
    id: String(ticket),
    after: Array.isArray(after) ? after.map(String) : [],
    digest: String(digest),
    checks: Number(checks) || 0,
    agent: agent as string | null,
    budget: budget as Amounts | null,
    seq,
    at,
    actor,
  };
}
