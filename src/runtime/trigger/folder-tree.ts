/**
 * A snapshot of a directory: the files below it, and their hashes. System notifications say which directories
 * to read again; a hash is cached as long as nothing about the file says that it changed.
 *
 * Links are not followed: their target path counts. SQLite databases are skipped: their files must not be
 * opened while a program has the database open (see tool/live-database.ts).
 */
import { createHash } from "node:crypto";
import { constants, watch, type BigIntStats, type FSWatcher } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { unsettledMs } from "../../platform/file-look.ts";
import type { World } from "../world.ts";

/** Sorted by path: the path, and the hash of its content. */
export type FolderHashes = readonly (readonly [path: string, hash: string])[];

interface Entry {
  readonly print: string;
  readonly bytes: number;
  readonly changedNs: bigint;
  readonly isLink: boolean;
  /** Empty: the file does not count. Null: not read yet. */
  hash: string | null;
  /** It may have changed since within the same tick of the file system's clock. */
  isDoubtful: boolean;
}

interface Folder {
  /** Identifies the directory itself, whatever its name. */
  readonly id: string;
  watcher: FSWatcher | null;
  files: Map<string, Entry>;
  folders: ReadonlySet<string>;
}

/** Called with a path, and whether it may have appeared or disappeared. */
type Listener = (path: string, isNamed: boolean) => void;

export interface TreeOptions {
  /** True when the system notifies of changes. */
  readonly watched: boolean;
  /** Names that are skipped everywhere. */
  readonly passedOver: readonly string[];
  /** This file of the directory, and nothing else. */
  readonly only?: string;
}

/** Files scanned for one tree, whether or not they are watched. */
const entriesMax = limit.watchedFilesMax * 5;
const atOnce = 16;
const chunkBytes = 262_144;

