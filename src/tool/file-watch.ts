/**
 * Keeps file versions while a session runs: scans before calls that may change files, and after each of them.
 *
 * The copies of a run lie in a directory named after the session, in the system's temporary directory,
 * private to its owner. While calls run, a list of them lies next to it, so that a successor after a crash
 * can tell what the calls had changed. The end of the run deletes both.
 */
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { TreeChange } from "../core/tool/file-version.ts";
import { hasFileModes } from "../platform/file-mode.ts";
import { Shelf, type ShelfEntry } from "./file-shelf.ts";
import { isWithin } from "./bound-path.ts";
import { covers, lookAt, lookAtPaths, temporaryEnding, withParents } from "./file-tree.ts";
import { makeTurns } from "./file-write.ts";
import type { IsReserved } from "./reserved-names.ts";
import type { FileBlobs, FileTree, FileWatch, OuterTool, WatchedCalls } from "./port.ts";

/** What to scan: all of a tree, or these paths of it. */
type Scope = ReadonlyMap<FileTree, readonly string[] | "all">;

interface StoredList {
  readonly tree: FileTree;
  readonly paths: readonly string[] | "all";
  readonly prefix: string;
  readonly entries: readonly (readonly [string, ShelfEntry])[];
  readonly hidden: readonly string[];
}

const listName = "calls.json";

interface WatchOptions {
  readonly now: () => number;
  readonly session: string | undefined;
  readonly isReserved?: IsReserved;
}

/** Without a session nothing outlives the run. */
export function watchFiles(trees: readonly FileTree[], options: WatchOptions): FileWatch & AsyncDisposable {
  return new Watch(trees, options);
}

class Watch implements FileWatch, AsyncDisposable {
  readonly #trees: readonly FileTree[];
  readonly #now: () => number;
  readonly #session: string | undefined;
  readonly #isReserved: IsReserved;
  readonly #shelves = new Map<FileTree, Shelf>();
  /** Trees that are too large, and why. */
  readonly #given = new Map<FileTree, string>();
  readonly #turns = makeTurns();
  #directory: string | undefined;
  /** Calls are in progress, and their list is written. */
  #isListed = false;
  #left: readonly StoredList[] = [];

  constructor(trees: readonly FileTree[], { now, session, isReserved }: WatchOptions) {
    this.#trees = trees;
    this.#isReserved = isReserved ?? (() => false);
    this.#now = now;
    this.#session = session;
  }

