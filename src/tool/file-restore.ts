/**
 * Restores files to an earlier version. First everything is compared with the current state, and new contents
 * are written to a temporary directory; then follow removals, directories, and renames into place. No path
 * goes through a link: each step is opened without following one.
 *
 * Interrupted midway, some paths are restored and the others are as the session left them; a second attempt
 * continues from there.
 */
import { constants } from "node:fs";
import { access, lstat, mkdir, open, readdir, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SkeinError } from "../core/error.ts";
import { isPlainPath, isSameVersion, type FileVersion } from "../core/tool/file-version.ts";
import { comparable, hasFileModes, modeOf } from "../platform/file-mode.ts";
import { isLiveDatabase } from "./live-database.ts";
import { inParallel } from "./file-shelf.ts";
import { temporaryEnding } from "./file-tree.ts";
import type { FileBlobs, FileConflict, FilePut, FileTree } from "./port.ts";
import type { IsReserved } from "./reserved-names.ts";
import { openDirectory, type Directory } from "./root.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const staging = `.put-back${temporaryEnding}`;

export interface RestoreWorld {
  hashBytes(bytes: Uint8Array): string;
}

/** A path that needs a change, and the kind of its current entry. */
interface Due extends FilePut {
  readonly now: FileVersion["kind"] | null;
}

interface Plan {
  readonly planned: ReadonlyMap<string, FilePut>;
  readonly blobs: FileBlobs;
  readonly isOurs: boolean;
  readonly isReserved: IsReserved;
}

/** All, or nothing with the reason. With `isOurs` the current state does not matter. */
export async function restoreFiles(
  world: RestoreWorld,
  puts: readonly FilePut[],
  blobs: FileBlobs,
  options: { readonly isOurs?: boolean; readonly isReserved?: IsReserved } = {},
): Promise<readonly FileConflict[]> {
  const byTree = Map.groupBy(puts, ({ tree }) => tree);
  const conflicts: FileConflict[] = [];
  const plans: { readonly tree: FileTree; readonly due: readonly Due[] }[] = [];
  for (const [tree, some] of byTree) {
    const { due, conflicts: found } = await check(world, tree, some, {
      blobs,
      isOurs: options.isOurs === true,
      isReserved: options.isReserved ?? (() => false),
    });
    conflicts.push(...found);
    plans.push({ tree, due });
  }
  if (conflicts.length > 0) return conflicts;
  const doing = async (hint: string, work: (tree: FileTree, due: readonly Due[]) => Promise<void>) => {
    for (const { tree, due } of plans) await work(tree, due).catch(failed(hint));
  };
  await doing("no file was changed", (tree, due) => stage(tree, due, blobs));
  await doing("some files may be restored already; retry to finish", putInPlace);
  return [];
}

const failed =
  (hint: string) =>
  (cause: unknown): never => {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new SkeinError("unavailable", `restore files: ${code ?? message}`, { hint, cause });
  };

async function check(
  world: RestoreWorld,
  tree: FileTree,
  puts: readonly FilePut[],
  how: Omit<Plan, "planned">,
): Promise<{ readonly due: readonly Due[]; readonly conflicts: readonly FileConflict[] }> {
  const planned = new Map(puts.map((put) => [put.path, put]));
  const found = new Map<FilePut, Awaited<ReturnType<typeof obstacle>>>();
  await inParallel(
    puts,
    async (put) => void found.set(put, await obstacle(world, tree, put, { ...how, planned })),
  );
  const due: Due[] = [];
  const conflicts: FileConflict[] = [];
  for (const put of puts) {
    const why = found.get(put) ?? "";
    if (typeof why === "string") conflicts.push({ path: join(tree.root, put.path), why });
    else if (why.isDue) due.push({ ...put, now: why.now });
  }
  return { due, conflicts };
}

