/**
 * Successors: one append closes a session and opens the next. `clear` starts afresh; `rollover` goes on with
 * the work: the handoff, pinned items and, in the middle of a turn, the turn. In both the queue, triggers,
 * contracts, holds, open requests and what is left of the budget go over, and the old id leads to the new
 * one.
 */
import { handOverBudget, budgetLeft, type BudgetHandover } from "../../core/budget/budget.ts";
import type { Command, CommandOf } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { LoadedDocument } from "../../core/session/commands.ts";
import { continueRefusal } from "../../core/session/succession.ts";
import { emptyState, type State } from "../../core/state.ts";
import type { Part } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { assertReviewed } from "../govern/review.ts";
import { workedUntil } from "../log/child-refund.ts";
import { joinParts } from "../log/project-join.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { decideSealed, type SealedDrafts } from "../log/seal.ts";
import { indexEntry } from "../log/session-index.ts";
import { refused } from "../log/writer-errors.ts";
import { checkObjective } from "../options.ts";
import { readOne } from "../read/event-cache.ts";
import { readQueue, type QueuedRecord } from "../read/inbox.ts";
import { expectAt } from "../read/known-heads.ts";
import { distinct } from "./bootstrap.ts";
import { instructionFiles } from "./instruction-files.ts";
import {
  initialFilesOf,
  listCarryOver,
  triggersToMove,
  type CarryOver,
  type MovedTriggers,
} from "./carry-over.ts";
import { handoffAt } from "./handoff.ts";
import { hasNoMemory, noMemory } from "./memory-selection.ts";
import { nameOf, objectiveFor, takenNames, takeOver } from "./predecessor.ts";
import { inheritedChecks } from "./accepted.ts";
import { carriedInProject } from "./project-start.ts";
import { takesFrom } from "./takes.ts";

/** Options of `session.clear`. */
export interface ClearOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly reason?: string;
  /** The next session begins with the handoff of this one. */
  readonly handoff?: boolean;
}

/** Options of `session.rollover`. */
export interface RolloverOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly because?: string;
}

export interface SuccessionResult {
  readonly next: SessionId;
  readonly carriedOver: CarryOver | null;
}

/** How a session is continued. */
interface Manner extends ClearOptions {
  readonly call: "clear" | "rollover";
  /** Refused while a call is open. */
  readonly whole: boolean;
  readonly handoff: boolean;
  readonly lease?: RunOf | undefined;
}

/** The run that rolls its session over: its lease, released in the same append, and whose name it uses. */
export interface RunOf {
  readonly epoch: number;
  readonly history: number;
  readonly actor: string;
  /** It is what the agent's policy wants in the zone of the context: the causes in words. */
  readonly zone?: string | undefined;
}

export function clearSession(
  deps: Deps,
  session: SessionId,
  { handoff = false, reason, ...rest }: ClearOptions,
): Promise<SuccessionResult> {
  const why = reason ?? (handoff ? "handed off" : "cleared");
  return continueSession(deps, session, { ...rest, handoff, reason: why, call: "clear", whole: false });
}

/** `lease`: of the run that calls it between two steps. */
export function rolloverSession(
  deps: Deps,
  session: SessionId,
  { because = "rolled over", ...rest }: RolloverOptions,
  lease?: RunOf,
): Promise<SuccessionResult> {
  const how = { call: "rollover", whole: true, handoff: true, reason: because, lease } as const;
  return continueSession(deps, session, { ...rest, ...how });
}

