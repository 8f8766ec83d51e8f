/**
 * Forking with files: the fork gets a copy of what is bound for writing, in a new directory, with the files
 * that the session touched as they were at the fork point. The parent's files stay unchanged. The copy exists
 * before the fork is written: a process that dies in between leaves an unbound directory, which can be
 * deleted.
 */
import type { Binding } from "../../core/tool/commands.ts";
import { lstat, realpath, rm } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { StoredBinding, FileTree } from "../../tool/port.ts";
import { assertReviewed } from "../govern/review.ts";
import { fileConflict, filesOf, putsOf, readChanges } from "../read/file-versions.ts";
import type { ForkPlan } from "./fork.ts";
import { headOf } from "../read/position.ts";
import type { Deps } from "../deps.ts";
import { readBindings } from "../read/bindings.ts";
import { fileBlobs } from "../log/file-blobs.ts";

/** Copies the files of the fork point, and returns the plan of a fork that is bound to them. */
export async function withFiles(
  deps: Deps,
  session: SessionId,
  plan: ForkPlan,
  directory: string,
): Promise<ForkPlan> {
  const { command, from, parent } = plan;
  assertReviewed(session, await deps.writer.current(session));
  const to = resolve(directory);
  if ((await lstat(to).catch(() => undefined)) !== undefined)
    throw new SkeinError("conflict", `fork: ${to} already exists`, {
      hint: "pass the path of a new directory",
    });
  const gone = new Set(command.unbind);
  const bound = (await readBindings(deps, session, from)).filter(({ name }) => !gone.has(name));
  const files = await filesOf(deps, bound);
  if (files.trees.length === 0)
    throw new SkeinError("refused", "fork: files: no resource is bound with mode write", {
      hint: "fork without files, or bind a directory with mode write",
    });
  const { seq: toSeq } = await headOf(deps, session);
  const changes = await readChanges(deps.store, session, { fromSeq: parent.seq + 1, toSeq });
  const { puts } = putsOf(files, changes);
  const places = placesFor(files.trees, to);
  try {
    for (const [tree, place] of places) {
      const own = puts.filter((put) => put.tree === tree);
      const conflicts = await files.copy(tree, place, own, fileBlobs(deps));
      if (conflicts.length > 0) throw fileConflict(conflicts);
    }
    return { ...plan, command: { ...command, bind: await rebound(bound, places) } };
  } catch (error) {
    await rm(to, { recursive: true, force: true });
    throw error;
  }
}

/** One directory becomes the new one; several, and files, lie in it by their names. */
function placesFor(trees: readonly FileTree[], to: string): ReadonlyMap<FileTree, string> {
  const [only] = trees;
  if (trees.length === 1 && only !== undefined && only.file === undefined) return new Map([[only, to]]);
  const taken = new Set<string>();
  return new Map(
    trees.map((tree) => {
      const name = tree.file ?? (basename(tree.root) || "root");
      let free = name;
      for (let count = 2; taken.has(free); count++) free = `${name}-${count}`;
      taken.add(free);
      return [tree, join(to, free)];
    }),
  );
}

/** The bindings inside the copied trees, bound to the copy. Databases stay where they are. */
async function rebound(
  bound: readonly StoredBinding[],
  places: ReadonlyMap<FileTree, string>,
): Promise<readonly Binding[]> {
  const found: Binding[] = [];
  for (const one of bound) {
    if (!["file", "directory", "shell"].includes(one.kind)) continue;
    const options = (one.options ?? {}) as { readonly cwd?: unknown };
    const path = typeof options.cwd === "string" ? options.cwd : one.path;
    const moved = path === undefined ? undefined : movedTo(await realPath(path), places);
    if (moved === undefined) continue;
    found.push(
      typeof options.cwd === "string"
        ? { ...one, options: { ...options, cwd: moved } }
        : { ...one, path: moved },
    );
  }
  return found;
}

/** A bound file may be missing. */
const realPath = (path: string): Promise<string> =>
  realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)));

function movedTo(path: string, places: ReadonlyMap<FileTree, string>): string | undefined {
  for (const [{ root, file }, place] of places) {
    if (file !== undefined && path === join(root, file)) return place;
    const below = relative(root, path);
    if (file === undefined && below !== ".." && !below.startsWith("../")) return join(place, below);
  }
  return undefined;
}
