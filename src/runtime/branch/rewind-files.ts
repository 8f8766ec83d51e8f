/**
 * Rewinding with files. The files are restored first; one append then records them with the rewind. A process
 * that dies in between leaves some or all files restored, and a log that does not know of it: the same rewind
 * again accepts restored files, restores the rest, and is written. Any other next step treats the files as
 * another program's work, which loses nothing: later rewinds show them as conflicts.
 */
import { join } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { isSameVersion, type TreeChange } from "../../core/tool/file-version.ts";
import type { SessionId } from "../../core/ids.ts";
import { mayIn, wayOut } from "../../core/session/lifecycle.ts";
import type { FilePut } from "../../tool/port.ts";
import { changedBefore } from "../log/request-scope.ts";
import { assertReviewed } from "../govern/review.ts";
import { fileConflict, filesOf, putsOf, readChanges, type UnknownFileChange } from "../read/file-versions.ts";
import { headOf } from "../read/position.ts";
import type { Deps } from "../deps.ts";
import { isFree } from "../read/lease-status.ts";
import { readBindings } from "../read/bindings.ts";
import type { AppendResult } from "../log/append-result.ts";
import { fileBlobs } from "../log/file-blobs.ts";

/** The result for files. */
export interface FilesRestored {
  /** Absolute paths of all restored files. */
  readonly restored: readonly string[];
  readonly unkept: readonly UnknownFileChange[];
}

/** Options of `session.rewind`. */
export interface RewindOptions {
  /** Queues inputs again that turns took since the position. */
  readonly requeue?: boolean;
  readonly reason?: string;
  /** Restores files, too, as they were at the position. */
  readonly files?: boolean;
}

/** The result of `session.rewind`. */
export interface RewindResult extends AppendResult {
  /** With `files`: their result. */
  readonly files?: FilesRestored;
}

/** How often it is retried when input arrives meanwhile. */
const triesMax = 5;

export async function rewindFiles(
  deps: Deps,
  session: SessionId,
  toSeq: number,
  options: Omit<RewindOptions, "files">,
): Promise<RewindResult> {
  const { writer, actor } = deps;
  // A repeated call does not restore files that changed since the first time.
  const before = await changedBefore(deps, session);
  if (before !== null) {
    const { firstSeq: seq, headSeq, duplicate } = before;
    return { seq, headSeq, duplicate, files: { restored: [], unkept: [] } };
  }
  const earlier = await deps.states.at(session, toSeq);
  for (let tries = 1; ; tries++) {
    const head = await restingHead(deps, session);
    const { puts, changed, unkept } = await putBack(deps, session, { toSeq, headSeq: head });
    try {
      const command = { do: "rewind", earlier, ...options, changed } as const;
      const { firstSeq, ...done } = await writer.change(session, command, { actor, expectSeq: head });
      const restored = puts.map(({ tree, path }) => join(tree.root, path));
      return { seq: firstSeq, headSeq: done.headSeq, duplicate: done.duplicate, files: { restored, unkept } };
    } catch (error) {
      const moved = error instanceof SkeinError && error.code === "conflict";
      if (!moved || tries === triesMax) throw error;
    }
  }
}

/** The last position of an idle session that can be rewound. */
async function restingHead(deps: Deps, session: SessionId): Promise<number> {
  const { status } = (await deps.writer.current(session)).standing;
  if (!mayIn(status, "rewind"))
    throw new SkeinError("refused", `the session is ${status} and cannot be rewound`, {
      hint: wayOut[status],
    });
  const { seq, lease } = await headOf(deps, session);
  if (isFree(deps, lease)) return seq;
  throw new SkeinError("conflict", `the session is running on ${lease?.holder ?? "another worker"}`, {
    hint: "files can be restored only while no turn runs: wait, or interrupt it",
  });
}

async function putBack(
  deps: Deps,
  session: SessionId,
  { toSeq, headSeq }: { readonly toSeq: number; readonly headSeq: number },
): Promise<{
  readonly puts: readonly FilePut[];
  readonly changed: readonly TreeChange[];
  readonly unkept: readonly UnknownFileChange[];
}> {
  const state = await deps.writer.current(session);
  assertReviewed(session, state);
  const changes = await readChanges(deps.store, session, { fromSeq: toSeq + 1, toSeq: headSeq });
  const bound = await readBindings(deps, session, state);
  const files = await filesOf(deps, bound);
  const { puts, unbound, unkept } = putsOf(files, changes);
  if (unbound.length > 0) {
    const names = unbound.map((name) => JSON.stringify(name)).join(", ");
    throw new SkeinError(
      "refused",
      `rewind: files: ${names} changed since, and is not bound with mode write any more`,
      {
        hint: "bind it again with mode write, or rewind without files",
      },
    );
  }
  const conflicts = await files.restore(puts, fileBlobs(deps));
  if (conflicts.length > 0) throw fileConflict(conflicts);
  // Files that the session itself had restored before were only compared.
  const moved = puts.filter(({ expect, to }) => !isSameVersion(expect, to));
  return { puts: moved, changed: changesOf(moved), unkept };
}

/** The changes for the log. */
function changesOf(puts: readonly FilePut[]): readonly TreeChange[] {
  const byTree = Map.groupBy(puts, ({ tree }) => tree.name);
  return [...byTree].map(([name, some]) => ({
    name,
    files: some.map(({ path, expect, to }) => ({ path, before: expect, after: to })),
  }));
}
