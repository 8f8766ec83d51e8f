/** The parts of one append besides the change itself. */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Outcome, Part, Store } from "../../store/port.ts";
import type { World } from "../world.ts";
import { seal, type SealedDrafts } from "./seal.ts";
import type { WorkspaceEffects } from "./workspace-effects.ts";

export interface AppendExtras {
  readonly actor: string;
  readonly beside?: WorkspaceEffects | null;
  /** Records in other logs: refunds to paying sessions, the place in a project. */
  readonly otherLogs?: readonly Part[];
}

interface AppendDeps {
  readonly store: Store;
  readonly world: World;
}

/** The parts and blobs of one append: the session's, its payers' and the workspace's. */
export function assembleAppend(
  place: AppendDeps,
  part: Part,
  { blobs }: SealedDrafts,
  { otherLogs = [], beside, actor }: AppendExtras,
): { readonly parts: readonly Part[]; readonly blobs: SealedDrafts["blobs"] } {
  if (otherLogs.length === 0 && (beside ?? null) === null) return { parts: [part], blobs };
  const share = shareOf(place, beside, actor);
  return { parts: [part, ...otherLogs, ...share.parts], blobs: [...blobs, ...share.blobs] };
}

/** The part of the workspace, or of a project, in a change, if it has one. */
function shareOf(
  { store, world }: AppendDeps,
  beside: WorkspaceEffects | null | undefined,
  actor: string,
): { parts: Part[]; blobs: SealedDrafts["blobs"] } {
  if (beside === null || beside === undefined || beside.events.length === 0) return { parts: [], blobs: [] };
  const { drafts, blobs } = seal(world, beside.events, { actor, key: null });
  const { headSeq: seq, headHash: hash } = beside;
  const expect = seq === 0 ? "absent" : hash === undefined ? { seq } : { seq, hash };
  return { parts: [{ session: beside.log ?? store.workspace, expect, drafts }], blobs };
}

/**
 * Writes blobs first. A blob that existed may be swept with its last record before this append refers to it:
 * then writes again.
 */
export async function appendWithBlobs(
  store: Store,
  parts: readonly Part[],
  blobs: SealedDrafts["blobs"],
): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
    try {
      return await store.append(parts);
    } catch (error) {
      // A quota must not be used up by what it refuses.
      if (error instanceof SkeinError && error.code === "refused")
        for (const { hash } of blobs) await store.dropBlob(hash).catch(() => undefined);
      const swept = error instanceof SkeinError && error.code === "not-found";
      if (!swept || tries === limit.unknownRetriesMax) throw error;
    }
  }
}
