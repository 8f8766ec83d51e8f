/**
 * Writing to the workspace's log: agents, memory, policies. What is written is decided on what the log holds
 * up to its head, and written only if it still ends there; after a lost answer it is decided again, so
 * `build` must recognize what it has written before.
 */
import type { DraftEvent } from "../core/decision.ts";
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";
import type { Appended, Store } from "../store/port.ts";
import { tellWorkspace, workspaceHead } from "./noted.ts";
import { seal } from "./seal.ts";
import type { World } from "./world.ts";
import type { Writer } from "./writer.ts";

export interface WorkspaceContext {
  readonly store: Store;
  readonly world: World;
  readonly writer: Pick<Writer, "commit">;
  readonly actor: string;
}

/** Null when there is nothing to write, as `build` says by giving no events. */
export async function writeWorkspace(
  { store, world, writer, actor }: WorkspaceContext,
  build: (headSeq: number) => Promise<readonly DraftEvent[]>,
): Promise<Appended | null> {
  for (let tries = 0, lost = 0; tries < limit.conflictRetriesMax; tries++) {
    const { seq, hash } = await workspaceHead(store);
    tellWorkspace(store);
    const events = await build(seq);
    if (events.length === 0) return null;
    const { drafts, blobs } = seal(world, events, { actor, key: null });
    const expect = seq === 0 ? "absent" : { seq, hash };
    try {
      for (const { hash, bytes } of blobs) await store.putBlob(hash, [bytes]);
      const [appended] = await writer.commit([{ session: store.workspace, expect, drafts }]);
      return appended ?? null;
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      if (error.code === "unknown" && lost < limit.unknownRetriesMax) {
        await world.sleep(Math.min(10 * 2 ** lost, 1_000));
        lost += 1;
      } else if (error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", "the workspace changes too fast to be written to", {
    hint: "try again later",
  });
}
