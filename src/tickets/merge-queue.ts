/**
 * The merge queue: brings the branches of a plan's finished tickets to a base branch, one after the other, in
 * the order of their dependencies. The base moves only to a commit on which the checks have passed. There is
 * no state besides Git and the log: a second run continues, and several may wait for each other.
 */
import { join } from "node:path";
import type { AcceptCheck, NamedCheck } from "../core/check/check.ts";
import { namedChecks } from "../core/check/check.ts";
import { parseChecks } from "../core/check/text.ts";
import type { Budget } from "../core/budget/commands.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { quote, type SessionId } from "../core/ids.ts";
import { checkFlags, checkLists, checkTexts } from "../core/option-check.ts";
import type { Binding } from "../core/tool/commands.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import { checkBinding, checkBudget } from "../runtime/options.ts";
import { realWorld } from "../runtime/world.ts";
import { folderAt, inTurn, repositoryOf } from "./git-worktree.ts";
import { baseCommit, branchHead, isAncestor, mergeCandidate, type MergeBase } from "./merge-git.ts";
import {
  endLanding,
  landingOf,
  landTicket,
  provedCommit,
  type LandingSettings,
  type LandingTicket,
} from "./merge-landing.ts";
import { locked } from "./plan-lock.ts";
import { checkPlan, type Plan } from "./plan.ts";
import type { Ticket } from "./plan-draft.ts";
import { triesDefault } from "./ticket-proof.ts";
import { standingsOf, type TicketRow } from "./ticket-status.ts";

/** Options of `mergePlan`. */
export interface MergePlanOptions {
  /** The branch that tickets are merged into. It must exist, and must not be checked out. */
  readonly base: string;
  /** `rebase`: as commits after the base, where that does not conflict. Default: `merge`. */
  readonly method?: "merge" | "rebase";
  /** A directory of the repository; default: the current directory. */
  readonly directory?: string;
  /** Works on conflicts and failed checks, unless a ticket names another agent. Absent: a person does. */
  readonly agent?: string;
  readonly model?: string;
  readonly budget?: Budget;
  /** Additional bindings of the landing's session, such as a shell. */
  readonly bind?: readonly Binding[];
  /** Checks for every ticket, besides its own. */
  readonly accept?: readonly (AcceptCheck | string)[];
  /** Merges tickets without any check of a command or a file. */
  readonly unchecked?: boolean;
  /** How many turns a session has for a landing; default: 3. */
  readonly tries?: number;
  /** Reports what would be merged; changes no branch and runs nothing. */
  readonly dryRun?: boolean;
  /** Aborted: the landing in progress stops. The next run continues. */
  readonly signal?: AbortSignal;
  /** Called with the rows whenever they have changed. */
  readonly tell?: (rows: readonly MergeRow[]) => void;
}

/**
 * `merged`: the base has it. `ready` to land. `landing` now. `waiting` until it, or one that it depends on,
 * is done or merged. `conflict`, `failed` and `blocked` need a person.
 */
export type MergeStatus = "merged" | "ready" | "landing" | "waiting" | "conflict" | "failed" | "blocked";

/** A ticket in the merge queue. */
export interface MergeRow {
  readonly ticket: string;
  readonly title: string;
  readonly status: MergeStatus;
  readonly why: string | null;
  readonly branch: string | null;
  /** The commit that the base was moved to, or that was checked last. */
  readonly commit: string | null;
  /** The session of the landing. */
  readonly session: SessionId | null;
}

const world = realWorld();
const known = ["base", "method", "directory", "agent", "model", "budget", "bind", "accept", "unchecked"];
const triesMax = 100;

/**
 * Merges the finished tickets of a plan into a base branch, each after its checks have passed on the merged
 * tree, and returns where each stands.
 *
 * @example
 *   const rows = await mergePlan(engine, plan, { base: "integration" });
 *   for (const { ticket, status, why } of rows) console.log(ticket, status, why);
 */
export async function mergePlan(
  engine: Engine,
  plan: Plan,
  options: MergePlanOptions,
): Promise<readonly MergeRow[]> {
  const how = await settingsOf(engine, plan, options);
  const queue = new MergeQueue(how, plan, options);
  if (options.dryRun === true) return queue.rehearse();
  const { top } = how.base;
  // Creates the folder, which Git does not count as part of the project.
  await inTurn(world, { top, base: "" }, async () => undefined);
  return locked(world, join(top, ".skein", "merge.lock"), () => queue.run());
}

