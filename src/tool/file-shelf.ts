/**
 * A shelf: one tree at its last scan, with a copy of every file, so that a later scan can tell what a command
 * changed. The copies lie in a separate directory outside of the tree, and need no reading where the file
 * system can share them.
 */
import { constants } from "node:fs";
import { copyFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSameVersion, type FileChange, type FileVersion } from "../core/tool/file-version.ts";
import { isHidden, sightOf, treeLimit, type TreeScan, type FileStatus } from "./file-tree.ts";
import type { FileBlobs, FileTree } from "./port.ts";

/** A path at that time, and its copy; a file without one was unreadable. */
export interface ShelfEntry extends FileStatus {
  readonly copy?: string;
  /** It was copied so soon after a change that it may have changed again unnoticed. */
  readonly isDoubtful: boolean;
}

/** The difference to the previous scan. */
interface Step {
  readonly path: string;
  readonly was: ShelfEntry | undefined;
  readonly is: ShelfEntry | undefined;
}

export class Shelf {
  readonly tree: FileTree;
  readonly #directory: string;
  readonly #now: () => number;
  readonly #entries: Map<string, ShelfEntry>;
  #hidden: ReadonlySet<string>;
  #copies: number;
  #stale: string[] = [];

  /** `prefix` separates the copies of several shelves in one directory. */
  constructor(
    tree: FileTree,
    place: {
      readonly directory: string;
      readonly prefix: string;
      readonly now: () => number;
      readonly entries?: readonly (readonly [string, ShelfEntry])[];
      readonly hidden?: readonly string[];
    },
  ) {
    this.tree = tree;
    this.#directory = join(place.directory, place.prefix);
    this.#now = place.now;
    this.#entries = new Map(place.entries);
    this.#hidden = new Set(place.hidden);
    this.#copies = Math.max(0, ...[...this.#entries.values()].map(({ copy }) => Number(copy ?? 0)));
  }

  get entries(): readonly (readonly [string, ShelfEntry])[] {
    return [...this.#entries];
  }

  get hidden(): readonly string[] {
    return [...this.#hidden];
  }

  /** Deletes copies that are no longer compared. */
  async clear(): Promise<void> {
    await inParallel(this.#stale.splice(0), (copy) => rm(`${this.#directory}${copy}`, { force: true }));
  }

  /** Takes over the current state, of all paths or of these; nothing is reported. */
  async settle(look: TreeScan, paths?: readonly string[]): Promise<void> {
    await this.#step(look, paths);
    await this.clear();
  }

  /** Takes over the current state, and returns the changes, with the contents in the blobs. */
  async advance(look: TreeScan, blobs: FileBlobs, paths?: readonly string[]): Promise<readonly FileChange[]> {
    const changes: FileChange[] = [];
    const steps = await this.#step(look, paths);
    await inParallel(steps, async ({ path, was, is }) => {
      const [before, after] = [await this.#version(was, blobs), await this.#version(is, blobs)];
      if (!isSameVersion(before, after)) changes.push({ path, before, after });
    });
    return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Paths that were invisible at the last scan are added silently. */
  async #step(look: TreeScan, paths: readonly string[] | undefined): Promise<readonly Step[]> {
    const steps: Step[] = [];
    const before: TreeScan = { seen: this.#entries, hidden: this.#hidden };
    const all = paths ?? new Set([...this.#entries.keys(), ...look.seen.keys()]);
    await inParallel([...all], async (path) => {
      const [was, sight] = [this.#entries.get(path), look.seen.get(path)];
      if ((was === undefined && sight === undefined) || isHidden(path, look)) return;
      if (was !== undefined && was.print === sight?.print) {
        const isDoubtful = this.#isFresh(was);
        if (!was.isDoubtful || !(await this.#differs(path, was))) {
          if (was.isDoubtful) this.#entries.set(path, { ...was, isDoubtful });
          return;
        }
      }
      const is = sight && (await this.#take(path, sight));
      if (is === undefined) this.#entries.delete(path);
      else this.#entries.set(path, is);
      if (was?.copy !== undefined) this.#stale.push(was.copy);
      if (!isHidden(path, before)) steps.push({ path, was, is });
    });
    this.#hidden = look.hidden;
    return steps;
  }

  #isFresh = ({ doubtfulUntilMs }: FileStatus): boolean => this.#now() < doubtfulUntilMs;

  /** Undefined if it vanished meanwhile. */
  async #take(path: string, first: FileStatus): Promise<ShelfEntry | undefined> {
    let sight: FileStatus | undefined = first;
    for (let tries = 0; tries < 3 && sight !== undefined; tries++) {
      if (sight.kind !== "file") return { ...sight, isDoubtful: false };
      const isDoubtful = this.#isFresh(sight);
      const copy = String((this.#copies += 1));
      const isCopied = await this.#copy(path, copy);
      const after = await sightOf(this.#full(path));
      if (after?.print === sight.print) return { ...sight, isDoubtful, ...(isCopied ? { copy } : {}) };
      await rm(`${this.#directory}${copy}`, { force: true });
      sight = after;
    }
    return sight && { ...sight, isDoubtful: false };
  }

  #copy(path: string, copy: string): Promise<boolean> {
    return copyFile(this.#full(path), `${this.#directory}${copy}`, constants.COPYFILE_FICLONE).then(
      () => true,
      () => false,
    );
  }

  async #differs(path: string, { copy, bytes }: ShelfEntry): Promise<boolean> {
    if (copy === undefined || bytes === 0) return false;
    const [kept, now] = await Promise.all([
      readFile(`${this.#directory}${copy}`).catch(() => undefined),
      readFile(this.#full(path)).catch(() => undefined),
    ]);
    return kept === undefined || now === undefined || !kept.equals(now);
  }

  async #version(entry: ShelfEntry | undefined, blobs: FileBlobs): Promise<FileVersion | null> {
    if (entry === undefined) return null;
    const { kind, mode, target, copy } = entry;
    if (kind === "directory") return { kind, mode };
    const bytes =
      kind === "symlink"
        ? Buffer.from(target ?? "", "latin1")
        : copy === undefined
          ? undefined
          : await readFile(`${this.#directory}${copy}`).catch(() => undefined);
    if (bytes === undefined) return { kind, mode, bytes: entry.bytes };
    const kept = await blobs.put(bytes);
    if (typeof kept !== "string") return { kind, mode, bytes: bytes.length, held: kept.secret };
    return { kind, mode, blob: kept, bytes: bytes.length };
  }

  #full = (path: string): string => join(this.tree.root, path);
}

/** A few at a time: limits open files, without strict sequence. */
export async function inParallel<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < list.length; place = next++) await work(list[place] as T);
  };
  await Promise.all(Array.from({ length: Math.min(treeLimit.atOnce, list.length) }, worker));
}
