/**
 * The subpath `skein/tickets`: runs a plan, one session for each ticket, each started when its predecessors
 * are done. All progress is in the store and in the repository: a second run resumes, and several processes
 * may run one plan at once.
 */
import type { Budget } from "../core/budget/commands.ts";
import type { Binding } from "../core/tool/commands.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { checkFlags, checkLists, checkTexts } from "../core/option-check.ts";
import { present } from "../core/present.ts";
import { quote, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { errorText } from "../core/first-error.ts";
import { agentHint, isAgentWord } from "../core/workspace/agent.ts";
import { checkPlan, type Plan } from "./plan.ts";
import type { Ticket } from "./plan-draft.ts";
import { checkBinding, checkBudget } from "../runtime/options.ts";
import { agentNamed, beginTicket, messageTicket, type TicketRunSettings } from "./ticket-session.ts";
import {
  branchWork,
  commitAll,
  folderAt,
  headCommit,
  inTurn,
  repositoryOf,
  restoreWorktree,
  worktreeDirectory,
} from "./git-worktree.ts";
import {
  standingsOf,
  type PlanKnowledge,
  type TicketStanding,
  type TicketRow,
  type TicketTrouble,
} from "./ticket-status.ts";
import { isUnmarkable, markTickets, planFrom, planNow, workText } from "./project-plan.ts";
import { findingsOf, triesDefault, turnKey } from "./ticket-proof.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { Session } from "../runtime/engine/session.ts";
import type { ProjectPlan } from "../runtime/project/plan.ts";
import { realWorld } from "../runtime/world.ts";
import type { WorkerEvent } from "../runtime/worker/worker.ts";

export { mergePlan } from "./merge-queue.ts";
export type { MergePlanOptions, MergeRow, MergeStatus } from "./merge-queue.ts";
export { parsePlan } from "./plan.ts";
export { projectPlan } from "./project-plan.ts";
export type { Plan, PlanSource } from "./plan.ts";
export type { Ticket } from "./plan-draft.ts";
export type { TicketRow, TicketStatus } from "./ticket-status.ts";

/** Options of `runPlan`. */
export interface RunPlanOptions {
  /** The agent, unless a ticket names another. */
  readonly agent?: string;
  readonly model?: string;
  /** Concurrent tickets; default: 3 with worktrees, otherwise 1, because they share a directory. */
  readonly parallel?: number;
  /** Their working directory; default: the current directory. */
  readonly directory?: string;
  /** Additional bindings; paths within the repository refer to the ticket's worktree. */
  readonly bind?: readonly Binding[];
  /** Of each ticket, unless it has its own. */
  readonly budget?: Budget;
  /** Each in a separate Git worktree and branch. */
  readonly worktrees?: boolean;
  /** Their base; default: the checked-out commit. */
  readonly base?: string;
  /** False: uncommitted changes of a ticket stay uncommitted. */
  readonly commit?: boolean;
  /** How often a ticket is worked on until its checks pass, before it has failed; default: 3. */
  readonly tries?: number;
  /** Starts failed tickets again, and resumes those that an error suspended. */
  readonly retry?: boolean;
  /** Only validates and returns the status; changes nothing. */
  readonly dryRun?: boolean;
  /** Aborted: sessions stop before their next step. Running the plan again resumes. */
  readonly signal?: AbortSignal;
  /** Called with the rows whenever they may have changed. */
  readonly tell?: (rows: readonly TicketRow[]) => void;
  /** Called with a failure that is retried. */
  readonly note?: (text: string) => void;
}

const world = realWorld();
const known = ["agent", "model", "parallel", "directory", "bind", "budget", "worktrees", "base", "commit"];
const parallelUsual = 3;
const triesMax = 100;
/** The longest and the shortest interval between two checks. */
const lookMs = 1_000;
const restMs = 25;

/**
 * Lists the tickets of a plan, or of a project, with their status. Changes nothing.
 *
 * @example
 *   for (const { ticket, status } of await listTickets(engine, plan)) console.log(ticket, status);
 */
export async function listTickets(engine: Engine, plan: Plan | string): Promise<TicketRow[]> {
  return (await standingsOf(engine, checkPlan(await planNow(engine, plan)))).map(({ row }) => row);
}

/**
 * Runs a plan, or the plan of a project, until no ticket can advance, and returns the status of each. A
 * project's plan may grow meanwhile: what sessions add to it runs too.
 *
 * @example
 *   const plan = parsePlan(await readFile("plan.md", "utf8"), { file: "plan.md" });
 *   const rows = await runPlan(engine, plan, { agent: "coder", worktrees: true });
 */
export async function runPlan(
  engine: Engine,
  given: Plan | string,
  options: RunPlanOptions = {},
): Promise<readonly TicketRow[]> {
  const plan = await planNow(engine, given);
  const manner = await mannerOf(engine, plan, options);
  if (options.dryRun === true) return listTickets(engine, plan);
  return new PlanRun(engine, plan, manner, options).run();
}

/** Anything missing is reported before anything is created. */
async function mannerOf(engine: Engine, plan: Plan, options: RunPlanOptions): Promise<TicketRunSettings> {
  checkOptions("tickets", options, [...known, "tries", "retry", "dryRun", "signal", "tell", "note"]);
  checkPlan(plan);
  const { agent = plan.agent, model, parallel = 1, bind = [], budget, worktrees = false, base } = options;
  const { commit, retry, dryRun, directory: where } = options;
  checkTexts("tickets", { agent, model, base, directory: where });
  checkFlags("tickets", { worktrees, commit, retry, dryRun });
  if (agent !== undefined && !isAgentWord(agent))
    throw new SkeinError("invalid", `tickets: agent: invalid agent name ${quote(agent)}`, {
      hint: agentHint,
    });
  checkLists("tickets", { bind });
  if (!Number.isInteger(parallel) || parallel < 1 || parallel > limit.concurrencyMax) {
    throw new SkeinError(
      "invalid",
      `tickets: parallel: expected 1 to ${limit.concurrencyMax}, got ${quote(parallel)}`,
      {
        hint: "the number of tickets that run at once",
      },
    );
  }
  const { tries = triesDefault } = options;
  if (!Number.isInteger(tries) || tries < 1 || tries > triesMax)
    throw new SkeinError("invalid", `tickets: tries: expected 1 to ${triesMax}, got ${quote(tries)}`, {
      hint: "how often a ticket is worked on until its checks pass",
    });
  if (budget !== undefined) checkBudget(budget);
  for (const binding of bind) checkBinding(binding);
  if (base !== undefined && !worktrees) {
    throw new SkeinError("invalid", "tickets: base: requires worktrees", {
      hint: "add worktrees, or omit base",
    });
  }
  const directory = await folderAt(options.directory ?? ".");
  const left = plan.tickets.filter(({ done }) => done !== true);
  for (const name of new Set(left.map((ticket) => ticket.agent ?? agent))) {
    await engine.model(model ?? (await agentNamed(engine, name))?.model);
  }
  const repository = worktrees ? await repositoryOf(world, directory, base) : null;
  return { plan: plan.name, project: plan.project, agent, model, budget, bind, directory, repository };
}

class PlanRun {
  readonly #engine: Engine;
  #plan: Plan;
  readonly #manner: TicketRunSettings;
  readonly #options: RunPlanOptions;
  readonly #parallel: number;
  #tickets: ReadonlyMap<string, Ticket>;
  readonly #troubles = new Map<string, TicketTrouble>();
  readonly #proved = new Set<string>();
  readonly #known: PlanKnowledge;
  /** The checks that run, by session. */
  readonly #proving = new Map<SessionId, Promise<void>>();
  #failure: { readonly error: unknown } | null = null;
  #news = new AbortController();
  /** The run has ended: checks in progress stop, and run again with the next. */
  readonly #over = new AbortController();
  /** Failed tickets to start again, once each. */
  readonly #again = new Set<string>();
  /** The sessions started in this run: the same one must not appear twice. */
  readonly #begun = new Map<string, SessionId>();
  /** Sessions with a worktree in place. */
  readonly #placed = new Set<SessionId>();
  #going: readonly SessionId[] = [];
  /** What sessions have committed, for the journal of the project. */
  readonly #work = new Map<SessionId, string>();
  /** Said once: the project takes no marks. */
  #unmarked = false;

  constructor(engine: Engine, plan: Plan, manner: TicketRunSettings, options: RunPlanOptions) {
    this.#engine = engine;
    this.#plan = plan;
    this.#manner = manner;
    this.#options = options;
    const { tries = triesDefault } = options;
    this.#known = { troubles: this.#troubles, over: new Map(), tries, proved: this.#proved };
    this.#parallel = options.parallel ?? (manner.repository === null ? 1 : parallelUsual);
    this.#tickets = new Map(plan.tickets.map((ticket) => [ticket.id, ticket]));
  }

  async run(): Promise<readonly TicketRow[]> {
    if (this.#options.retry === true) await this.#retry();
    const stopped = this.#options.signal ?? new AbortController().signal;
    const worker = await this.#engine.work({
      concurrency: this.#parallel,
      only: () => this.#going,
      onEvent: (event) => {
        this.#note(event);
        this.#news.abort();
      },
    });
    // The worker stops at once, so that no further step begins; its end is awaited below.
    const stop = (): void => {
      this.#news.abort();
      worker.stop().catch(() => undefined);
    };
    stopped.addEventListener("abort", stop);
    try {
      for (;;) {
        this.#news = new AbortController();
        if (this.#failure !== null) throw this.#failure.error;
        const standings = await this.#look();
        if (!stopped.aborted && (await this.#act(standings))) continue;
        if (stopped.aborted || standings.every(({ row }) => row.status !== "running")) break;
        await world.sleep(restMs);
        await world.sleep(lookMs, this.#news.signal);
      }
    } finally {
      stopped.removeEventListener("abort", stop);
      await worker.stop();
      this.#over.abort();
      await Promise.all(this.#proving.values());
    }
    return (await this.#look()).map(({ row }) => row);
  }

  async #look(): Promise<readonly TicketStanding[]> {
    const project = await this.#renew();
    let found = await standingsOf(this.#engine, this.#plan, this.#known);
    if (await this.#place(found)) found = await standingsOf(this.#engine, this.#plan, this.#known);
    const standings = found.map((one) => {
      const isAgain = one.row.status === "failed" && this.#again.has(one.row.ticket);
      return isAgain ? { ...one, row: { ...one.row, status: "ready" as const, why: "once more" } } : one;
    });
    this.#going = standings.flatMap(({ row }) =>
      row.status === "running" && row.session !== null ? [row.session] : [],
    );
    const rows = standings.map(({ row }) => row);
    this.#options.tell?.(rows);
    if (project !== null) await this.#mark(project, rows);
    return standings;
  }

  /** The plan of a project as it is now. Null for one from a file. */
  async #renew(): Promise<ProjectPlan | null> {
    if (this.#plan.project === undefined) return null;
    const now = await this.#engine.plan(this.#plan.project);
    this.#plan = checkPlan(planFrom(now));
    this.#tickets = new Map(this.#plan.tickets.map((ticket) => [ticket.id, ticket]));
    return now;
  }

  async #mark(project: ProjectPlan, rows: readonly TicketRow[]): Promise<void> {
    try {
      await markTickets(this.#engine, project, rows, this.#work);
    } catch (error) {
      if (!isUnmarkable(error)) throw error;
      if (!this.#unmarked) this.#options.note?.(`the project is not told of its tickets: ${error.message}`);
      this.#unmarked = true;
    }
  }

  /** Restores the worktrees of sessions about to run. True if one cannot be restored. */
  async #place(standings: readonly TicketStanding[]): Promise<boolean> {
    const { repository, plan } = this.#manner;
    const before = this.#troubles.size;
    for (const { row } of standings) {
      const { session, branch, ticket: id } = row;
      if (repository === null || session === null || branch === null) continue;
      if (row.status !== "running" || this.#placed.has(session)) continue;
      await this.#try(row, "blocked", async () => {
        await inTurn(world, repository, () => restoreWorktree(world, repository, { plan, id, branch }));
        this.#placed.add(session);
      });
    }
    return this.#troubles.size > before;
  }

  /** Does the runner's share of the work. True if it changed something: then all is read again. */
  async #act(standings: readonly TicketStanding[]): Promise<boolean> {
    const due = standings.filter(({ row, due: what }) => what !== null && !this.#isProving(row));
    const proofs = due.filter((one) => one.due === "finish" && one.isChecked);
    for (const one of proofs) this.#startProof(one);
    const others = due.filter((one) => !proofs.includes(one));
    for (const one of others) await this.#try(one.row, "blocked", () => this.#rest(one));
    if (others.length > 0) return true;
    const free = this.#parallel - standings.filter(({ row }) => row.status === "running").length;
    const [next] = free > 0 ? standings.filter(({ row }) => row.status === "ready") : [];
    if (next === undefined) return false;
    const rows = standings.map(({ row }) => row);
    await this.#try(next.row, "failed", () => this.#begin(next.row, rows));
    return true;
  }

  /** A failure of one ticket does not affect the others. */
  async #try(
    { ticket }: TicketRow,
    status: TicketTrouble["status"],
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof SkeinError) || fatal.includes(error.code)) throw error;
      const hint = error.hint === undefined ? "" : ` (${error.hint})`;
      this.#troubles.set(ticket, { status, why: `${error.message}${hint}` });
    }
  }

  async #begin(row: TicketRow, rows: readonly TicketRow[]): Promise<void> {
    const ticket = this.#ticket(row);
    const before = rows.filter(({ ticket: id }) => ticket.after.includes(id));
    this.#again.delete(row.ticket);
    const session = await beginTicket(this.#engine, ticket, this.#manner, { last: row, before });
    if (this.#begun.get(row.ticket) === session) {
      throw new SkeinError("refused", `${session} belongs to this ticket, but lacks its labels`, {
        hint: `skein label ${session} plan=${this.#plan.name} ticket=${row.ticket}`,
      });
    }
    this.#begun.set(row.ticket, session);
    this.#placed.add(session);
    await messageTicket(this.#engine, session, ticket);
  }

  /** An idle session: gets its first input if it has none, or is closed. */
  async #rest({ row, due }: TicketStanding): Promise<void> {
    const { session } = row;
    if (session === null) return;
    if (due === "tell") return messageTicket(this.#engine, session, this.#ticket(row));
    if (due === "again") return this.#sendBack(await this.#engine.session(session));
    await this.#commit(row);
    const failure = due === "fail" ? (row.why ?? "it failed") : null;
    await this.#close(row, await this.#engine.session(session), failure);
  }

  readonly #isProving = ({ session }: TicketRow): boolean => session !== null && this.#proving.has(session);

  /** Checks take their time: meanwhile other tickets go on. */
  #startProof({ row }: TicketStanding): void {
    const { session } = row;
    if (session === null) return;
    const prove = async (): Promise<void> => {
      try {
        await this.#try(row, "blocked", () => this.#prove(row, session));
      } catch (error) {
        this.#failure ??= { error };
      }
      this.#proving.delete(session);
      this.#news.abort();
    };
    const proof = prove();
    this.#proving.set(session, proof);
  }

  /** Runs the checks on what is committed, and closes the session if all have passed. */
  async #prove(row: TicketRow, id: SessionId): Promise<void> {
    const stops = this.#options.signal === undefined ? [] : [this.#options.signal];
    const signal = AbortSignal.any([this.#over.signal, ...stops]);
    const session = await this.#engine.session(id);
    const commit = await this.#commit(row);
    try {
      const { passed } = await session.check(present({ commit, signal }));
      this.#proved.add(turnKey(id, await session.fold()));
      if (passed) await this.#close(row, session, null);
    } catch (error) {
      if (signal.aborted) return;
      // Another process runs it, or something was written meanwhile.
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      await world.sleep(lookMs, signal);
    }
  }

  /** What failed is the next input, once for each turn. */
  async #sendBack(session: Session): Promise<void> {
    const state = await session.fold();
    const text = await findingsOf(session, state, this.#known.tries);
    await session.append(text, { key: `accept ${state.standing.lastTurn}` });
  }

  /** Returns the commit that is checked out in the worktree of the ticket. */
  async #commit({ ticket, title, branch }: TicketRow): Promise<string | undefined> {
    const { repository, plan } = this.#manner;
    if (repository === null || branch === null || this.#options.commit === false) return undefined;
    const directory = worktreeDirectory(repository.top, plan, ticket);
    // Of two processes that find something to commit, the second would find nothing.
    return inTurn(world, repository, async () => {
      await commitAll(world, directory, `ticket ${ticket}: ${title}`);
      return headCommit(world, directory);
    });
  }

  /** Writes the handoff and closes the session, unless it received something meanwhile: then it continues. */
  async #close(row: TicketRow, session: Session, failure: string | null): Promise<void> {
    await this.#recordWork(row, session);
    await session.handoff();
    const { seq, standing } = await session.fold();
    if (standing.status !== "open" || standing.inbox.waiting.length > 0) return;
    const expect = { seq };
    const outcome = failure === null ? ("completed" as const) : ("failed" as const);
    const reason = failure === null ? {} : { reason: failure };
    await session.close({ outcome, ...reason, expect }).catch((error: unknown) => {
      const isOvertaken = error instanceof SkeinError && error.code === "conflict";
      if (!isOvertaken) throw error;
    });
  }

  /** What is committed becomes an item of the session, so that its handoff has it. */
  async #recordWork({ ticket, branch }: TicketRow, session: Session): Promise<void> {
    const { repository, plan } = this.#manner;
    if (repository === null || branch === null) return;
    const directory = worktreeDirectory(repository.top, plan, ticket);
    const work = await branchWork(world, directory, { base: repository.base, branch });
    if (work === null) return;
    this.#work.set(session.id, workText(work));
    await session.record("artifact", "git", work);
  }

  #note(event: WorkerEvent): void {
    if (event.type === "trouble") this.#options.note?.(event.text);
    if (event.type !== "failed" || event.againMs === null) return;
    const text = errorText(event.error);
    this.#options.note?.(`${event.session}: run failed, will be retried: ${text}`);
  }

  async #retry(): Promise<void> {
    for (const { row } of await standingsOf(this.#engine, this.#plan)) {
      if (row.session === null) continue;
      if (row.status === "failed") this.#again.add(row.ticket);
      const session = await this.#engine.session(row.session);
      const { status, why } = (await session.fold()).standing;
      if (status === "suspended" && why?.by === "error")
        await session.activate({ reason: "the plan is run again" });
    }
  }

  #ticket({ ticket }: TicketRow): Ticket {
    const found = this.#tickets.get(ticket);
    if (found === undefined) throw new Error(`invariant: ${ticket} is of the plan`);
    return found;
  }
}

/** Store failures: no other ticket can continue either. */
const fatal: readonly SkeinError["code"][] = ["corrupt", "unavailable", "unknown", "fenced"];
