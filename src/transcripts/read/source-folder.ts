/**
 * The files of a root: listed once, read by ranges, never beyond the root or the size noted at the start.
 * Archives, compressed files and databases are read from copies in a scratch folder that `close` removes.
 */
import { lstatSync, mkdtempSync, readdirSync, readSync, realpathSync, rmSync, statSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { SourceRange, SourceRecord } from "../model.ts";
import { splitElements } from "./json-elements.ts";
import type { Splitter } from "./splitter.ts";
import { openCopy, readRow } from "./sqlite-copy.ts";
import { listArchive, unpackEntry, unpackZstd } from "./unpack.ts";
import { leavesTarget, type ZipEntry } from "./zip-directory.ts";

/** A file below the root. A file in an archive has the path `ARCHIVE/ENTRY`. */
export interface SourceFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAtMs: number;
}

/** A file or folder that cannot be read, while the rest of its root can. */
export interface UnreadableSource {
  readonly path: string;
  readonly reason: string;
}

const maxFiles = 500_000;
const maxDepth = 12;
const chunkBytes = 1024 * 1024;
const windowBytes = 256 * 1024;
const noBytes = Buffer.alloc(0);

interface OpenFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  /** The part that was read last. */
  readonly window: { from: number; length: number; data: Buffer };
}

/** One root: a folder, or the folder of a file that was given. */
export class SourceFolder {
  readonly root: string;
  /** The file that was given in place of a folder. */
  readonly only: string | null;
  readonly #open = new Map<string, OpenFile>();
  readonly #databases = new Map<string, DatabaseSync>();
  readonly #archives = new Map<string, readonly ZipEntry[]>();
  #files: readonly SourceFile[] | undefined;
  #scratch: string | undefined;
  #unpacked = 0;
  /** Links, devices and archive entries that were not followed. */
  readonly refused: string[] = [];
  /** Files and folders below the root that listing or finding could not read. */
  readonly unreadable: UnreadableSource[] = [];
  /** The folders that `list` went through, as real paths. */
  readonly folders: string[] = [];

  constructor(path: string) {
    let real: string;
    try {
      real = realpathSync(path);
    } catch (cause) {
      throw new SkeinError("not-found", `${quote(path)} cannot be read${systemReason(cause)}`, {
        hint: "check the path",
        cause,
      });
    }
    const isFolder = statSync(real).isDirectory();
    this.root = isFolder ? real : dirname(real);
    this.only = isFolder ? null : basename(real);
  }

  /** Every file below the root, in the order of their paths. Symbolic links are not followed. */
  async list(): Promise<readonly SourceFile[]> {
    if (this.#files !== undefined) return this.#files;
    const found: SourceFile[] = [];
    try {
      this.#walk("", 0, found);
    } catch (error) {
      throw asUnreadable(this.root, error);
    }
    for (const { path, modifiedAtMs } of found.filter(({ path }) => path.toLowerCase().endsWith(".zip"))) {
      if (this.only !== null && path !== this.only) continue;
      found.push(...(await this.collect(path, () => this.#listEntries(path, modifiedAtMs))));
    }
    return (this.#files = found);
  }

  /** An unreadable file of a folder is noted, and the others are read. A file given alone throws. */
  async collect<T>(path: string, work: () => Promise<readonly T[]>): Promise<readonly T[]> {
    try {
      return await work();
    } catch (error) {
      const failure = asUnreadable(path, error);
      if (this.only !== null || !(failure instanceof SkeinError)) throw failure;
      this.unreadable.push({ path, reason: failure.message });
      return [];
    }
  }

  #walk(folder: string, depth: number, found: SourceFile[]): void {
    const listed = readdirSync(join(this.root, folder), { withFileTypes: true });
    this.folders.push(join(this.root, folder));
    for (const entry of listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (found.length >= maxFiles) return;
      if (entry.isDirectory() && this.#isWanted(path)) {
        if (depth < maxDepth) this.#skipUnreadable(path, () => this.#walk(path, depth + 1, found));
        else this.refused.push(path);
      } else if (entry.isFile()) {
        this.#skipUnreadable(path, () => {
          const { size, mtimeMs } = lstatSync(join(this.root, path));
          found.push({ path, bytes: size, modifiedAtMs: mtimeMs });
        });
      } else if (!entry.isDirectory()) this.refused.push(path);
    }
  }

  #skipUnreadable(path: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      const failure = asUnreadable(path, error);
      if (!(failure instanceof SkeinError)) throw failure;
      // A tool may remove a file while its folder is listed. Neighbors of a file given alone do not count.
      const isGone = isSystemError(error) && error.code === "ENOENT";
      const isNeighbor = this.only !== null && path !== this.only && !this.#isWanted(path);
      if (!isGone && !isNeighbor) this.unreadable.push({ path, reason: failure.message });
    }
  }

