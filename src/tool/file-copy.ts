/** Copies of trees: the current content without open databases, and some paths at an earlier version. */
import { constants } from "node:fs";
import { cp, lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SkeinError } from "../core/error.ts";
import { restoreFiles, type RestoreWorld } from "./file-restore.ts";
import { isWithin } from "./bound-path.ts";
import { sightOf, temporaryEnding } from "./file-tree.ts";
import { isLiveDatabase } from "./live-database.ts";
import type { IsReserved } from "./reserved-names.ts";
import type { FileBlobs, FileConflict, FilePut, FileTree } from "./port.ts";

/** `to` appears only when complete. */
export async function copyTree(
  world: RestoreWorld,
  tree: FileTree,
  to: string,
  {
    puts,
    blobs,
    isReserved,
  }: { readonly puts: readonly FilePut[]; readonly blobs: FileBlobs; readonly isReserved: IsReserved },
): Promise<readonly FileConflict[]> {
  if ((await lstat(to).catch(() => undefined)) !== undefined)
    throw new SkeinError("conflict", `copy: ${to} already exists`, {
      hint: "pass the path of a new directory",
    });
  if (tree.file === undefined && isWithin(tree.root, to))
    throw new SkeinError("invalid", `copy: ${to} is inside its source ${tree.root}`, {
      hint: "pass a path outside the bound directories",
    });
  await mkdir(dirname(to), { recursive: true });
  const made = `${to}${temporaryEnding}`;
  await rm(made, { recursive: true, force: true });
  const there: FileTree =
    tree.file === undefined
      ? { name: tree.name, root: made }
      : { name: tree.name, root: dirname(made), file: basename(made) };
  try {
    await copyOver(tree, made, isReserved);
    const moved = puts.map((put) => ({ ...put, tree: there, path: there.file ?? put.path }));
    const conflicts = await restoreFiles(world, moved, blobs, { isOurs: true });
    // A bound file may not have existed at that time.
    if (conflicts.length === 0 && (await sightOf(made)) !== undefined) await rename(made, to);
    return conflicts.map(({ path, why }) => ({ path: path.replace(made, to), why }));
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

async function copyOver({ root, file }: FileTree, to: string, isReserved: IsReserved): Promise<void> {
  const from = file === undefined ? root : join(root, file);
  if (file !== undefined && (await sightOf(from)) === undefined) return;
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    // Pipes, sockets and devices have no versions; files of an open database must not be opened here, and the
    // store's files are not copied.
    filter: async (path) =>
      path === from ||
      (!path.endsWith(temporaryEnding) &&
        !isReserved(path) &&
        (await sightOf(path)) !== undefined &&
        !(await isLiveDatabase(path))),
  }).catch((cause: NodeJS.ErrnoException) => {
    throw new SkeinError("refused", `copy: ${from}: ${cause.message}`, {
      hint: "nothing was copied; fix the unreadable file and retry",
      cause,
    });
  });
}