/** Why a path cannot be restored; or its current state, and whether a change is needed. */
async function obstacle(
  world: RestoreWorld,
  tree: FileTree,
  { path, expect, to }: FilePut,
  plan: Plan,
): Promise<string | { readonly isDue: boolean; readonly now: FileVersion["kind"] | null }> {
  if (!isPlainPath(path)) return "the path is outside of the binding";
  if (plan.isReserved(join(tree.root, path))) return "it is a name of the store";
  if (await isLiveDatabase(join(tree.root, path))) return "it belongs to a database that is open";
  const now = await versionAt(world, tree, path);
  if (typeof now === "string") return now;
  const kind = now?.kind ?? null;
  const [was, becomes] = [comparable(expect), comparable(to)];
  if (isSameVersion(now, becomes)) return { isDue: false, now: kind };
  if (!plan.isOurs && !isSameVersion(now, was) && !isBetween(now, was, becomes))
    return changedSince(now, was);
  if (to !== null && to.kind !== "directory") {
    if (to.held !== undefined) return `how it was held a secret (${to.held}), so it was not kept`;
    if (to.blob === undefined) return "how it was could not be read, so its content was not kept";
    if ((await plan.blobs.get(to.blob)) === undefined) return "how it was is not in the store any more";
  }
  if (to !== null) {
    const blocked = await blockedParent(tree, path, plan.planned);
    if (blocked !== undefined) return blocked;
  }
  if (kind === "directory" && to !== null && to.kind !== "directory") {
    const foreign = await foreignBelow(tree, path, plan.planned);
    if (foreign !== undefined) return `${foreign} lies below it, and is not the session's`;
  }
  if (!(await isOpen(tree, dirname(path), plan.planned)))
    return "the directory it lies in may not be written";
  return { isDue: true, now: kind };
}

/**
 * Whether an interrupted attempt leaves this state: an entry that changes its kind is removed first, and
 * directories are open to their owner until everything is in place.
 */
function isBetween(now: FileVersion | null, expect: FileVersion | null, to: FileVersion | null): boolean {
  const [was, becomes] = [expect?.kind === "directory", to?.kind === "directory"];
  if (now === null) return to !== null && was !== becomes;
  if (now.kind !== "directory" || !(was || becomes)) return false;
  if (!hasFileModes) return true;
  return now.mode === openedMode(expect?.mode ?? 0) || (becomes && now.mode === openedMode(0));
}

const openedMode = (mode: number): number => mode | 0o700;

function changedSince(now: FileVersion | null, expect: FileVersion | null): string {
  if (now === null) return "another program removed it";
  if (expect === null) return "another program created it";
  if (expect.held !== undefined)
    return `what the session left there held a secret (${expect.held}) and was not kept to compare with`;
  if (expect.kind !== "directory" && expect.blob === undefined)
    return "the session's version could not be read, so it cannot be compared";
  return now.kind === "directory" || (now.blob !== undefined && now.blob === expect.blob)
    ? "another program changed its mode or kind"
    : "another program changed it";
}

/** A parent that is not a directory, and does not become one. */
async function blockedParent(
  { root }: FileTree,
  path: string,
  planned: ReadonlyMap<string, FilePut>,
): Promise<string | undefined> {
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
    const put = planned.get(parent);
    if (put !== undefined) {
      if (put.to?.kind === "directory") continue;
      return "the directory it lay in is not kept";
    }
    const stat = await lstat(join(root, parent)).catch(() => undefined);
    if (stat !== undefined && !stat.isDirectory()) return "another program replaced its directory";
  }
  return undefined;
}