  /** Of a file that was given alone, the folder with its parts is looked into, and no other. */
  #isWanted(folder: string): boolean {
    return this.only === null || folder.split("/")[0] === this.only.replace(/\.[^.]*$/, "");
  }

  async #listEntries(archive: string, modifiedAtMs: number): Promise<SourceFile[]> {
    const entries = await this.#entriesOf(archive);
    return entries.flatMap(({ name, bytes }) => {
      if (!leavesTarget(name)) return [{ path: `${archive}/${name}`, bytes, modifiedAtMs }];
      this.refused.push(`${archive}/${name}`);
      return [];
    });
  }

  async #entriesOf(archive: string): Promise<readonly ZipEntry[]> {
    const known = this.#archives.get(archive);
    if (known !== undefined) return known;
    const entries = await listArchive(this.#inside(archive));
    this.#archives.set(archive, entries);
    return entries;
  }

  /** Streams a part of a file into a splitter. `to` beyond the size noted at the start is cut. */
  async scan(
    file: string,
    splitter: Splitter,
    {
      from = 0,
      to = Infinity,
      progress,
    }: { readonly from?: number; readonly to?: number; readonly progress?: (bytes: number) => void } = {},
  ): Promise<void> {
    const { handle, bytes } = await this.#file(file);
    const end = Math.min(to, bytes);
    const chunk = Buffer.alloc(Math.max(1, Math.min(chunkBytes, end - from)));
    for (let at = from; at < end;) {
      const length = Math.min(chunk.length, end - at);
      const { bytesRead } = await readable(file, handle.read(chunk, 0, length, at));
      if (bytesRead === 0) throw changedWhileRead(file);
      splitter.push(chunk.subarray(0, bytesRead));
      at += bytesRead;
      progress?.(bytesRead);
    }
    splitter.end();
  }

  /** The bytes of a range, as the source has them; in `into`, if they fit. */
  async read(range: SourceRange, into: Buffer = noBytes): Promise<Buffer> {
    const opened = await this.#file(range.file);
    const length = Math.max(0, Math.min(range.to, opened.bytes) - range.from);
    const bytes = length <= into.length ? into.subarray(0, length) : Buffer.allocUnsafeSlow(length);
    fill(range.file, opened, bytes, range.from);
    return bytes;
  }

  /** The same; the bytes are valid until the next call. */
  #window(opened: OpenFile, { file, from, to }: SourceRange): Buffer {
    const { window } = opened;
    const end = Math.min(to, opened.bytes);
    if (from < window.from || end > window.from + window.length) {
      const length = Math.max(0, Math.min(Math.max(end - from, windowBytes), opened.bytes - from));
      // Most records are small: a buffer for a large one is not kept.
      const isReused = window.data.length >= length && window.data.length <= windowBytes;
      if (!isReused) window.data = Buffer.allocUnsafeSlow(length);
      window.length = 0;
      fill(file, opened, window.data.subarray(0, length), from);
      Object.assign(window, { from, length });
    }
    return window.data.subarray(from - window.from, end - window.from);
  }

  /** As `read`, and for a row of a database its JSON. */
  async readBytes(range: SourceRange, into?: Buffer): Promise<Buffer> {
    const [database] = this.#tableOf(range.file);
    return database === undefined
      ? this.read(range, into)
      : // A row that a damaged database no longer finds.
        Buffer.from(JSON.stringify((await this.readValue(range)) ?? null));
  }

  /** The value of a record that was read before. */
  async readValue(range: SourceRange): Promise<unknown> {
    const [database, table] = this.#tableOf(range.file);
    if (database !== undefined) return readRow(database, table, range.from);
    const bytes = this.#window(this.#open.get(range.file) ?? (await this.#file(range.file)), range);
    try {
      return JSON.parse(bytes.toString("utf8"));
    } catch {
      return this.#readDamaged(range, bytes);
    }
  }

  /** A document with damaged fields gives the others, as it did when it was scanned. */
  #readDamaged({ file, from }: SourceRange, bytes: Buffer): unknown {
    const values: unknown[] = [];
    const sink = { record: ({ value }: SourceRecord) => void values.push(value), damage: () => undefined };
    const splitter = splitElements(file, sink, { container: "\u0000", start: from });
    splitter.push(bytes);
    splitter.end();
    if (values.length === 0) throw changedWhileRead(file);
    return values.at(-1);
  }

  #tableOf(file: string): readonly [DatabaseSync | undefined, string] {
    const cut = file.lastIndexOf("/");
    return [this.#databases.get(file.slice(0, cut)), file.slice(cut + 1)];
  }

  async database(file: string): Promise<DatabaseSync> {
    const known = this.#databases.get(file);
    if (known !== undefined) return known;
    const name = `${(this.#unpacked += 1)}.db`;
    const opened = await readable(file, openCopy(this.#inside(file), this.#scratchFolder(), name));
    this.#databases.set(file, opened);
    return opened;
  }

  async size(file: string): Promise<number> {
    return (await this.#file(file)).bytes;
  }

  async #file(file: string): Promise<OpenFile> {
    const known = this.#open.get(file);
    if (known !== undefined) return known;
    // Folders of old formats have thousands of files: few stay open.
    if (this.#open.size >= 64) await this.#closeFiles();
    const handle = await readable(file, open(await readable(file, this.#pathOf(file)), "r"));
    const { size } = await handle.stat();
    const opened = { handle, bytes: size, window: { from: 0, length: 0, data: Buffer.alloc(0) } };
    this.#open.set(file, opened);
    return opened;
  }

  async #pathOf(file: string): Promise<string> {
    const inZip = /\.zip\/(?=.)/i.exec(file);
    if (inZip !== null) {
      const slash = inZip.index + ".zip".length;
      const zip = file.slice(0, slash);
      const entry = (await this.#entriesOf(zip)).find(({ name }) => name === file.slice(slash + 1));
      if (entry === undefined) throw new SkeinError("not-found", `${quote(file)} is not in the archive`);
      return this.#unpack(file, (to) => unpackEntry(this.#inside(zip), entry, to));
    }
    if (file.endsWith(".zst")) return this.#unpack(file, (to) => unpackZstd(this.#inside(file), to));
    return this.#inside(file);
  }

  readonly #copies = new Map<string, string>();

  async #unpack(file: string, unpack: (to: string) => Promise<void>): Promise<string> {
    const known = this.#copies.get(file);
    if (known !== undefined) return known;
    const to = join(this.#scratchFolder(), String((this.#unpacked += 1)));
    await unpack(to);
    this.#copies.set(file, to);
    return to;
  }

  #scratchFolder(): string {
    return (this.#scratch ??= mkdtempSync(join(tmpdir(), "skein-transcripts-")));
  }

  /** A path below the root. A link that leaves the root is refused. */
  #inside(file: string): string {
    let real: string;
    try {
      real = realpathSync(join(this.root, file));
    } catch (cause) {
      throw new SkeinError("not-found", `${quote(file)} cannot be read${systemReason(cause)}`, {
        hint: "check the path",
        cause,
      });
    }
    const fence = this.root.endsWith(sep) ? this.root : this.root + sep;
    if (real.startsWith(fence)) return real;
    throw new SkeinError("refused", `${quote(file)} lies outside ${quote(this.root)}`);
  }

  async #closeFiles(): Promise<void> {
    const handles = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(handles.map(({ handle }) => handle.close()));
  }

  async close(): Promise<void> {
    await this.#closeFiles();
    for (const database of this.#databases.values()) database.close();
    this.#databases.clear();
    if (this.#scratch !== undefined) rmSync(this.#scratch, { recursive: true, force: true });
    this.#scratch = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Reads a part of a file, without waiting: it is small, and each record would take several promises. */
function fill(file: string, { handle }: OpenFile, bytes: Buffer, from: number): void {
  for (let filled = 0; filled < bytes.length;) {
    const bytesRead = readNow(file, handle, bytes.subarray(filled), from + filled);
    if (bytesRead === 0) throw changedWhileRead(file);
    filled += bytesRead;
  }
}

function readNow(file: string, { fd }: FileHandle, to: Buffer, from: number): number {
  try {
    return readSync(fd, to, 0, to.length, from);
  } catch (error) {
    throw asUnreadable(file, error);
  }
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error;

/** `: EACCES: permission denied`, without the call and the path that Node adds. */
const systemReason = (error: unknown): string =>
  isSystemError(error) ? `: ${error.message.replace(/, .*$/s, "")}` : "";

/** An error of the file system as an error of the source. Any other error stays. */
function asUnreadable(path: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return new SkeinError("unavailable", `${quote(path)} cannot be read${systemReason(error)}`, {
    hint: "check its permissions",
    cause: error,
  });
}

async function readable<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asUnreadable(path, error);
  }
}

function changedWhileRead(file: string): SkeinError {
  return new SkeinError("conflict", `${quote(file)} changed while it was read`, { hint: "read it again" });
}
