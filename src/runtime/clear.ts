/** Clear: one append closes a session and opens the next with the same agent, bindings and permissions. */
import type { Command, Pin } from "../core/command.ts";
import { SkeinError } from "../core/error.ts";
import { makeSessionId, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { emptyState, type Ref, type State } from "../core/state.ts";
import type { Part } from "../store/port.ts";
import { instructionFiles } from "./bootstrap.ts";
import { contentOf, readContent } from "./content.ts";
import { decideSealed, type Sealed } from "./seal.ts";
import { indexEntry } from "./session-index.ts";
import type { Context } from "./engine-context.ts";

export async function clearSession(
  context: Context,
  session: SessionId,
  options: { readonly objective?: string; readonly name?: string; readonly reason?: string },
): Promise<SessionId> {
  const { world, writer } = context;
  for (let tries = 0; tries < limit.unknownRetriesMax; tries++) {
    const state = await writer.current(session);
    const next = makeSessionId({ nowMs: world.now(), random: world.random(10) });
    const parts = [
      await closing(context, session, state, options.reason),
      await opening(context, state, next, session, options),
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

async function closing(
  context: Context,
  session: SessionId,
  state: State,
  reason: string | undefined,
): Promise<Part> {
  const { store, world, actor } = context;
  const command = { do: "close", reason: reason ?? "cleared" } as const;
  const facts = { actor, digest: world.digest, program: store.program };
  const { drafts, events } = accepted(decideSealed(world, state, command, { facts, key: null }));
  return {
    session,
    expect: { seq: state.seq },
    drafts,
    index: await indexEntry(store, session, state, events),
  };
}

async function opening(
  context: Context,
  state: State,
  next: SessionId,
  session: SessionId,
  options: { readonly objective?: string; readonly name?: string },
): Promise<Part> {
  const { store, world, actor } = context;
  const { agent, model, priority, labels, bindings, permissions, objective, expiresAfterIdleMs } =
    state.standing;
  const contentAt = async (ref: Ref | null) =>
    ref === null ? {} : (((await readContent(store, session, ref.seq)) ?? {}) as Record<string, unknown>);
  const told = options.objective ?? (await contentAt(objective))["objective"];
  if (typeof told !== "string") {
    throw new SkeinError("refused", "the objective was erased", {
      hint: "give the next session an objective of its own",
    });
  }
  // What was erased is not carried on: a binding without its address leads nowhere, and a rule without its
  // pattern would be about every call.
  const bind = [];
  for (const [name, { kind, mode, ...ref }] of bindings.entries()) {
    const content = await readContent(store, session, ref.seq);
    if (content !== undefined) bind.push({ ...content, name, kind, mode });
  }
  const grant = [];
  for (const [name, { tool, rule, ...ref }] of permissions.entries()) {
    const content = await readContent(store, session, ref.seq);
    if (content !== undefined || ref.hash === null) grant.push({ ...(content as object), name, tool, rule });
  }
  const { instructions, constraints } = ((await readContent(store, session, 1)) ?? {}) as {
    readonly instructions?: string;
    readonly constraints?: readonly string[];
  };
  const documents = await instructionFiles(context, bind);
  const command: Command = {
    do: "open",
    workspace: store.workspace,
    objective: told,
    priority,
    from: session,
    bind,
    grant,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(agent === null ? {} : { agent: agent.name }),
    ...(await pinnedBy(store, session, state)),
    ...(instructions === undefined ? {} : { instructions }),
    ...(constraints === undefined ? {} : { constraints }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(model === null ? {} : { model }),
    ...(expiresAfterIdleMs === null ? {} : { expiresAfterIdleMs }),
    labels: Object.fromEntries(labels.entries()),
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

/** The agent as this session pinned it: the next one works under the same version. */
async function pinnedBy(
  store: Context["store"],
  session: SessionId,
  { standing: { agent } }: State,
): Promise<{ readonly pin?: Pin }> {
  if (agent === null || agent.version === 0) return {};
  const range = { fromSeq: agent.seq, toSeq: agent.seq, limit: 1, contents: true };
  const [record] = await store.read(session, range);
  const content = record === undefined ? undefined : await contentOf(store, record);
  if (record === undefined || content === undefined) return {};
  const { digest } = JSON.parse(record.body) as { digest: string };
  const { definition } = content as { definition: unknown };
  return { pin: { agent: agent.name, version: agent.version, digest, definition } };
}

function accepted(decision: ReturnType<typeof decideSealed>): Sealed {
  if (!("refusal" in decision)) return decision;
  const { code, message, hint } = decision.refusal;
  throw new SkeinError(code, message, { hint });
}
