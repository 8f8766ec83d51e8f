/**
 * Trees: bound directories with file versions, and their state at a moment. Ignored names are skipped, and so
 * are the files of an open database: they are never opened here, and a path that was skipped once is not
 * reported as new when it becomes visible.
 */
import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isPlainPath } from "../core/tool/file-version.ts";
import { ignoredNames, unsettledMs } from "../platform/file-look.ts";
import { modeOf } from "../platform/file-mode.ts";
import { isWithin, realBoundPath, writableRoots } from "./bound-path.ts";
import { databaseOf } from "./live-database.ts";
import type { StoredBinding, FileTree } from "./port.ts";
import type { IsReserved } from "./reserved-names.ts";
import { openRoot } from "./root.ts";

export const treeLimit = {
  /** Entries of one tree. */
  entriesMax: 20_000,
  /** All files of one tree. */
  bytesMax: 268_435_456,
  /** Files that are read at once. */
  atOnce: 32,
} as const;

/** The suffix of Skein's own temporary files. */
export const temporaryEnding = ".skein-tmp";

export interface FileStatus {
  readonly kind: "file" | "symlink" | "directory";
  readonly mode: number;
  readonly bytes: number;
  /** Differs if the file was written, as far as times can tell. */
  readonly print: string;
  /** Until then it may change again and look the same. */
  readonly doubtfulUntilMs: number;
  /** Of a link, as latin1. */
  readonly target?: string;
}

export interface TreeScan {
  readonly seen: ReadonlyMap<string, FileStatus>;
  /** Paths at and below which nothing is known. */
  readonly hidden: ReadonlySet<string>;
}

/** The trees of bindings: writable ones, then the working directories of shells. */
export async function everyTree(bound: readonly StoredBinding[]): Promise<readonly FileTree[]> {
  const isShell = ({ kind }: StoredBinding): boolean => kind === "shell";
  const shellsLast = [...bound.filter((one) => !isShell(one)), ...bound.filter(isShell)];
  const writable = await writableRoots(bound);
  const found = await Promise.all(shellsLast.map((one) => treeOf(one, writable).catch(() => undefined)));
  return found.filter((tree) => tree !== undefined);
}

/** A tree within another is part of it. */
export const outermost = (trees: readonly FileTree[]): readonly FileTree[] =>
  trees.filter(
    (tree, place) =>
      !trees.some(
        (other, there) => there !== place && covers(other, tree) && (there < place || !covers(tree, other)),
      ),
  );

/** A path below any of all trees, in the outermost one that holds it. */
export function placeIn(
  { all, trees }: { readonly all: readonly FileTree[]; readonly trees: readonly FileTree[] },
  name: string,
  path: string,
): { readonly tree: FileTree; readonly path: string } | undefined {
  const own = all.find((tree) => tree.name === name);
  if (own === undefined || !isPlainPath(path)) return own && { tree: own, path };
  const full = join(own.root, path);
  const tree = trees.find((one) => one.file === undefined && isWithin(one.root, full)) ?? own;
  return { tree, path: relative(tree.root, full) };
}

async function treeOf(bound: StoredBinding, writable: readonly string[]): Promise<FileTree | undefined> {
  const { kind, name, mode, path, options } = bound;
  if (bound.sandbox === true && mode !== "write") return undefined;
  if (kind === "shell") {
    const cwd = typeof options === "object" && options !== null && "cwd" in options ? options.cwd : path;
    return typeof cwd === "string"
      ? { name, root: await realBoundPath({ name, path: cwd }, writable) }
      : undefined;
  }
  if ((kind !== "directory" && kind !== "file") || mode !== "write") return undefined;
  const { real, file } = await openRoot(bound, { writable });
  return { name, root: real, ...(file === undefined ? {} : { file }) };
}

/** Whether the second is entirely part of the first. */
export function covers(outer: FileTree, inner: FileTree): boolean {
  if (outer.file !== undefined) return outer.root === inner.root && outer.file === inner.file;
  return isWithin(outer.root, inner.root);
}