  async begin(
    calls: readonly { readonly tool: OuterTool; readonly input: unknown }[],
    { blobs }: { readonly blobs: FileBlobs },
  ): Promise<WatchedCalls | undefined> {
    const scope = await scopeOf(this.#trees, calls);
    if (scope.size === 0) return undefined;
    const problem = await this.#prepare(scope).catch((error: unknown) => String(error));
    // A call runs even without room for copies.
    if (problem !== undefined) for (const tree of scope.keys()) this.#given.set(tree, problem);
    const reported = new Set<FileTree>();
    return {
      record: (write) =>
        this.#turns("", async () => {
          const written = await write(await this.#changes(scope, blobs, reported));
          await this.#writeList(scope);
          for (const shelf of this.#shelves.values()) await shelf.clear();
          return written;
        }),
      over: async () => {
        this.#isListed = false;
        if (this.#directory !== undefined) await rm(join(this.#directory, listName), { force: true });
      },
    };
  }

  async #prepare(scope: Scope): Promise<undefined> {
    await this.#open();
    this.#left = [];
    for (const [tree, paths] of scope)
      await this.#look(tree, paths, (shelf, look, some) => shelf.settle(look, some));
    await this.#writeList(scope);
  }

  async left(blobs: FileBlobs): Promise<readonly TreeChange[]> {
    if (this.#session === undefined || this.#trees.length === 0 || !(await this.#isLeft())) return [];
    await this.#open();
    const changed: TreeChange[] = [];
    for (const { tree, paths, ...kept } of this.#left) {
      const bound = this.#trees.find(
        (one) => one.name === tree.name && covers(one, tree) && covers(tree, one),
      );
      if (bound === undefined) continue;
      const shelf = new Shelf(bound, { ...kept, directory: this.#directory ?? "", now: this.#now });
      this.#shelves.set(bound, shelf);
      const look = await this.#look(bound, paths, (_, seen, some) => shelf.advance(seen, blobs, some));
      if (look !== undefined && look.length > 0) changed.push({ name: bound.name, files: look });
    }
    return changed;
  }

  async #changes(scope: Scope, blobs: FileBlobs, reported: Set<FileTree>): Promise<readonly TreeChange[]> {
    const changed: TreeChange[] = [];
    for (const [tree, paths] of scope) {
      const { name } = tree;
      const files = await this.#look(tree, paths, (shelf, look, some) => shelf.advance(look, blobs, some));
      const unkept = files === undefined && !reported.has(tree) ? this.#given.get(tree) : undefined;
      if (unkept !== undefined) {
        reported.add(tree);
        changed.push({ name, files: [], unkept: `what changed is not known: ${unkept}` });
      } else if (files !== undefined && files.length > 0) changed.push({ name, files });
    }
    return changed;
  }

  /** Undefined if the tree is too large to scan, from then on. */
  async #look<T>(
    tree: FileTree,
    paths: readonly string[] | "all",
    use: (shelf: Shelf, ...look: Parameters<Shelf["settle"]>) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#given.has(tree) && (paths === "all" || this.#directory === undefined)) return undefined;
    const isReserved = this.#isReserved;
    const look =
      paths === "all" ? await lookAt(tree, isReserved) : await lookAtPaths(tree, paths, isReserved);
    if (typeof look === "string") {
      this.#given.set(tree, look);
      return undefined;
    }
    return use(this.#shelfOf(tree), look, paths === "all" ? undefined : withParents(paths));
  }

  #shelfOf(tree: FileTree): Shelf {
    const known = this.#shelves.get(tree);
    if (known !== undefined) return known;
    const place = { directory: this.#directory ?? "", prefix: prefixOf(this.#trees, tree), now: this.#now };
    const made = new Shelf(tree, place);
    this.#shelves.set(tree, made);
    return made;
  }

  async #writeList(scope: Scope): Promise<void> {
    if (this.#session === undefined || this.#directory === undefined) return;
    const kept = [...scope].flatMap(([tree, paths]): StoredList[] => {
      const shelf = this.#shelves.get(tree);
      if (shelf === undefined || (paths === "all" && this.#given.has(tree))) return [];
      const prefix = prefixOf(this.#trees, tree);
      const only = paths === "all" ? null : new Set(withParents(paths));
      const entries = shelf.entries.filter(([path]) => only?.has(path) ?? true);
      return [{ tree, paths, prefix, entries, hidden: shelf.hidden }];
    });
    const list = join(this.#directory, listName);
    await writeFile(`${list}.new`, JSON.stringify(kept), { mode: 0o600 });
    await rename(`${list}.new`, list);
    this.#isListed = true;
  }

  /** Creates the directory of this run, from the remains of an earlier one if there are any. */
  async #open(): Promise<void> {
    if (this.#directory !== undefined) return;
    const own = await ownFolder();
    const name = this.#session ?? "run";
    const made = await mkdtemp(join(own, `${name}-`));
    this.#directory = made;
    for (const one of await runsOf(own, this.#session)) {
      const path = join(own, one);
      if (path === made) continue;
      const list = await readFile(join(path, listName), "utf8").catch(() => undefined);
      if (list !== undefined && this.#left.length === 0) {
        this.#left = readList(list);
        await rm(made, { recursive: true, force: true });
        await rename(path, made);
      } else await rm(path, { recursive: true, force: true });
    }
  }

  async #isLeft(): Promise<boolean> {
    const own = join(tmpdir(), folderName());
    return (await runsOf(own, this.#session)).length > 0;
  }

  /** The next run finds the changes of calls that never ended here. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isListed) return;
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true, force: true });
  }
}

/** A truncated list counts as empty. */
function readList(text: string): readonly StoredList[] {
  try {
    return JSON.parse(text) as StoredList[];
  } catch {
    return [];
  }
}

const prefixOf = (trees: readonly FileTree[], tree: FileTree): string => `${trees.indexOf(tree)}-`;

const folderName = (): string => `skein-files-${process.getuid?.() ?? "all"}${temporaryEnding}`;

/** Owned by this user and private; any other directory is not used, and then nothing outlives the run. */
async function ownFolder(): Promise<string> {
  const folder = join(tmpdir(), folderName());
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const stat = await lstat(folder).catch(() => undefined);
  const isOurs = stat?.isDirectory() === true && stat.uid === (process.getuid?.() ?? stat.uid);
  if (isOurs && (!hasFileModes || (stat.mode & 0o077) === 0)) return folder;
  return mkdtemp(join(tmpdir(), "skein-files-"));
}

async function runsOf(own: string, session: string | undefined): Promise<readonly string[]> {
  if (session === undefined) return [];
  return (await readdir(own).catch(() => [])).filter((name) => name.startsWith(`${session}-`));
}

/** Every tree, if a call may change anything; otherwise the files that the calls name. */
async function scopeOf(
  trees: readonly FileTree[],
  calls: readonly { readonly tool: OuterTool; readonly input: unknown }[],
): Promise<Scope> {
  const changing = calls.filter(({ tool }) => tool.effect !== "read");
  if (changing.some(({ tool }) => tool.touches === undefined))
    return new Map(trees.map((tree) => [tree, "all"]));
  const scope = new Map<FileTree, string[]>();
  for (const { tool, input } of changing) {
    const files = (await tool.touches?.(input).catch(() => [])) ?? [];
    for (const file of files) {
      const tree = trees.find((one) => isWithin(one.root, file) && isOf(one, file));
      if (tree === undefined || file === tree.root) continue;
      scope.set(tree, [...(scope.get(tree) ?? []), relative(tree.root, file)]);
    }
  }
  return scope;
}

const isOf = ({ root, file }: FileTree, path: string): boolean =>
  file === undefined || path === join(root, file);
