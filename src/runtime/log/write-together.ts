/** Changes of several sessions in one append, all or none. */
import { present } from "../../core/present.ts";
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { emptyState, type State } from "../../core/state.ts";
import type { AppendedPart, Outcome, Part, Store } from "../../store/port.ts";
import { expectAt } from "../read/known-heads.ts";
import type { World } from "../world.ts";
import { awaitOutcome, keyedParts } from "./lost-answer.ts";
import { joinParts, projectOf } from "./project-join.ts";
import type { decideSealed, SealedDrafts } from "./seal.ts";
import { indexEntry, touchesIndex } from "./session-index.ts";
import type { Newest } from "./state-cache.ts";
import { fenced, refused } from "./writer-errors.ts";
import type { Member } from "./writer.ts";

type AppendOutcome = Exclude<Outcome, { readonly kind: "unknown" | "fenced" }>;

export interface TogetherDeps {
  readonly store: Store;
  readonly world: World;
  readonly newest: Pick<Newest, "refresh" | "assertNone">;
  /** Registers the secrets that the bindings of a session name. */
  readonly learn: (session: SessionId, state: State) => Promise<void>;
  readonly decide: (
    state: State,
    command: Command,
    options: { readonly actor: string; readonly key?: string | undefined },
  ) => ReturnType<typeof decideSealed>;
}

export async function writeTogether(
  deps: TogetherDeps,
  members: readonly Member[],
  actor: string,
): Promise<readonly AppendedPart[]> {
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const all = await decideAll(deps, members, actor);
    if (all === null) continue;
    const outcome = await appendAll(deps, all.parts, all.blobs);
    if (outcome.kind === "ok") return outcome.parts;
    if (outcome.kind === "duplicate")
      throw new SkeinError("conflict", "a change with this key exists already");
  }
  throw new SkeinError("conflict", "the sessions change too often; retries exhausted", {
    hint: "retry later",
  });
}

/** Null: one was refused, but those decided before it have changed meanwhile, which may be the cause. */
async function decideAll(
  { store, world, newest, learn, decide }: TogetherDeps,
  members: readonly Member[],
  actor: string,
): Promise<{ parts: Part[]; blobs: SealedDrafts["blobs"] } | null> {
  const parts: Part[] = [];
  const joins: Part[] = [];
  const blobs: SealedDrafts["blobs"][number][] = [];
  for (const { session, build, epoch, history, key, erase, start } of members) {
    const state = start === undefined ? (await newest.refresh(session)).state : (start.from ?? emptyState);
    if (history !== undefined) newest.assertNone(session, history);
    if (state.standing.bindings.size > 0) await learn(session, state);
    const command = typeof build === "function" ? await build(state) : build;
    const sealed = decide(state, command, { actor, key });
    if ("refusal" in sealed) {
      for (const { session: earlier, expect } of parts) {
        if (typeof expect === "object" && (await store.head(earlier))?.seq !== expect.seq) return null;
      }
      throw refused(sealed.refusal);
    }
    const parent = start?.parent;
    const index = touchesIndex(state, sealed.events)
      ? await indexEntry(store, parent?.session ?? session, state, sealed.events)
      : undefined;
    parts.push({
      session,
      expect: start === undefined ? expectAt(state) : "absent",
      drafts: sealed.drafts,
      ...present({ epoch, parent, index, erase }),
    });
    blobs.push(...sealed.blobs);
    if (start === undefined) continue;
    const project = projectOf(command, start.from);
    joins.push(...keyedParts(world, await joinParts({ store, world }, { project, session, actor })));
  }
  // Last, so that the result of an append has a place for each member.
  return { parts: [...parts, ...joins], blobs };
}

/** Conflicts go to the caller; a lost answer is followed to its outcome. */
async function appendAll(
  { store, world }: TogetherDeps,
  parts: readonly Part[],
  blobs: SealedDrafts["blobs"],
): Promise<AppendOutcome> {
  for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
  return resolveOutcome({ store, world }, parts, await store.append(parts));
}

/** The outcome of an append, also after a lost answer. Throws `fenced` for a lost lease. */
export async function resolveOutcome(
  { store, world }: Pick<TogetherDeps, "store" | "world">,
  parts: readonly Part[],
  answer: Outcome,
): Promise<AppendOutcome> {
  const outcome = await awaitOutcome({ store, world }, parts, answer);
  if (outcome.kind !== "fenced") return outcome;
  const whose = outcome.session;
  return fenced(parts.find(({ session }) => session === whose) ?? { session: whose });
}