/** The current state of the tree; a text if it is unknown. The store's names stay hidden. */
export async function lookAt(tree: FileTree, isReserved: IsReserved): Promise<TreeScan | string> {
  if (tree.file !== undefined) return lookAtPaths(tree, [tree.file], isReserved);
  const seen = new Map<string, FileStatus>();
  const hidden = new Set<string>();
  let bytes = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const here = folder;
    const entries = await readdir(join(tree.root, here), { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) {
      hidden.add(here);
      continue;
    }
    const names = new Set(entries.map(({ name }) => name));
    const kept = entries.map(({ name }) => name).filter((name) => !isPassedOver(name));
    if (seen.size + kept.length > treeLimit.entriesMax)
      return `there are more than ${treeLimit.entriesMax} files below ${tree.name}`;
    await Promise.all(
      kept.map(async (name) => {
        const path = here === "" ? name : `${here}/${name}`;
        const isOurs = names.has(`${databaseOf(name)}-shm`) || isReserved(join(tree.root, path));
        const sight = isOurs ? undefined : await sightOf(join(tree.root, path));
        if (sight === undefined) return void hidden.add(path);
        seen.set(path, sight);
        if (sight.kind === "directory") folders.push(path);
        if (sight.kind === "file") bytes += sight.bytes;
      }),
    );
    if (bytes > treeLimit.bytesMax)
      return `there are more than ${treeLimit.bytesMax} bytes below ${tree.name}`;
  }
  return { seen, hidden };
}

const isPassedOver = (name: string): boolean => ignoredNames.includes(name) || name.endsWith(temporaryEnding);

/** The current state of these paths and their directories. */
export async function lookAtPaths(
  tree: FileTree,
  paths: readonly string[],
  isReserved: IsReserved,
): Promise<TreeScan> {
  const seen = new Map<string, FileStatus>();
  const hidden = new Set<string>();
  for (const path of withParents(paths)) {
    if (path.split("/").some(isPassedOver)) {
      hidden.add(path);
      continue;
    }
    const full = join(tree.root, path);
    const isLive = isReserved(full) || (await sightOf(`${databaseOf(full)}-shm`)) !== undefined;
    const sight = isLive ? undefined : await sightOf(full);
    if (isLive) hidden.add(path);
    else if (sight !== undefined) seen.set(path, sight);
  }
  return { seen, hidden };
}

/** The paths and all their parent directories, without the root. */
export function withParents(paths: readonly string[]): readonly string[] {
  const all = new Set<string>();
  for (const path of paths)
    for (let one = path; one !== "." && one !== "" && !all.has(one); one = dirname(one)) all.add(one);
  return [...all].toSorted();
}

/** Undefined if it does not exist, and for pipes, sockets and devices, which have no versions. */
export async function sightOf(path: string): Promise<FileStatus | undefined> {
  const stat = await lstat(path, { bigint: true }).catch(() => undefined);
  if (stat === undefined) return undefined;
  const kind = stat.isFile()
    ? "file"
    : stat.isSymbolicLink()
      ? "symlink"
      : stat.isDirectory()
        ? "directory"
        : undefined;
  if (kind === undefined) return undefined;
  const mode = modeOf(stat, kind);
  const doubtfulUntilMs = Number(stat.ctimeMs) + unsettledMs(stat.ctimeNs);
  const sight = { kind, mode, bytes: Number(stat.size), doubtfulUntilMs } as const;
  // An entry in a directory changes only the directory's times.
  if (kind === "directory") return { ...sight, print: `d ${mode}` };
  const print = [stat.ino, stat.size, stat.mode, stat.mtimeNs, stat.ctimeNs].join(" ");
  if (kind === "file") return { ...sight, print };
  const target = await readlink(path, { encoding: "buffer" }).catch(() => undefined);
  return target === undefined ? undefined : { ...sight, print, target: target.toString("latin1") };
}

/** Whether nothing is known of the path, by either scan. */
export function isHidden(path: string, ...looks: readonly TreeScan[]): boolean {
  for (let one = path; ; one = dirname(one)) {
    const at = one === "." ? "" : one;
    if (looks.some(({ hidden }) => hidden.has(at))) return true;
    if (at === "") return false;
  }
}