async function continueSession(deps: Deps, session: SessionId, how: Manner): Promise<SuccessionResult> {
  const { writer } = deps;
  // If absent, it is the same as before; an empty one is invalid.
  if (how.objective !== undefined) checkObjective(how.call, how.objective);
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const before = await madeBefore(deps);
    if (before !== null) return { next: before, carriedOver: await carriedAgain(deps, session, how) };
    const state = await writer.current(session);
    if (how.lease !== undefined) writer.assertHistory(session, how.lease.history);
    assertReviewed(session, state);
    const refusal = continueRefusal(state, { whole: how.whole, epoch: how.lease?.epoch });
    if (refusal !== null && !refusal.ok) throw refused(refusal.refusal);
    const next = await freshSessionId(deps);
    const { parts, carriedOver } = await partsOf(deps, session, state, next, how);
    try {
      await writer.commit(parts);
      for (const part of parts) if (isSessionId(part.session)) writer.forget(part.session);
      return { next, carriedOver };
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", `${how.call}: ${session} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

/** What leaves the session with its end and belongs to the next one. */
interface Handover {
  readonly triggers: MovedTriggers;
  readonly budget: BudgetHandover | null;
  readonly queue: readonly QueuedRecord[];
  readonly handoff: Awaited<ReturnType<typeof handoffAt>> | null;
}

/** The end of the session, the beginning of the next, and their places in the chain and in the project. */
async function partsOf(
  deps: Deps,
  session: SessionId,
  state: State,
  next: SessionId,
  how: Manner,
): Promise<{ readonly parts: readonly Part[]; readonly carriedOver: CarryOver }> {
  const { store } = deps;
  const over: Handover = {
    triggers: await triggersToMove(store, session, state),
    budget: handOverBudget(state, await workedUntil(deps, state)),
    queue: await readQueue(store, session, state),
    handoff: how.handoff ? await handoffAt(deps, session, state) : null,
  };
  const { lease } = how;
  // A run opens the next session for the person of this one: their memory and cost, not those of a worker.
  const owner = lease === undefined ? deps.actor : await openerOf(deps, session, state);
  const opened = await opening({ ...deps, actor: owner }, state, { next, session, over, how });
  const named = lease === undefined ? deps : { ...deps, actor: lease.actor };
  const closed = await closing(named, session, state, { next, over, how });
  const { project } = state.standing;
  const joins = await joinParts(named, { project, session: next, actor: named.actor });
  const carriedOver = await listOf(deps, session, state, how);
  return { parts: [closed, opened, ...joins, ...(await pointer(named, state, next))], carriedOver };
}

/** Who opened it, or forked it. */
async function openerOf(deps: Deps, session: SessionId, { standing }: State): Promise<string> {
  const seq = standing.fork === null ? 1 : standing.fork.seq + 1;
  return (await readOne(deps, session, seq))?.actor ?? deps.actor;
}

async function closing(
  deps: Deps,
  session: SessionId,
  state: State,
  { next, over, how }: { readonly next: SessionId; readonly over: Handover; readonly how: Manner },
): Promise<Part> {
  const { store, world, actor, once } = deps;
  const triggers = over.triggers.settings.map(({ name }) => name);
  const limits = over.budget === null ? {} : { limits: over.budget.kept };
  const { reason, whole, lease } = how;
  // A session that another one paid for passes that on to its successor, which refunds it at its end.
  const command: Command = {
    do: "continue",
    to: next,
    whole,
    handoff: over.handoff?.command,
    handedOver: { triggers, ...limits },
    epoch: lease?.epoch,
    zone: lease?.zone,
    ...present({ reason }),
  };
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = accepted(decideSealed(world, state, command, { facts, key: once ?? null }));
  for (const { hash, bytes } of sealed.blobs) await store.putBlob(hash, [bytes]);
  const index = await indexEntry(store, session, state, sealed.events);
  const fence = lease === undefined ? {} : ({ epoch: lease.epoch, lease: "release" } as const);
  return { session, expect: expectAt(state), drafts: sealed.drafts, index, ...fence };
}

/** The first of a chain names the newest, so that the way there is short; see read/successor.ts. */
async function pointer(deps: Deps, { standing }: State, next: SessionId): Promise<readonly Part[]> {
  const { store, world, writer, actor } = deps;
  const { first } = standing;
  if (first === null || !isSessionId(first)) return [];
  const head = await store.head(first);
  if (head === undefined || head.copy === true) return [];
  const state = await writer.current(first);
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = decideSealed(world, state, { do: "point", to: next }, { facts, key: null });
  // It was reopened, or moved: then the chain is followed from one to the next.
  if ("refusal" in sealed) return [];
  return [{ session: first, expect: expectAt(state), drafts: sealed.drafts }];
}

async function opening(
  deps: Deps,
  state: State,
  to: {
    readonly next: SessionId;
    readonly session: SessionId;
    readonly over: Handover;
    readonly how: Manner;
  },
): Promise<Part> {
  const { store, world, actor } = deps;
  const { next, session, over, how } = to;
  const { pin, bind, ...rest } = await takeOver(store, session, state);
  const { triggers, budget, queue } = over;
  const { depth, closesWhenDone } = state.standing;
  const objective = await objectiveFor(store, session, state, how.objective);
  const name = how.name ?? (await nameOf(store, session, state));
  const whose = { objective, agent: rest.agent ?? null, definition: pin?.definition, project: rest.project };
  const isOff = await hasNoMemory(deps, session, state);
  const carried = isOff ? noMemory : await carriedInProject(deps, whose);
  const documents = await documentsOf(deps, session, state, {
    bind,
    ...present({ instructionFiles: rest.instructionFiles }),
    handoff: over.handoff?.document,
  });
  const command: Command = {
    do: "open",
    workspace: store.workspace,
    objective,
    from: session,
    bind,
    ...rest,
    ...present({ pin, name }),
    checks: await inheritedChecks(store, session, state),
    ...(documents.length === 0 ? {} : { documents }),
    ...(carried === null ? {} : { carried }),
    ...(triggers.settings.length === 0 ? {} : { triggers: triggers.settings }),
    ...(budget === null ? {} : paidBy(state, budget)),
    ...(depth === 0 ? {} : { depth }),
    ...(how.whole && closesWhenDone ? { closesWhenDone } : {}),
    takes: await takesFrom(deps, session, state, { queue, whole: how.whole, reason: how.reason }),
  };
  const facts = { actor, digest: world.digest, program: store.program };
  const { drafts, events, blobs } = accepted(decideSealed(world, emptyState, command, { facts, key: null }));
  for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
  const index = await indexEntry(store, next, emptyState, events);
  return { session: next, expect: "absent", drafts: withKeys(drafts, queue), index };
}

/** Queued inputs keep the keys of their callers: sent again, they are still the same. */
function withKeys(drafts: SealedDrafts["drafts"], queue: readonly QueuedRecord[]): SealedDrafts["drafts"] {
  const isInput = ({ type }: { readonly type: string }): boolean =>
    type === "input.received" || type === "message.received";
  let place = queue.length - drafts.filter(isInput).length;
  return drafts.map((draft) => {
    if (!isInput(draft)) return draft;
    const key = queue[place++]?.key ?? null;
    return key === null ? draft : { ...draft, key };
  });
}

async function documentsOf(
  deps: Deps,
  session: SessionId,
  state: State,
  given: {
    readonly bind: Parameters<typeof instructionFiles>[1];
    readonly instructionFiles?: Parameters<typeof instructionFiles>[2];
    readonly handoff: LoadedDocument | undefined;
  },
): Promise<readonly LoadedDocument[]> {
  const { files } = await initialFilesOf(deps.store, session, state);
  const own = given.handoff === undefined ? [] : [given.handoff];
  return distinct([...own, ...(await instructionFiles(deps, given.bind, given.instructionFiles)), ...files]);
}

/** The same list for the same state, so that a repeated call gets the same result. */
async function listOf(
  { store }: Deps,
  session: SessionId,
  state: State,
  { handoff, whole, name: renamed }: Manner,
): Promise<CarryOver> {
  const { files, erased: erasedFiles } = await initialFilesOf(store, session, state);
  const triggers = await triggersToMove(store, session, state);
  const left = budgetLeft(state);
  const limits = Object.keys(left).length === 0 ? null : left;
  const names = takenNames(await takeOver(store, session, state));
  const name = renamed === undefined ? await nameOf(store, session, state) : undefined;
  const taken = { state, files, erasedFiles, limits, triggers, handoff, name, ...names };
  return listCarryOver(session, { ...taken, succession: whole ? "rollover" : "clear" });
}

/** Null when the call had no key, or its records were deleted. */
async function carriedAgain(deps: Deps, session: SessionId, how: Manner): Promise<CarryOver | null> {
  const { store, states, once } = deps;
  const closedSeq = once === undefined ? undefined : await store.keyed(session, once);
  if (closedSeq === undefined) return null;
  return listOf(deps, session, await states.at(session, closedSeq - 1), how);
}

type Opening = CommandOf<"open">;

const paidBy = ({ standing: { payer } }: State, { limits, got }: BudgetHandover): Partial<Opening> => ({
  ...(Object.keys(limits).length === 0 ? {} : { limits }),
  ...(payer === null ? {} : { got, payer: payer.session }),
});

function accepted(decision: ReturnType<typeof decideSealed>): SealedDrafts {
  if (!("refusal" in decision)) return decision;
  throw refused(decision.refusal);
}
