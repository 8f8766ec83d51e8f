/**
 * Writes to the workspace's log: agents, memory, policies. A change is decided on the log up to its head, and
 * written only if it still ends there; after a lost answer it is decided again, so `build` must recognize
 * what it has already written. The change of an external call carries the caller's key, by which a repeated
 * call is recognized.
 */
import type { StoredRecord } from "../../core/chain.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { AppendedPart, Store } from "../../store/port.ts";
import { seal } from "./seal.ts";
import type { World } from "../world.ts";
import type { Writer } from "./writer.ts";

export interface WorkspaceDeps {
  readonly store: Store;
  readonly world: World;
  readonly writer: Pick<Writer, "commit" | "workspace">;
  readonly actor: string;
  /** As in the engine's dependencies. */
  readonly once?: string;
}

type BuildEvents = (headSeq: number) => Promise<readonly DraftEvent[]>;

/**
 * The records that this call wrote when it was made before, to the workspace's log or another; null when it
 * was not, or had nothing to write.
 */
export async function writtenBefore(
  { store, once }: Pick<WorkspaceDeps, "store" | "once">,
  log: LogId = store.workspace,
): Promise<StoredRecord | null> {
  const seq = once === undefined ? undefined : await store.keyed(log, once);
  if (seq === undefined) return null;
  const range = { fromSeq: seq, toSeq: seq, limit: 1, contents: true };
  return (await store.read(log, range))[0] ?? null;
}

/**
 * Writes the change of an external call, unless it was written under its key before: then decides nothing,
 * and returns the earlier records, for the response. Null otherwise.
 */
export async function writeOnce(deps: WorkspaceDeps, build: BuildEvents): Promise<StoredRecord | null> {
  let before: StoredRecord | null = null;
  const unlessDone: BuildEvents = async (headSeq) => {
    before = await writtenBefore(deps);
    return before === null ? build(headSeq) : [];
  };
  await writeWorkspace(deps, unlessDone, deps.once);
  return before;
}

/** Null when there is nothing to write: `build` returned no events. */
export async function writeWorkspace(
  { store, world, writer, actor }: WorkspaceDeps,
  build: BuildEvents,
  key: string | null = null,
): Promise<AppendedPart | null> {
  for (let tries = 0, lost = 0; tries < limit.conflictRetriesMax; tries++) {
    const { seq, hash } = await writer.workspace.read();
    writer.workspace.throwRollback();
    const events = await build(seq);
    if (events.length === 0) return null;
    const { drafts, blobs } = seal(world, events, { actor, key });
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
  throw new SkeinError("conflict", "the workspace changes too often; retries exhausted", {
    hint: "retry later",
  });
}