/** Whether the directory is writable, or will be: restored directories are opened for it. */
async function isOpen(
  tree: FileTree,
  folder: string,
  planned: ReadonlyMap<string, FilePut>,
): Promise<boolean> {
  if (planned.has(folder)) return true;
  const full = join(tree.root, folder);
  return access(full, constants.W_OK | constants.X_OK).then(
    () => true,
    (error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" || error.code === "ENOTDIR" ? isOpen(tree, dirname(folder), planned) : false,
  );
}

async function foreignBelow(
  { root }: FileTree,
  path: string,
  planned: ReadonlyMap<string, FilePut>,
): Promise<string | undefined> {
  for (const name of await readdir(join(root, path)).catch(() => [])) {
    const below = `${path}/${name}`;
    const put = planned.get(below);
    if (put === undefined || put.to !== null) return below;
    const deeper = await foreignBelow({ name: "", root }, below, planned);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

/** The current version; a text if it is unknown. Below a non-directory there is nothing. */
async function versionAt(
  world: RestoreWorld,
  tree: FileTree,
  path: string,
): Promise<FileVersion | null | string> {
  try {
    await using directory = await descend(tree, dirname(path));
    if (directory === null) return null;
    const full = `${directory.path}/${path.slice(path.lastIndexOf("/") + 1)}`;
    const stat = await lstat(full).catch(absent);
    if (stat === undefined) return null;
    if (stat.isDirectory()) return { kind: "directory", mode: modeOf(stat, "directory") };
    const mode = modeOf(stat, "file");
    if (stat.isSymbolicLink()) {
      const target = await readlink(full, { encoding: "buffer" });
      return { kind: "symlink", mode, blob: world.hashBytes(target) };
    }
    if (!stat.isFile()) return "there is a pipe, a socket or a device now";
    await using handle = await open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return { kind: "file", mode, blob: world.hashBytes(await handle.readFile()) };
  } catch (error) {
    return `it cannot be read: ${(error as { code?: string }).code ?? String(error)}`;
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
  return undefined;
}

/** Opens a directory below the root, step by step; null if it does not exist. */
async function descend(
  { root }: FileTree,
  path: string,
  options: { readonly create?: boolean } = {},
): Promise<(Directory & AsyncDisposable) | null> {
  let directory = await openDirectory(root, root);
  for (const step of path === "." ? [] : path.split("/")) {
    const before: Directory = directory;
    const next = `${before.path}/${step}`;
    try {
      if (options.create === true) await mkdir(next).catch(unlessThere);
      directory = await openDirectory(next, step);
    } catch (error) {
      const { code } = ((error as { cause?: unknown }).cause ?? error) as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return null;
      throw error;
    } finally {
      await before[Symbol.asyncDispose]();
    }
  }
  return directory;
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

const stagedName = (place: number): string => `${staging}/${place}`;

/** Writes new contents inside the root, where a rename into place is atomic. */
async function stage({ root }: FileTree, due: readonly Due[], blobs: FileBlobs): Promise<void> {
  await rm(join(root, staging), { recursive: true, force: true });
  if (due.every(({ to }) => to === null || to.kind === "directory")) return;
  await mkdir(join(root, staging), { mode: 0o700 });
  await inParallel([...due.entries()], async ([place, { to }]) => {
    if (to === null || to.blob === undefined) return;
    const bytes = await blobs.get(to.blob);
    if (bytes === undefined) throw new Error(`invariant: blob ${to.blob} was there a moment ago`);
    const path = join(root, stagedName(place));
    if (to.kind === "symlink") {
      await symlink(Buffer.from(bytes), path);
      return;
    }
    await using handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await handle.writeFile(bytes);
    await handle.chmod(to.mode);
    await handle.sync();
  });
}

async function putInPlace(tree: FileTree, due: readonly Due[]): Promise<void> {
  const depth = ({ path }: FilePut): number => path.split("/").length;
  const deepFirst = due.toSorted((a, b) => depth(b) - depth(a));
  for (const { path, now, expect } of deepFirst.toReversed())
    if (now === "directory") await setMode(tree, path, openedMode(expect?.mode ?? 0));
  for (const { path, now, to } of deepFirst) {
    if (
      now === null ||
      now === (to?.kind ?? null) ||
      (now !== "directory" && to?.kind !== "directory" && to !== null)
    )
      continue;
    await within(tree, path, (full) => (now === "directory" ? removeEmpty(full) : rm(full, { force: true })));
  }
  for (const { path, to } of deepFirst.toReversed())
    if (to?.kind === "directory")
      await within(tree, path, (full) => mkdir(full, { mode: openedMode(0) }).catch(unlessThere), {
        create: true,
      });
  for (const [place, { path, to }] of due.entries())
    if (to !== null && to.kind !== "directory")
      await within(tree, path, (full) => rename(join(tree.root, stagedName(place)), full), { create: true });
  for (const { path, to } of deepFirst) if (to?.kind === "directory") await setMode(tree, path, to.mode);
  await rm(join(tree.root, staging), { recursive: true, force: true });
  await inParallel([...new Set(due.map(({ path }) => dirname(path)))], async (folder) => {
    await using directory = await descend(tree, folder);
    await directory?.handle.sync();
  });
}

async function setMode(tree: FileTree, path: string, mode: number): Promise<void> {
  await using directory = await descend(tree, path);
  await directory?.handle.chmod(mode);
}

/** A directory with someone else's files stays. */
async function removeEmpty(path: string): Promise<void> {
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
  });
}

async function within(
  tree: FileTree,
  path: string,
  work: (full: string) => Promise<unknown>,
  options: { readonly create?: boolean } = {},
): Promise<void> {
  await using directory = await descend(tree, dirname(path), options);
  if (directory === null) return;
  await work(`${directory.path}/${path.slice(path.lastIndexOf("/") + 1)}`);
}
