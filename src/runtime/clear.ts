/** Clear: one append closes a session and opens the next with the same agent, bindings and permissions. */
import type { Command, Loaded } from "../core/command.ts";
import { SkeinError } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { emptyState, type State } from "../core/state.ts";
import type { Part } from "../store/port.ts";
import { madeBefore, newSessionId } from "./asked.ts";
import { instructionFiles } from "./bootstrap.ts";
import { carriedFor } from "./carry.ts";
import { handoffDocument } from "./handoff.ts";
import { expectAt } from "./noted.ts";
import { checkObjective } from "./options.ts";
import { paybackOf } from "./payback.ts";
import { decideSealed, type Sealed } from "./seal.ts";
import { indexEntry } from "./session-index.ts";
import { objectiveFor, takeOver } from "./take-over.ts";
import type { Context } from "./engine-context.ts";

export interface ClearOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly reason?: string;
  /** The next session begins with the handoff of this one. */
  readonly handoff?: boolean;
}

export async function clearSession(
  context: Context,
  session: SessionId,
  options: ClearOptions,
): Promise<SessionId> {
  const { writer } = context;
  // Left out, it is the same as before; empty, it would be none.
  if (options.objective !== undefined) checkObjective("clear", options.objective);
  for (let tries = 0; tries < limit.unknownRetriesMax; tries++) {
    const before = await madeBefore(context);
    if (before !== null) return before;
    // Written down before the rest, so that it is there whatever becomes of it.
    const handoff = options.handoff === true ? await handoffDocument(context, session) : null;
    const state = await writer.current(session);
    const reason = options.reason ?? (handoff === null ? "cleared" : "handed off");
    const next = newSessionId(context);
    const parts = [
      ...(await closing(context, session, state, reason)),
      await opening(context, state, next, session, { ...options, handoff }),
    ];
    try {
      await writer.commit(parts);
      writer.forget(session);
      return next;
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", `${session} changes too fast to be cleared`, { hint: "try again later" });
}

async function closing(context: Context, session: SessionId, state: State, reason: string): Promise<Part[]> {
  const { store, world, writer, actor, once } = context;
  const facts = { actor, digest: world.digest, program: store.program };
  const decide = (on: State, command: Command, key: string | null = null) =>
    accepted(decideSealed(world, on, command, { facts, key }));
  const payback = await paybackOf({ store, world }, writer.current, state);
  const returned = payback === null ? {} : { returned: payback.returned };
  const { drafts, events } = decide(state, { do: "close", reason, ...returned }, once);
  const index = await indexEntry(store, session, state, events);
  const ups = (payback?.ups ?? []).map((up): Part => {
    const { session: payer, state: on, command } = up;
    return { session: payer, expect: expectAt(on), drafts: decide(on, command).drafts };
  });
  return [{ session, expect: expectAt(state), drafts, index }, ...ups];
}

async function opening(
  context: Context,
  state: State,
  next: SessionId,
  session: SessionId,
  options: Omit<ClearOptions, "handoff"> & { readonly handoff: Loaded | null },
): Promise<Part> {
  const { store, world, actor } = context;
  const { pin, bind, ...rest } = await takeOver(store, session, state);
  const documents = [
    ...(options.handoff === null ? [] : [options.handoff]),
    ...(await instructionFiles(context, bind)),
  ];
  const objective = await objectiveFor(store, session, state, options.objective);
  const whose = { objective, agent: rest.agent ?? null, definition: pin?.definition };
  const carried = await carriedFor(context, whose);
  const command: Command = {
    do: "open",
    workspace: store.workspace,
    objective,
    from: session,
    bind,
    ...rest,
    ...(pin === undefined ? {} : { pin }),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(carried === null ? {} : { carried }),
  };
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = accepted(decideSealed(world, emptyState, command, { facts, key: null }));
  const { drafts, events, blobs } = sealed;
  for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
  return {
    session: next,
    expect: "absent",
    drafts,
    index: await indexEntry(store, next, emptyState, events),
  };
}

function accepted(decision: ReturnType<typeof decideSealed>): Sealed {
  if (!("refusal" in decision)) return decision;
  const { code, message, hint } = decision.refusal;
  throw new SkeinError(code, message, { hint });
}
