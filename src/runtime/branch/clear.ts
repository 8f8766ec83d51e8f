/**
 * Clear: one append closes a session and opens the next, with the same agent, bindings, permissions, triggers
 * and files, and with the rest of the budget.
 */
import { joinParts } from "../log/project-join.ts";
import { present } from "../../core/present.ts";
import type { Command, CommandOf } from "../../core/command.ts";
import type { LoadedDocument } from "../../core/session/commands.ts";
import { budgetLeft, handOverBudget, type BudgetHandover } from "../../core/budget/budget.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { emptyState, type State } from "../../core/state.ts";
import type { Part } from "../../store/port.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { distinct, instructionFiles } from "./bootstrap.ts";
import {
  initialFilesOf,
  listCarryOver,
  triggersToMove,
  type CarryOver,
  type MovedTriggers,
} from "./carry-over.ts";
import { carriedInProject } from "./project-start.ts";
import { handoffDocument } from "./handoff.ts";
import { expectAt } from "../read/known-heads.ts";
import { checkObjective } from "../options.ts";
import { workedUntil } from "../log/child-refund.ts";
import { decideSealed, type SealedDrafts } from "../log/seal.ts";
import { indexEntry } from "../log/session-index.ts";
import { nameOf, objectiveFor, takenNames, takeOver } from "./predecessor.ts";
import type { Deps } from "../deps.ts";
import { assertReviewed } from "../govern/review.ts";

/** Options of `session.clear`. */
export interface ClearOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly reason?: string;
  /** The next session begins with the handoff of this one. */
  readonly handoff?: boolean;
}

export interface ClearResult {
  readonly next: SessionId;
  readonly carriedOver: CarryOver | null;
}

type Opening = CommandOf<"open">;

