/**
 * The beginning of a ticket: its worktree, its session, its first input. Each step finds what an earlier try
 * has left: the branch by its mark, the session by an id that follows from plan and ticket, the input by its
 * key.
 */
import { join, relative, resolve, sep } from "node:path";
import type { AgentDefinition } from "../core/workspace/agent.ts";
import type { Budget } from "../core/budget/commands.ts";
import type { Loaded } from "../core/session/commands.ts";
import type { Binding } from "../core/tool/commands.ts";
import { SkeinError } from "../core/error.ts";
import { makeSessionId, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Ticket } from "./plan-draft.ts";
import { instructionFiles, prepareOpening } from "../runtime/branch/bootstrap.ts";
import type { Deps } from "../runtime/deps.ts";
import { handoffDocument } from "../runtime/branch/handoff.ts";
import { inTurn, makeWorktree, type Repository, type Worktree } from "./git-worktree.ts";
import { textMark, type TicketRow } from "./ticket-status.ts";

/** What all tickets of a run get. */
export interface Manner {
  readonly plan: string;
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly budget: Budget | undefined;
  readonly bind: readonly Binding[];
  /** Where they work, unless each has a worktree. */
  readonly directory: string;
  /** Null: without worktrees. */
  readonly repository: Repository | null;
}

/** The same for every process that begins this ticket for the so-manieth time. */
function sessionIdOf({ world, store }: Deps, plan: string, ticket: string, attempt: number): SessionId {
  const hex = world.digest("", `${store.workspace}\nticket\n${plan}\n${ticket}\n${attempt}`);
  const random = Uint8Array.from({ length: 10 }, (_, place) =>
    Number.parseInt(hex.slice(place * 2, place * 2 + 2), 16),
  );
  return makeSessionId({ nowMs: 0, random });
}

/** Opens the session of a ticket. `before` are the rows of the tickets that it comes after. */
export async function beginTicket(
  deps: Deps,
  ticket: Ticket,
  manner: Manner,
  { last, before }: { readonly last: TicketRow; readonly before: readonly TicketRow[] },
): Promise<SessionId> {
  const worktree = await worktreeOf(deps, ticket, manner, { last, before });
  if (typeof worktree === "string") return worktree;
  const agent = ticket.agent ?? manner.agent;
  const budget = ticket.budget ?? manner.budget;
  const opening = await prepareOpening(deps, {
    objective: ticket.title,
    name: `${ticket.id}: ${ticket.title}`.slice(0, limit.nameCharsMax),
    ...(ticket.text === "" ? {} : { instructions: ticket.text }),
    constraints: constraintsOf(ticket, manner, worktree),
    ...(agent === undefined ? {} : { agent }),
    ...(manner.model === undefined ? {} : { model: manner.model }),
    ...(budget === undefined ? {} : { budget }),
  });
  const definition = opening.pin?.definition as AgentDefinition | undefined;
  const bind = bindingsOf(definition?.bind ?? [], manner, worktree);
  const documents = [...(await handoffsOf(deps, [...before, last])), ...(await instructionFiles(deps, bind))];
  const { bind: _, documents: __, ...rest } = opening;
  const { workspace } = deps.store;
  for (let attempt = last.attempt + 1; ; attempt++) {
    const id = sessionIdOf(deps, manner.plan, ticket.id, attempt);
    const labels = labelsOf(deps, ticket, manner.plan, { attempt, branch: worktree?.branch });
    const command = {
      do: "open",
      workspace,
      ...rest,
      bind,
      labels,
      ...(documents.length === 0 ? {} : { documents }),
    } as const;
    try {
      await deps.writer.begin(id, { command }, { actor: deps.actor });
      return id;
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      // Somebody else who runs the plan was quicker; or it was deleted, and its id is not used again.
      if ((await deps.store.head(id)) !== undefined) return id;
    }
  }
}

/** The first input, once: until it is there nothing runs. */
export async function tellTicket(deps: Deps, session: SessionId, { title, text }: Ticket): Promise<void> {
  const said = text === "" ? title : text.length <= repeatedCharsMax ? text : `${title}\n\n${pointed}`;
  const command = { do: "append", records: [{ type: "input.received", text: said }] } as const;
  await deps.writer.change(session, command, { actor: deps.actor, key: "ticket" });
}

/** A longer text stands in the instructions alone. */
const repeatedCharsMax = 4_000;
const pointed = "Your instructions say what is to be done.";

/** Where somebody else has begun the ticket in the meantime, its session: the worktree is that one's. */
async function worktreeOf(
  deps: Deps,
  { id, after }: Ticket,
  { plan, repository }: Manner,
  { last, before }: { readonly last: TicketRow; readonly before: readonly TicketRow[] },
): Promise<Worktree | SessionId | null> {
  if (repository === null) return null;
  const { world, store } = deps;
  const branches = after.flatMap((one) => before.find(({ ticket }) => ticket === one)?.branch ?? []);
  return inTurn(world, repository, async () => {
    const session = sessionIdOf(deps, plan, id, last.attempt + 1);
    if ((await store.head(session)) !== undefined) return session;
    return makeWorktree(world, repository, { plan, id, after: branches, isBegun: last.attempt > 0 });
  });
}

function constraintsOf({ id }: Ticket, { plan }: Manner, worktree: Worktree | null): string[] {
  const own = `This is ticket ${id} of the plan ${plan}. Do what it asks for, and nothing else of the plan.`;
  if (worktree === null) return [own];
  return [
    own,
    `You have a Git worktree of your own, on the branch ${worktree.branch}. Stay on it. What you do not ` +
      "commit is committed when you are done.",
  ];
}

const labelsOf = (
  deps: Deps,
  ticket: Ticket,
  plan: string,
  { attempt, branch }: { readonly attempt: number; readonly branch: string | undefined },
): Readonly<Record<string, string>> => ({
  ...ticket.labels,
  plan,
  ticket: ticket.id,
  text: textMark(deps, ticket),
  ...(attempt === 1 ? {} : { attempt: String(attempt) }),
  ...(branch === undefined ? {} : { branch }),
});

/** What the tickets before it leave, and what an earlier try at it left. */
async function handoffsOf(deps: Deps, rows: readonly TicketRow[]): Promise<Loaded[]> {
  const documents: Loaded[] = [];
  for (const { session } of rows) if (session !== null) documents.push(await handoffDocument(deps, session));
  return documents;
}

/** Of the agent and the run, in the worktree if they are in the repository; at least the directory itself. */
function bindingsOf(
  own: readonly Binding[],
  { bind, directory, repository }: Manner,
  worktree: Worktree | null,
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
