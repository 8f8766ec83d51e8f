/** Repositories, read as files: where one is, and what its refs point to. This starts no program. */
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isWithin } from "./watched-path.ts";

export interface Repository {
  /** The working tree; for a bare one, the repository itself. */
  readonly top: string;
  /** HEAD is here, and the files of this working tree alone. */
  readonly own: string;
  /** Refs and objects; the same for all working trees. */
  readonly shared: string;
}

const text = (path: string): Promise<string | null> => readFile(path, "utf8").catch(() => null);
const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The repository of a directory, not searched above `root`; null when there is none. */
export async function findRepository(path: string, root: string): Promise<Repository | null> {
  for (let top = path; isWithin(root, top); top = dirname(top)) {
    const found = await repositoryAt(top);
    if (found !== null) return found;
    if (top === dirname(top)) break;
  }
  return null;
}

export async function repositoryAt(top: string): Promise<Repository | null> {
  const inside = join(top, ".git");
  const pointer = /^gitdir: (.+)$/m.exec((await text(inside)) ?? "")?.[1];
  const places = pointer === undefined ? [inside, top] : [resolve(top, pointer.trim())];
  for (const place of places) {
    if (!(await exists(join(place, "HEAD")))) continue;
    const own = await realpath(place);
    const elsewhere = (await text(join(own, "commondir")))?.trim();
    const shared = elsewhere === undefined ? own : await realpath(resolve(own, elsewhere)).catch(() => own);
    if ((await exists(join(shared, "objects"))) && (await exists(join(shared, "refs"))))
      return { top, own, shared };
  }
  return null;
}

/** What a ref finally points to: a commit's id, the refs on the way, and whether the ref exists. */
export interface RefTarget {
  readonly id: string | null;
  readonly way: readonly string[];
}

const idForm = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const wayMax = 5;

export async function pointed(repository: Repository, ref: string): Promise<RefTarget> {
  const way = [ref];
  for (let name = ref; way.length <= wayMax;) {
    const value =
      (await text(join(baseOf(repository, name), name)))?.trim() ?? (await packed(repository, name));
    if (value === null || idForm.test(value)) return { id: value, way };
    const next = /^ref: (\S+)$/.exec(value)?.[1];
    if (next === undefined || !isRefName(next)) return { id: null, way };
    way.push(next);
    name = next;
  }
  return { id: null, way };
}

const baseOf = ({ own, shared }: Repository, name: string): string =>
  /^refs\/(?!bisect\/|worktree\/|rewritten\/)/.test(name) ? shared : own;

async function packed({ shared }: Repository, name: string): Promise<string | null> {
  for (const line of ((await text(join(shared, "packed-refs"))) ?? "").split("\n"))
    if (line.slice(line.indexOf(" ") + 1) === name && !line.startsWith("#"))
      return line.split(" ", 1)[0] ?? null;
  return null;
}

/** Rejects names that lead out of the directory of refs, or that a program takes for an option. */
const isRefName = (name: string): boolean =>
  /^[^\s~^:?*[\\\p{Cc}-][^\s~^:?*[\\\p{Cc}]*$/u.test(name) &&
  !name.split("/").some((part) => part === "" || part.startsWith(".") || part.endsWith(".lock")) &&
  !name.includes("..") &&
  !name.includes("@{");

/** The full name of a short ref, by Git's own order; null when there is none. */
export async function fullName(repository: Repository, ref: string): Promise<string | null> {
  if (!isRefName(ref)) return null;
  const forms = [`refs/${ref}`, `refs/tags/${ref}`, `refs/heads/${ref}`, `refs/remotes/${ref}`];
  for (const name of [...(ref.startsWith("refs/") ? [ref] : []), ...forms])
    if ((await pointed(repository, name)).id !== null) return name;
  return null;
}

/** HEAD before the rebase in progress; null when there is none. */
export async function beforeRebase({ own }: Repository): Promise<string | null> {
  for (const folder of ["rebase-merge", "rebase-apply"]) {
    const id = (await text(join(own, folder, "orig-head")))?.trim();
    if (id !== undefined && idForm.test(id)) return id;
  }
  return null;
}

/**
 * True when something else was checked out since HEAD was at a commit, by Git's reflog of HEAD; false when
 * that does not go back so far, or does not exist.
 */
export async function isSwitched({ own }: Repository, from: string): Promise<boolean> {
  const lines = ((await text(join(own, "logs", "HEAD"))) ?? "").trimEnd().split("\n");
  const begin = lines.findLastIndex((line) => line.split(" ", 2)[1] === from);
  const moves = lines.slice(begin + 1).flatMap((line) => {
    const [, left, came] = /\tcheckout: moving from (\S+) to (\S+)$/.exec(line) ?? [];
    return left === undefined || came === undefined ? [] : [{ left, came }];
  });
  // Switching there and back counts as no switch.
  return begin >= 0 && moves.length > 0 && moves[0]?.left !== moves.at(-1)?.came;
}

/** The directories whose changes indicate that a ref may have moved. */
export async function foldersOf(repository: Repository, way: readonly string[]): Promise<readonly string[]> {
  const { own, shared } = repository;
  const folders = new Set([own, shared]);
  for (const name of way) {
    const base = baseOf(repository, name);
    for (let folder = dirname(join(base, name)); isWithin(base, folder); folder = dirname(folder)) {
      const isThere = await readdir(folder).then(
        () => true,
        () => false,
      );
      if (isThere) folders.add(folder);
      // The parent directory announces a missing one.
      if (isThere) break;
    }
  }
  return [...folders];
}

/** False for names in those directories that do not concern refs. */
export const isOfRefs = (name: string): boolean =>
  !name.endsWith(".lock") &&
  !/^(index|objects|logs|hooks|info|config|description|COMMIT_EDITMSG|ORIG_HEAD|FETCH_HEAD|MERGE_\w+)$/.test(
    name,
  );
