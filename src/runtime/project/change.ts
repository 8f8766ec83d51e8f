/** The one way to change a project: decided on its state, written only if its log still ends there. */
import type { StoredRecord } from "../../core/chain.ts";
import type { Refusal } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import type { ProjectId, WorkspaceId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import { decideProject, type ProjectCommand } from "../../core/project/project.ts";
import type { Part } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { seal } from "../log/seal.ts";
import { writtenBefore } from "../log/workspace-log.ts";
import { findProject, type ReadProject } from "./project-reader.ts";

/** One change, and the project after it; for a repeated call, after the first. */
export async function changeProject(
  deps: Deps,
  idOrEnding: string,
  command: ProjectCommand,
): Promise<{ readonly id: ProjectId; readonly read: ReadProject }> {
  const id = await findProject(deps.projects, idOrEnding);
  const { world, actor, once = null } = deps;
  const before = await writeOnceIn(deps, id, async () => {
    if ((await deps.store.head(id))?.copy === true) throw copyError(id);
    const { state, seq, hash } = await deps.projects.read(id);
    const decision = decideProject(state, command, actor);
    if (!decision.ok) throw refusalError(decision.refusal);
    if (decision.drafts.length === 0) return null;
    const { drafts, blobs } = seal(world, decision.drafts, { actor, key: once });
    return { parts: [{ session: id, expect: { seq, hash }, drafts }], blobs };
  });
  const read = before === null ? await deps.projects.read(id) : await deps.projects.at(id, before);
  return { id, read };
}

/** Its log is written where it lives. */
export const copyError = (id: ProjectId): SkeinError =>
  new SkeinError("refused", `${id} is a read-only copy of a project in another store`, {
    hint: "change it there, and import it again",
  });

export const refusalError = ({ code, message, hint }: Refusal): SkeinError =>
  new SkeinError(code, message, present({ hint }));

interface SealedParts {
  readonly parts: readonly Part[];
  readonly blobs: ReturnType<typeof seal>["blobs"];
}

/**
 * Builds and writes; again when a log has moved on meanwhile; nothing when it builds null. Under the caller's
 * key it is written once: the record of an earlier call in this log is returned instead. Null when it was
 * written now.
 */
export async function writeOnceIn(
  deps: Deps,
  log: ProjectId | WorkspaceId,
  build: () => Promise<SealedParts | null>,
): Promise<StoredRecord | null> {
  const { store, writer } = deps;
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const before = await writtenBefore(deps, log);
    if (before !== null) return before;
    const built = await build();
    if (built === null) return null;
    for (const { hash, bytes } of built.blobs) await store.putBlob(hash, [bytes]);
    try {
      await writer.commit(built.parts);
      return null;
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", `${log} changes too often; retries exhausted`, { hint: "retry later" });
}
