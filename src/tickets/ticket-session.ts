/**
 * The start of a ticket: its worktree, its session, its first input. Each step finds the result of an earlier
 * attempt: the branch by its mark, the session by a key derived from plan and ticket, the input by its key.
 */
import { present } from "../core/present.ts";
import { join, relative, resolve, sep } from "node:path";
import type { AgentDefinition } from "../core/workspace/agent.ts";
import { namedChecks } from "../core/check/check.ts";
import type { Budget } from "../core/budget/commands.ts";
import type { Binding } from "../core/tool/commands.ts";
import { SkeinError } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Ticket } from "./plan-draft.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import { realWorld } from "../runtime/world.ts";
import { inTurn, makeWorktree, type PlanRepository, type Worktree } from "./git-worktree.ts";
import { acceptedWhen } from "./ticket-proof.ts";
import { textMark, type TicketRow } from "./ticket-status.ts";

const world = realWorld();

/** The options that all tickets of a run share. */
export interface TicketRunSettings {
  readonly plan: string;
  /** The project that keeps the plan. */
  readonly project: string | undefined;
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly budget: Budget | undefined;
  readonly bind: readonly Binding[];
  /** Their working directory, unless each has a worktree. */
  readonly directory: string;
  /** Null: without worktrees. */
  readonly repository: PlanRepository | null;
}

/** Opens the session of a ticket. `before` are the rows of its predecessors. */
export async function beginTicket(
  engine: Engine,
  ticket: Ticket,
  manner: TicketRunSettings,
  { last, before }: { readonly last: TicketRow; readonly before: readonly TicketRow[] },
): Promise<SessionId> {
  const worktree = await worktreeOf(engine, ticket, manner, { last, before });
  if (typeof worktree === "string") return worktree;
  const agent = ticket.agent ?? manner.agent;
  const budget = ticket.budget ?? manner.budget;
  const own = (await agentNamed(engine, agent))?.bind ?? [];
  const options = {
    objective: ticket.title,
    name: `${ticket.id}: ${ticket.title}`.slice(0, limit.nameCharsMax),
    ...(ticket.text === "" ? {} : { instructions: ticket.text }),
    constraints: constraintsOf(ticket, manner, worktree),
    ...present({ agent, model: manner.model, budget, accept: ticket.accept, project: manner.project }),
    bind: bindingsOf(own, manner, worktree),
    // The work of its predecessors, and of an earlier attempt.
    handoffs: [...before, last].flatMap(({ session }) => session ?? []),
  };
  for (let attempt = last.attempt + 1; ; attempt++) {
    const labels = labelsOf(ticket, manner.plan, { attempt, branch: worktree?.branch });
    // The same for every process: of two that start this attempt, only one opens the session.
    const key = `ticket ${manner.plan} ${ticket.id} ${attempt}`;
    try {
      return (await engine.open({ ...options, labels, key })).id;
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      // Another process was faster; or the session was deleted, and its key is not reused.
      const found = await attemptOf(engine, manner.plan, ticket.id, attempt);
      if (found !== null) return found;
    }
  }
}

/** The definition of an agent, by `name` or `name@version`; null if only the name exists. */
export async function agentNamed(engine: Engine, agent: string | undefined): Promise<AgentDefinition | null> {
  if (agent === undefined) return null;
  const [, name = agent, version] = /^(.*)@(\d{1,9})$/.exec(agent) ?? [];
  if (version !== undefined) return (await engine.agent(name, { version: Number(version) })).definition;
  try {
    return (await engine.agent(name)).definition;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}

/** The session of an attempt, or of a later one; null if there is none. */
async function attemptOf(
  engine: Engine,
  plan: string,
  ticket: string,
  attempt: number,
): Promise<SessionId | null> {
  const { rows } = await engine.sessions({ labels: { plan, ticket }, limit: limit.listMax });
  const found = rows.find(
    ({ labels, copy, parent }) =>
      copy !== true && parent === null && (Number(labels["attempt"] ?? "1") || 1) >= attempt,
  );
  return found?.session ?? null;
}

/** The first input, once: nothing runs before it. */
export async function messageTicket(
  engine: Engine,
  session: SessionId,
  { title, text }: Ticket,
): Promise<void> {
  const said = text === "" ? title : text.length <= repeatedCharsMax ? text : `${title}\n\n${pointed}`;
  await (await engine.session(session)).append(said, { key: "ticket" });
}

/** A longer text appears only in the instructions. */
const repeatedCharsMax = 4_000;
const pointed = "Your instructions say what is to be done.";

/** If another process has started the ticket meanwhile, its session: the worktree belongs to that one. */
async function worktreeOf(
  engine: Engine,
  { id, after }: Ticket,
  { plan, repository }: TicketRunSettings,
  { last, before }: { readonly last: TicketRow; readonly before: readonly TicketRow[] },
): Promise<Worktree | SessionId | null> {
  if (repository === null) return null;
  const branches = after.flatMap((one) => before.find(({ ticket }) => ticket === one)?.branch ?? []);
  return inTurn(world, repository, async () => {
    const session = await attemptOf(engine, plan, id, last.attempt + 1);
    if (session !== null) return session;
    return makeWorktree(world, repository, { plan, id, after: branches, isBegun: last.attempt > 0 });
  });
}

function constraintsOf(
  { id, accept = [] }: Ticket,
  { plan }: TicketRunSettings,
  worktree: Worktree | null,
): string[] {
  const own = `This is ticket ${id} of the plan ${plan}. Do what it asks for, and nothing else of the plan.`;
  const accepted = acceptedWhen(namedChecks(accept));
  if (worktree === null) return [own, ...accepted];
  return [
    own,
    ...accepted,
    `You have a Git worktree of your own, on the branch ${worktree.branch}. Stay on it. What you do not ` +
      "commit is committed when you are done.",
  ];
}

const labelsOf = (
  ticket: Ticket,
  plan: string,
  { attempt, branch }: { readonly attempt: number; readonly branch: string | undefined },
): Readonly<Record<string, string>> => ({
  ...ticket.labels,
  plan,
  ticket: ticket.id,
  text: textMark(ticket),
  ...(attempt === 1 ? {} : { attempt: String(attempt) }),
  ...present({ branch }),
});

/**
 * Of the agent and the run, inside the worktree if they are in the repository; at least the directory itself.
 */
export function bindingsOf(
  own: readonly Binding[],
  { bind, directory, repository }: TicketRunSettings,
  worktree: Pick<Worktree, "directory"> | null,
): Binding[] {
  const moved = (path: string): string => {
    const whole = resolve(directory, path);
    if (repository === null || worktree === null) return whole;
    const inside = relative(repository.top, whole);
    const isInside = inside !== ".." && !inside.startsWith(`..${sep}`) && resolve(inside) !== inside;
    return isInside ? join(worktree.directory, inside) : whole;
  };
  const bound = [...own, ...bind].map((one): Binding => {
    if (one.path === undefined) return one.kind === "shell" ? { ...one, path: moved(".") } : one;
    const named = one.name === undefined && one.kind !== "shell" ? { name: one.path } : {};
    return { ...one, ...named, path: moved(one.path) };
  });
  const last = new Map(bound.map((one) => [one.name ?? one.path ?? one.url ?? one.kind, one]));
  if (bound.some(({ kind }) => kind === "directory")) return [...last.values()];
  return [{ kind: "directory", name: ".", path: moved("."), mode: "write" }, ...last.values()];
}