async function settingsOf(engine: Engine, plan: Plan, options: MergePlanOptions): Promise<LandingSettings> {
  checkOptions("merge", options, [...known, "tries", "dryRun", "signal", "tell"]);
  checkPlan(plan);
  const { base: name, method = "merge", agent, model, budget, bind = [], accept = [] } = options;
  const { tries = triesDefault, directory: where = "." } = options;
  if (typeof name !== "string" || name === "")
    throw new SkeinError("invalid", "merge: base is required", {
      hint: "name the branch that tickets are merged into; it must not be checked out",
    });
  checkTexts("merge", { agent, model, directory: where });
  checkFlags("merge", { unchecked: options.unchecked, dryRun: options.dryRun });
  checkLists("merge", { bind, accept });
  if (method !== "merge" && method !== "rebase")
    throw new SkeinError("invalid", `merge: method: expected merge or rebase, got ${quote(method)}`);
  if (!Number.isInteger(tries) || tries < 1 || tries > triesMax)
    throw new SkeinError("invalid", `merge: tries: expected 1 to ${triesMax}, got ${quote(tries)}`, {
      hint: "how many turns a session has for a landing",
    });
  if (budget !== undefined) checkBudget(budget);
  for (const binding of bind) checkBinding(binding);
  if (name.startsWith(`skein/${plan.name}/`))
    throw new SkeinError("invalid", `merge: base: ${quote(name)} is the branch of a ticket`, {
      hint: "name another branch",
    });
  const directory = await folderAt(where);
  const { top } = await repositoryOf(world, directory, undefined);
  const base: MergeBase = { top, name };
  const first = await baseCommit(world, base);
  const repository = { top, base: first };
  const settings = {
    plan: plan.name,
    project: plan.project,
    agent,
    model,
    budget,
    bind,
    directory,
    repository,
  };
  const signal = options.signal ?? new AbortController().signal;
  return { engine, plan: plan.name, base, method, agent, model, budget, settings, tries, signal };
}

class MergeQueue {
  readonly #how: LandingSettings;
  readonly #plan: Plan;
  readonly #options: MergePlanOptions;
  readonly #extra: readonly AcceptCheck[];
  /** Tickets that are merged, each cleared once by this run. */
  readonly #known = new Map<string, string>();
  /** Of a dry run: tickets that would be merged. */
  readonly #rehearsed = new Set<string>();
  #rows: readonly MergeRow[] = [];

  constructor(how: LandingSettings, plan: Plan, options: MergePlanOptions) {
    this.#how = how;
    this.#plan = plan;
    this.#options = options;
    this.#extra = parseChecks(options.accept ?? [], "merge: accept");
  }