export class Tree {
  readonly root: string;
  /** A problem found by the last scan, such as a file that counts by size only. */
  trouble: string | null = null;
  readonly #world: World;
  readonly #names: ReadonlySet<string>;
  readonly #only: string | undefined;
  readonly #isWatched: boolean;
  readonly #folders = new Map<string, Folder>();
  readonly #listeners = new Set<Listener>();
  #dirty = new Set<string>([""]);
  #entries = 0;
  #unannounced = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(world: World, root: string, options: TreeOptions) {
    this.#world = world;
    this.root = root;
    this.#isWatched = options.watched;
    this.#only = options.only;
    this.#names = new Set(options.passedOver);
  }

  get isAnnounced(): boolean {
    return this.#isWatched && this.#unannounced === 0;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The current files that match. */
  list(matches: (path: string) => boolean): Promise<FolderHashes> {
    return this.#inTurn(async () => {
      await this.#refresh();
      return this.#listing(matches);
    });
  }

  /**
   * Reads everything again; true when something changed. All listeners are called then: the next poll, by
   * another user of the tree, finds nothing new.
   */
  poll(): Promise<boolean> {
    return this.#inTurn(async () => {
      for (const path of this.#folders.keys()) this.#dirty.add(path);
      const isChanged = await this.#refresh();
      if (isChanged) for (const listener of this.#listeners) listener("", true);
      return isChanged;
    });
  }

  end(): void {
    this.#isOver = true;
    for (const folder of this.#folders.values()) folder.watcher?.close();
    this.#folders.clear();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #refresh(): Promise<boolean> {
    const dirty = [...this.#dirty].toSorted();
    this.#dirty = new Set();
    let isChanged = false;
    try {
      for (const path of dirty)
        if (path === "" || this.#folders.has(path)) isChanged = (await this.#visit(path)) || isChanged;
    } catch (error) {
      for (const path of dirty) this.#dirty.add(path);
      throw error;
    }
    return isChanged;
  }

  /** Reads one directory, and new ones below it. */
  async #visit(path: string): Promise<boolean> {
    const full = join(this.root, path);
    const stat = await lstat(full, { bigint: true }).catch(() => null);
    if (stat === null || !stat.isDirectory()) return this.#lost(path);
    const folder = this.#enter(path, full, stat);
    const counted = await this.#namesIn(full);
    if (counted === null) return this.#lost(path);
    const files = new Map<string, Entry>();
    const folders = new Map<string, string>();
    let isChanged = false;
    await inChunks(counted, async (name) => {
      const found = await lstat(join(full, name), { bigint: true }).catch(() => null);
      if (found?.isDirectory() === true && this.#only === undefined) folders.set(name, idOf(found));
      if (found === null || !(found.isFile() || found.isSymbolicLink())) return;
      const before = folder.files.get(name);
      const entry = entryOf(found);
      const isSame = before !== undefined && before.print === entry.print;
      if (!isSame || before.isDoubtful) isChanged = true;
      files.set(name, isSame && !before.isDoubtful ? before : entry);
    });
    if (folder.files.size !== files.size) isChanged = true;
    this.#entries += files.size - folder.files.size;
    folder.files = files;
    for (const name of folder.folders) if (!folders.has(name)) isChanged = this.#drop(below(path, name));
    folder.folders = new Set(folders.keys());
    if (this.#entries > entriesMax)
      throw new SkeinError("invalid", `path: ${this.root} contains more than ${entriesMax} files`, {
        hint: "watch a subdirectory",
      });
    for (const [name, id] of folders)
      if (this.#folders.get(below(path, name))?.id !== id) {
        await this.#visit(below(path, name));
        isChanged = true;
      }
    return isChanged;
  }

  /** Null when the directory cannot be read. */
  async #namesIn(full: string): Promise<readonly string[] | null> {
    const only = this.#only;
    if (only !== undefined)
      return (await lstat(join(full, `${only}-shm`)).catch(() => null)) === null ? [only] : [];
    const names = await readdir(full).catch(() => null);
    const there = new Set(names);
    return names?.filter((name) => !this.#names.has(name) && !isOfDatabase(name, there)) ?? null;
  }

  /** Watches a directory before it is read, so that no change is missed in between. */
  #enter(path: string, full: string, stat: BigIntStats): Folder {
    const id = idOf(stat);
    const there = this.#folders.get(path);
    if (there?.id === id && (there.watcher !== null || !this.#isWatched)) return there;
    if (there !== undefined && there.id !== id) this.#drop(path);
    const folder = this.#folders.get(path) ?? { id, watcher: null, files: new Map(), folders: new Set() };
    if (there?.id === id) this.#unannounced--;
    this.#folders.set(path, folder);
    if (this.#isWatched && !this.#isOver) folder.watcher = this.#watch(path, full);
    if (this.#isWatched && folder.watcher === null) this.#unannounced++;
    return folder;
  }

  #watch(path: string, full: string): FSWatcher | null {
    try {
      const own = basename(full);
      const watcher = watch(full, { persistent: false }, (event, name) => {
        if (name !== null && this.#names.has(name)) return;
        if (name !== null && this.#only !== undefined && name !== this.#only && name !== own) return;
        // The directory itself may have been removed: one of the same name is another.
        if (event === "rename" && (name === null || name === own)) this.#doubt(path, watcher);
        this.#dirty.add(path);
        const isNamed = event === "rename" || name === null;
        for (const listener of this.#listeners) listener(name === null ? path : below(path, name), isNamed);
      });
      watcher.on("error", () => this.#doubt(path, watcher));
      return watcher;
    } catch {
      // No watches are left, or the file system has none: it is polled.
      return null;
    }
  }

  /** The next scan opens it again. */
  #doubt(path: string, watcher: FSWatcher): void {
    const folder = this.#folders.get(path);
    watcher.close();
    if (folder?.watcher !== watcher) return;
    folder.watcher = null;
    this.#unannounced++;
    this.#dirty.add(path);
  }

  /** It was removed or cannot be read. Further down that is a change; without the root the watch ends. */
  #lost(path: string): boolean {
    if (path !== "") return this.#drop(path);
    this.#drop("");
    throw new SkeinError("not-found", `${this.root} does not exist, or cannot be read`, {
      hint: "watching resumes once it exists",
    });
  }

  #drop(path: string): true {
    for (const [one, folder] of this.#folders) {
      if (path !== "" && one !== path && !one.startsWith(`${path}/`)) continue;
      if (this.#isWatched && folder.watcher === null) this.#unannounced--;
      folder.watcher?.close();
      this.#entries -= folder.files.size;
      this.#folders.delete(one);
    }
    return true;
  }

  async #listing(matches: (path: string) => boolean): Promise<FolderHashes> {
    const found: (readonly [path: string, entry: Entry, folder: string])[] = [];
    for (const [folder, { files }] of this.#folders)
      for (const [name, entry] of files) {
        const path = below(folder, name);
        if (matches(path)) found.push([path, entry, folder]);
      }
    if (found.length > limit.watchedFilesMax)
      throw new SkeinError(
        "invalid",
        `${this.root}: ${found.length} files exceed the limit of watched files`,
        {
          hint: `the limit is ${limit.watchedFilesMax}; use a glob or a subdirectory`,
        },
      );
    this.trouble =
      this.isAnnounced || !this.#isWatched
        ? null
        : `changes below ${this.root} are not all announced; it is polled`;
    await inChunks(found, async ([path, entry, folder]) => {
      entry.hash ??= await this.#hash(path, entry, folder);
      if (entry.bytes > limit.watchedBytesMax)
        this.trouble = `${path} has more than ${limit.watchedBytesMax} bytes: only its size and time count`;
    });
    return found
      .map(([path, { hash }]) => [path, hash ?? ""] as const)
      .filter(([, hash]) => hash !== "")
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  async #hash(path: string, entry: Entry, folder: string): Promise<string> {
    const full = join(this.root, path);
    if (this.#world.now() - Number(entry.changedNs / 1_000_000n) < unsettledMs(entry.changedNs)) {
      entry.isDoubtful = true;
      this.#dirty.add(folder);
    }
    if (entry.isLink)
      return readlink(full).then(
        (to) => this.#world.digest("", `link ${to}`),
        () => "",
      );
    if (entry.bytes > limit.watchedBytesMax) return this.#world.digest("", `stat ${entry.print}`);
    try {
      return await hashFile(full);
    } catch (error) {
      const isGone = ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "");
      if (isGone) this.#dirty.add(folder);
      return isGone ? "" : this.#world.digest("", `stat ${entry.print}`);
    }
  }
}

const below = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

const idOf = ({ dev, ino, birthtimeNs }: BigIntStats): string => `${dev} ${ino} ${birthtimeNs}`;

function entryOf(stat: BigIntStats): Entry {
  return {
    print: printOf(stat),
    bytes: Number(stat.size),
    changedNs: stat.ctimeNs,
    isLink: stat.isSymbolicLink(),
    hash: null,
    isDoubtful: false,
  };
}

const printOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${ino} ${size} ${mtimeNs} ${ctimeNs}`;

/** An open database, and the files beside one. */
function isOfDatabase(name: string, there: ReadonlySet<string>): boolean {
  const base = name.replace(/-(?:wal|shm|journal)$/, "");
  return there.has(`${base}-shm`) || (base !== name && there.has(base));
}

const magic = Buffer.from("SQLite format 3\0", "latin1");
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Empty for a database. */
async function hashFile(full: string): Promise<string> {
  // It may have been opened since the directory was read.
  if (await lstat(`${full}-shm`).catch(() => null)) return "";
  await using handle = await open(full, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stat = await handle.stat({ bigint: true });
  if (!stat.isFile()) return "";
  const sum = createHash("sha256");
  const chunk = Buffer.allocUnsafe(Math.max(magic.length, Math.min(chunkBytes, Number(stat.size) + 1)));
  let isFirst = true;
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, null);
    const bytes = chunk.subarray(0, bytesRead);
    if (isFirst && bytes.subarray(0, magic.length).equals(magic)) return "";
    isFirst = false;
    if (bytesRead === 0) break;
    sum.update(bytes);
  }
  return sum.digest("hex");
}

async function inChunks<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += atOnce) await Promise.all(all.slice(at, at + atOnce).map(work));
}