export async function clearSession(
  deps: Deps,
  session: SessionId,
  options: ClearOptions,
): Promise<ClearResult> {
  const { writer } = deps;
  // If absent, it is the same as before; an empty one is invalid.
  if (options.objective !== undefined) checkObjective("clear", options.objective);
  for (let tries = 0; tries < limit.unknownRetriesMax; tries++) {
    const before = await madeBefore(deps);
    if (before !== null) return { next: before, carriedOver: await carriedAgain(deps, session, options) };
    // Written before the rest, so that it exists even if the rest fails.
    assertReviewed(session, await writer.current(session));
    const handoff = options.handoff === true ? await handoffDocument(deps, session) : null;
    const state = await writer.current(session);
    const reason = options.reason ?? (handoff === null ? "cleared" : "handed off");
    const next = await freshSessionId(deps);
    const over = await handover(deps, session, state);
    const { part, carriedOver } = await opening(deps, state, next, session, {
      ...options,
      handoff,
      over,
    });
    const { project } = state.standing;
    const joins = await joinParts(deps, { project, session: next, actor: deps.actor });
    const parts = [await closing(deps, session, state, { reason, over }), part, ...joins];
    try {
      await writer.commit(parts);
      writer.forget(session);
      return { next, carriedOver };
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", `clear: ${session} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

/** What leaves the session with its end and belongs to the next one. */
interface Handover {
  readonly triggers: MovedTriggers;
  readonly budget: BudgetHandover | null;
}

async function handover(deps: Deps, session: SessionId, state: State): Promise<Handover> {
  const { store } = deps;
  return {
    triggers: await triggersToMove(store, session, state),
    budget: handOverBudget(state, await workedUntil(deps, state)),
  };
}

async function closing(
  deps: Deps,
  session: SessionId,
  state: State,
  { reason, over }: { readonly reason: string; readonly over: Handover },
): Promise<Part> {
  const { store, world, actor, once } = deps;
  const facts = { actor, digest: world.digest, program: store.program };
  const triggers = over.triggers.settings.map(({ name }) => name);
  const limits = over.budget === null ? {} : { limits: over.budget.kept };
  // A session that another one paid for passes that on to its successor, which refunds it at its end.
  const command: Command = { do: "close", reason, handedOver: { triggers, ...limits } };
  const { drafts, events } = accepted(decideSealed(world, state, command, { facts, key: once ?? null }));
  const index = await indexEntry(store, session, state, events);
  return { session, expect: expectAt(state), drafts, index };
}

async function opening(
  deps: Deps,
  state: State,
  next: SessionId,
  session: SessionId,
  options: Omit<ClearOptions, "handoff"> & {
    readonly handoff: LoadedDocument | null;
    readonly over: Handover;
  },
): Promise<{ readonly part: Part; readonly carriedOver: CarryOver }> {
  const { store, world, actor } = deps;
  const { pin, bind, ...rest } = await takeOver(store, session, state);
  const { triggers, budget } = options.over;
  const { files } = await initialFilesOf(store, session, state);
  const documents = [
    ...(options.handoff === null ? [] : [options.handoff]),
    ...(await instructionFiles(deps, bind)),
    ...files,
  ];
  const objective = await objectiveFor(store, session, state, options.objective);
  const name = options.name ?? (await nameOf(store, session, state));
  const whose = { objective, agent: rest.agent ?? null, definition: pin?.definition, project: rest.project };
  const carried = await carriedInProject(deps, whose);
  const command: Command = {
    do: "open",
    workspace: store.workspace,
    objective,
    from: session,
    bind,
    ...rest,
    ...present({ pin, name }),
    ...(documents.length === 0 ? {} : { documents: distinct(documents) }),
    ...(carried === null ? {} : { carried }),
    ...(triggers.settings.length === 0 ? {} : { triggers: triggers.settings }),
    ...(budget === null ? {} : paidBy(state, budget)),
    ...(state.standing.depth === 0 ? {} : { depth: state.standing.depth }),
  };
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = accepted(decideSealed(world, emptyState, command, { facts, key: null }));
  const { drafts, events, blobs } = sealed;
  for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
  const index = await indexEntry(store, next, emptyState, events);
  const carriedOver = await listCleared(deps, session, state, {
    handoff: options.handoff !== null,
    isRenamed: options.name !== undefined,
  });
  return { part: { session: next, expect: "absent", drafts, index }, carriedOver };
}

/** The same list for the same state, so that a repeated call gets the same result. */
async function listCleared(
  { store }: Deps,
  session: SessionId,
  state: State,
  { handoff, isRenamed }: { readonly handoff: boolean; readonly isRenamed: boolean },
): Promise<CarryOver> {
  const { files, erased: erasedFiles } = await initialFilesOf(store, session, state);
  const triggers = await triggersToMove(store, session, state);
  const left = budgetLeft(state);
  const limits = Object.keys(left).length === 0 ? null : left;
  const names = takenNames(await takeOver(store, session, state));
  const name = isRenamed ? undefined : await nameOf(store, session, state);
  return listCarryOver(session, { state, files, erasedFiles, limits, triggers, handoff, name, ...names });
}

/** Null when the call had no key, or its records were deleted. */
async function carriedAgain(
  deps: Deps,
  session: SessionId,
  { handoff = false, name }: ClearOptions,
): Promise<CarryOver | null> {
  const { store, states, once } = deps;
  const closedSeq = once === undefined ? undefined : await store.keyed(session, once);
  if (closedSeq === undefined) return null;
  return listCleared(deps, session, await states.at(session, closedSeq - 1), {
    handoff,
    isRenamed: name !== undefined,
  });
}

const paidBy = ({ standing: { payer } }: State, { limits, got }: BudgetHandover): Partial<Opening> => ({
  ...(Object.keys(limits).length === 0 ? {} : { limits }),
  ...(payer === null ? {} : { got, payer: payer.session }),
});

function accepted(decision: ReturnType<typeof decideSealed>): SealedDrafts {
  if (!("refusal" in decision)) return decision;
  const { code, message, hint } = decision.refusal;
  throw new SkeinError(code, message, { hint });
}