  async run(): Promise<readonly MergeRow[]> {
    await this.#look(new Map());
    const tried = new Map<string, MergeRow>();
    for (;;) {
      const next = this.#rows.find(({ status }) => status === "ready");
      if (next === undefined || this.#how.signal.aborted) return this.#rows;
      this.#show(next.ticket, { status: "landing" });
      const one = await this.#landingOf(next);
      const landed = await landTicket(this.#how, one);
      if (landed.status === "stopped") {
        this.#show(next.ticket, { status: "ready", why: "stopped", session: landed.session });
        return this.#rows;
      }
      const { status, why, commit, session } = landed;
      tried.set(next.ticket, { ...next, status, why, commit, session });
      await this.#look(tried);
    }
  }

  /** Merges in memory: no branch moves, no worktree is made, no check runs. */
  async rehearse(): Promise<readonly MergeRow[]> {
    await this.#look(new Map());
    const { top } = this.#how.base;
    let base = await baseCommit(world, this.#how.base);
    const found = new Map<string, MergeRow>();
    for (;;) {
      const next = this.#rows.find((row) => row.status === "ready" && !found.has(row.ticket));
      if (next === undefined) break;
      const { head } = await this.#landingOf(next);
      const made = await mergeCandidate(world, top, { base, tip: head, message: "dry run" });
      if (made.commit !== null) {
        base = made.commit;
        this.#rehearsed.add(next.ticket);
      }
      const files = made.commit === null ? made.conflicts.slice(0, 5).join(", ") : "";
      const row: MergeRow =
        made.commit === null
          ? { ...next, status: "conflict", why: `would conflict in ${files}` }
          : { ...next, why: "would be merged" };
      found.set(next.ticket, row);
      await this.#look(found);
    }
    return this.#rows;
  }

  #show(ticket: string, changed: Partial<MergeRow>): void {
    this.#rows = this.#rows.map((row) => (row.ticket === ticket ? { ...row, ...changed } : row));
    this.#options.tell?.(this.#rows);
  }

  /** Where each ticket stands now, by Git and the log. `tried`: what this run found out about some. */
  async #look(tried: ReadonlyMap<string, MergeRow>): Promise<void> {
    const standings = await standingsOf(this.#how.engine, this.#plan);
    const tickets = new Map(this.#plan.tickets.map((one) => [one.id, one]));
    const rows = new Map<string, MergeRow>();
    for (const { row } of inOrder(standings, tickets)) {
      const ticket = tickets.get(row.ticket);
      if (ticket === undefined) continue;
      const open = ticket.after.filter((id) => rows.get(id)?.status !== "merged" && !this.#rehearsed.has(id));
      const before = tried.get(row.ticket);
      rows.set(
        row.ticket,
        before !== undefined && before.status !== "merged" ? before : await this.#rowOf(row, ticket, open),
      );
    }
    this.#rows = standings.flatMap(({ row }) => rows.get(row.ticket) ?? []);
    this.#options.tell?.(this.#rows);
  }

  async #rowOf(row: TicketRow, ticket: Ticket, open: readonly string[]): Promise<MergeRow> {
    const { branch, title } = row;
    const at = { ticket: row.ticket, title, branch, commit: null, session: null, why: null };
    if (row.status !== "done") return { ...at, status: "waiting", why: `the ticket is ${row.status}` };
    if (branch === null) return { ...at, status: "merged", why: "it has no branch" };
    const { top } = this.#how.base;
    const base = await baseCommit(world, this.#how.base);
    const head = await branchHead(world, top, branch);
    if (head === null) return this.#vanished(row, at, base);
    if (await isAncestor(world, top, head, base)) return this.#merged(at, ticket, head);
    const landing = await landingOf(this.#how.engine, this.#how, { ticket, head });
    const landed = landing === null ? null : provedCommit(await landing.fold());
    if (landed !== null && (await isAncestor(world, top, landed, base)))
      return this.#merged(at, ticket, head, landed);
    if (open.length > 0) return { ...at, status: "waiting", why: `after ${open.join(", ")}` };
    const checks = await this.#checksOf(row);
    if (checks.length === 0 && this.#options.unchecked !== true)
      return {
        ...at,
        status: "blocked",
        why: "it has no check of a command or file: --accept, or --unchecked",
      };
    return { ...at, status: "ready", session: landing?.id ?? null };
  }

  /** The base has it. What a killed landing left is cleared. */
  async #merged(
    at: Omit<MergeRow, "status">,
    ticket: Ticket,
    head: string,
    commit = head,
  ): Promise<MergeRow> {
    const session = (await landingOf(this.#how.engine, this.#how, { ticket, head }))?.id ?? null;
    const isNews = this.#known.get(ticket.id) !== commit;
    this.#known.set(ticket.id, commit);
    if (isNews && this.#options.dryRun !== true) await endLanding(this.#how, ticket.id, session, commit);
    return { ...at, status: "merged", commit, session };
  }

  /** A branch that was deleted: merged if the base has the commit that its checks passed on. */
  async #vanished(row: TicketRow, at: Omit<MergeRow, "status">, base: string): Promise<MergeRow> {
    const { top } = this.#how.base;
    const session = row.session === null ? null : await this.#how.engine.session(row.session);
    const commit = session === null ? null : provedCommit(await session.fold());
    if (commit !== null && (await isAncestor(world, top, commit, base)))
      return { ...at, status: "merged", commit, why: "its branch was deleted" };
    const name = at.branch ?? "";
    const way = `git branch ${name} ${commit ?? "COMMIT"}`;
    return { ...at, status: "failed", why: `its branch ${name} is missing: ${way}`, commit };
  }

  async #landingOf(row: MergeRow): Promise<LandingTicket> {
    const ticket = this.#plan.tickets.find(({ id }) => id === row.ticket);
    const head = await branchHead(world, this.#how.base.top, row.branch ?? "");
    if (ticket === undefined || row.branch === null || head === null)
      throw new SkeinError("refused", `merge: the branch of ${row.ticket} is missing`);
    const standings = await standingsOf(this.#how.engine, this.#plan);
    const own = standings.find((one) => one.row.ticket === row.ticket)?.row;
    return { ticket, branch: row.branch, head, checks: own === undefined ? [] : await this.#checksOf(own) };
  }

  /** The checks that the ticket's session was held to, and those of this queue, of commands and files. */
  async #checksOf({ session: id }: TicketRow): Promise<readonly NamedCheck[]> {
    const own: AcceptCheck[] = [];
    if (id !== null) {
      const session = await this.#how.engine.session(id);
      const last = { types: ["checks.set"], reverse: true, limit: 1 };
      for await (const { content } of session.events(last))
        own.push(...((content as { readonly checks?: readonly NamedCheck[] } | undefined)?.checks ?? []));
    }
    const all = [...own, ...this.#extra].filter(({ kind }) => kind === "command" || kind === "file");
    const names = new Set<string>();
    return namedChecks(
      all.map((check) => {
        const { name, ...rest } = check;
        const isTaken = name === undefined || names.has(name);
        if (name !== undefined) names.add(name);
        return isTaken ? rest : check;
      }),
    );
  }
}

/** Each after those that it depends on. */
function inOrder<Row extends { readonly row: TicketRow }>(
  standings: readonly Row[],
  tickets: ReadonlyMap<string, Ticket>,
): readonly Row[] {
  const found = new Map<string, Row>();
  const byId = new Map(standings.map((one) => [one.row.ticket, one]));
  const visit = (id: string): void => {
    const one = byId.get(id);
    if (one === undefined || found.has(id)) return;
    for (const before of tickets.get(id)?.after ?? []) visit(before);
    found.set(id, one);
  };
  for (const { row } of standings) visit(row.ticket);
  return [...found.values()];
}
