/** Children: sessions that a session opens or forks itself, what they inherit, and how they end with it. */
import { inLine } from "../../core/handoff/text.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { Command, CommandOf } from "../../core/command.ts";
import { childPrefix, reportedEnds } from "../../core/trigger/drafts.ts";
import type { SessionAct } from "../../core/tool/session-action.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import { SkeinError } from "../../core/error.ts";
import { makeSessionId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import type { Amounts, OpenCall, State } from "../../core/state.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import { showAgent } from "../workspace/agents.ts";
import { allotment, depthBelow } from "./allotment.ts";
import { instructionFiles } from "./instruction-files.ts";
import { carriedForFork } from "./memory-selection.ts";
import { assertAgent, carriedInProject } from "./project-start.ts";
import { assertTakesSessions } from "../project/project-status.ts";
import { present } from "../../core/present.ts";
import { askInstead, strictRules } from "../govern/rules.ts";
import type { Deps } from "../deps.ts";
import { forkCommand } from "./fork.ts";
import { takeOver } from "./predecessor.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { childrenOf } from "../read/family.ts";

type OpenAct = Extract<SessionAct, { act: "open" }>;

/** The run of the session that makes a child. */
interface ParentRun {
  readonly session: SessionId;
  readonly lease: { readonly epoch: number; readonly history: number };
  readonly state: () => Promise<State>;
}

/**
 * The child, its share of the budget, the call's result and the trigger that waits for it are one append:
 * there is never an unknown child, nor a wait for a missing one.
 */
export async function openChild(
  deps: Deps,
  drive: ParentRun,
  call: { readonly id: string; readonly open: OpenCall; readonly actor: string },
  { wait = false, budget, ...asked }: OpenAct,
): Promise<void> {
  const { world, writer, store } = deps;
  const parent = drive.session;
  const child = makeSessionId({ nowMs: world.now(), random: world.random(10) });
  const before = await drive.state();
  const depth = depthBelow(before);
  const opening = await openingOf(deps, parent, before, asked);
  let got: Amounts = {};
  const settle = (state: State): Command => {
    if (wait) mayWait(state);
    got = allotment(state, budget);
    const act = { do: "allot", to: child, amounts: got, ...(wait ? { wait: endOf(child) } : {}) } as const;
    const output = wait ? { session: child, waits: "until it has ended" } : { session: child };
    return { do: "settle", call: call.id, status: "ok", output, act };
  };
  const begin = (): Command => ({
    do: "open",
    workspace: store.workspace,
    parent: { session: parent, seq: call.open.seq },
    depth,
    closesWhenDone: true,
    got,
    firstInput: toldFirst(parent),
    ...opening,
  });
  const { epoch, history } = drive.lease;
  const members = [
    { session: parent, epoch, history, build: settle },
    { session: child, build: begin, start: {} },
  ];
  await writer.together(members, { actor: call.actor });
}

/**
 * A fork that the session makes itself: a child that knows what its parent knows. Its objective is its first
 * input, so that a worker runs it; it is paid, ends and is waited for like an opened child.
 */
export async function forkChild(
  deps: Deps,
  drive: ParentRun,
  call: { readonly id: string; readonly open: OpenCall; readonly actor: string },
  { objective, name, budget, wait = false }: Extract<SessionAct, { act: "fork" }>,
): Promise<void> {
  const { world, writer } = deps;
  const child = makeSessionId({ nowMs: world.now(), random: world.random(10) });
  const state = await drive.state();
  if (wait) mayWait(state);
  const amounts = allotment(state, budget);
  const depth = depthBelow(state);
  const { command, from, parent } = await forkCommand(deps, drive.session, state.seq, {
    objective,
    // A fork without a name takes its parent's, and lists could not tell the two apart.
    name: name ?? inLine(objective, 60),
  });
  const carried = await carriedForFork(deps, drive.session, from, objective);
  const act = { do: "allot", to: child, amounts, ...(wait ? { wait: endOf(child) } : {}) } as const;
  const output = wait ? { session: child, waits: "until it has ended" } : { session: child };
  const born = { by: "session", depth, closesWhenDone: true, got: amounts } as const;
  const firstInput = forkToldFirst(drive.session, objective);
  await writer.together(
    [
      {
        session: child,
        build: { ...command, ...born, firstInput, ...(carried === null ? {} : { carried }) },
        start: { from, parent },
      },
      {
        session: drive.session,
        epoch: drive.lease.epoch,
        history: drive.lease.history,
        build: { do: "settle", call: call.id, status: "ok", output, act },
      },
    ],
    { actor: call.actor },
  );
}

/**
 * Checked before the child is made: a wait that cannot be written would leave it without a waiting parent.
 */
function mayWait(state: State): void {
  const { status, triggers } = state.standing;
  if (!mayIn(status, "sleep")) throw new SkeinError("conflict", `the session is already ${status}`);
  if (triggers.size - reportedEnds(state).length < limit.triggersMax) return;
  throw new SkeinError("refused", `a session waits for at most ${limit.triggersMax} others`, {
    hint: "wait for the existing ones, or omit wait",
  });
}

const endOf = (child: SessionId) => {
  const spec: SpecOf<"session"> = { kind: "session", sessions: [child], on: "end", all: true };
  return { name: `${childPrefix}${shortId(child)}`, kind: spec.kind, spec };
};

const toldFirst = (parent: SessionId): string =>
  `You were opened by the session ${parent}. Do what your objective says. When you have nothing more to ` +
  "do, this session ends, and the other is given what you leave: record the facts and decisions that it " +
  "needs.";

const forkToldFirst = (parent: SessionId, objective: string): string =>
  `You are a fork of the session ${parent}: what was said before was said there. Do this, and nothing else ` +
  `of what was asked before:\n\n${objective}\n\nWhen you have nothing more to do, this session ends, and ` +
  "the other is given what you leave: record the facts and decisions that it needs.";

/**
 * What a child starts with: bindings and permissions are its parent's, whatever its agent; from another agent
 * it has instructions, model and rules, and the denies and asks of the parent's agent hold as well.
 */
async function openingOf(
  deps: Deps,
  parent: SessionId,
  state: State,
  { objective, agent: named, name }: Pick<OpenAct, "objective" | "agent" | "name">,
): Promise<Omit<CommandOf<"open">, "do" | "workspace">> {
  await assertTakesSessions(deps, state.standing.project, "open");
  const taken = await takeOver(deps.store, parent, state);
  const { agent: own } = await agentOf(deps, parent, state);
  const other = named === undefined || named === taken.agent ? null : await showAgent(deps, named);
  const pin =
    other === null
      ? taken.pin
      : { agent: other.name, version: other.version, digest: other.digest, definition: other.definition };
  const definition = pin?.definition as AgentDefinition | undefined;
  const agent = pin?.agent ?? taken.agent;
  await assertAgent(deps, state.standing.project, agent);
  const model = other === null ? taken.model : (other.definition.model ?? taken.model);
  const { priority, constraints, bind } = taken;
  const instructions = other === null ? taken.instructions : undefined;
  const strict =
    other === null
      ? []
      : [...strictRules(own, taken.grant, "parent"), ...askInstead(other.definition, own, taken.grant)];
  const documents = await instructionFiles(deps, bind, taken.instructionFiles);
  const { project } = taken;
  const carried = await carriedInProject(deps, { objective, agent: agent ?? null, definition, project });
  return {
    objective,
    bind,
    grant: [...taken.grant, ...strict],
    ...present({
      name,
      agent,
      model,
      priority,
      constraints,
      instructions,
      pin,
      project,
      instructionFiles: taken.instructionFiles,
    }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(carried === null ? {} : { carried }),
  };
}

/** The sessions that a tree cancellation ended. */
export interface CancelTreeResult {
  /** In the order of their end: the deepest first, the session itself last. */
  readonly cancelled: readonly SessionId[];
}

/**
 * Cancels a session and all its live children, the deepest first, each in a separate append. The session
 * itself comes last: a repeated call continues after an interruption.
 */
export async function cancelTree(
  deps: Deps,
  session: SessionId,
  end: (session: SessionId) => Promise<void>,
): Promise<CancelTreeResult> {
  const cancelled: SessionId[] = [];
  const seen = new Set<SessionId>();
  const down = async (one: SessionId): Promise<void> => {
    for (const child of await childrenOf(deps, one)) {
      if (seen.has(child)) continue;
      seen.add(child);
      await down(child);
      if (!(await isLiving(deps, child))) continue;
      await end(child).catch(ifOver);
      cancelled.push(child);
      // Children that it opened meanwhile.
      await down(child);
    }
  };
  seen.add(session);
  await down(session);
  await end(session);
  cancelled.push(session);
  await down(session);
  return { cancelled };
}

async function isLiving({ store, writer }: Deps, session: SessionId): Promise<boolean> {
  const head = await store.head(session);
  if (head === undefined || head.copy === true) return false;
  return mayIn((await writer.current(session)).standing.status, "cancel");
}

/** It ended in the meantime. */
function ifOver(error: unknown): void {
  if (!(error instanceof SkeinError) || !["refused", "not-found"].includes(error.code)) throw error;
}
