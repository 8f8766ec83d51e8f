/** Where a verb writes long or binary output: a file, which is written atomically, or the screen. */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, open, readlink, realpath, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { isLiveDatabase } from "../../tool/live-database.ts";
import type { Screen } from "./screen.ts";

export interface Output {
  /** Writes all of it, once; returns the number of bytes. */
  write(chunks: AsyncIterable<Uint8Array>): Promise<number>;
}

interface Guard {
  /** The open store, which must not be overwritten. */
  readonly store: string;
  /** True when an existing file may be replaced. Stores may not. */
  readonly replace: boolean;
  /** For a file: it is removed again when the user stops. */
  readonly untilStopped?: () => AbortSignal;
}

/** Afterwards the file is open for writing; it need not exist before. */
export async function openOutput(path: string | undefined, out: Screen, guard: Guard): Promise<Output> {
  if (path === undefined) return { write: (chunks) => toScreen(out, chunks) };
  const { target, straight } = await targetOf(path, guard);
  const stop = straight ? undefined : guard.untilStopped?.();
  const opened = straight
    ? { file: await begin(path, target, constants.O_WRONLY), part: null }
    : await beginPart(path, target);
  return { write: (chunks) => toFile(path, target, { ...opened, stop }, chunks) };
}

async function toScreen(out: Screen, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    await out.bytes(chunk);
  }
  return size;
}

interface OpenedFile {
  readonly file: FileHandle;
  /** Its temporary name until it is complete and on disk; null for a pipe or device. */
  readonly part: string | null;
}

async function toFile(
  path: string,
  target: string,
  { file, part, stop }: OpenedFile & { readonly stop: AbortSignal | undefined },
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  let size = 0;
  try {
    for await (const chunk of chunks) {
      if (stop?.aborted === true) throw stopped(path);
      size += chunk.length;
      await file.writeFile(chunk).catch(broken(path));
    }
    if (part !== null) await file.sync().catch(broken(path));
    await file.close().catch(broken(path));
    if (part !== null) await rename(part, target).catch(broken(path));
    return size;
  } catch (error) {
    await file.close().catch(() => undefined);
    if (part !== null) await rm(part, { force: true });
    throw error;
  }
}

const stopped = (path: string): SkeinError =>
  new SkeinError("unavailable", `${path}: interrupted, the file is incomplete`, {
    hint: "run the same command again",
  });

/** Under a unique, unguessable name. */
async function beginPart(path: string, target: string): Promise<OpenedFile> {
  const name = `.${basename(target).slice(0, 40)}.${randomBytes(8).toString("hex")}.part`;
  const part = join(dirname(target), name);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  return { file: await begin(path, part, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0)), part };
}

const begin = (path: string, name: string, flags: number): Promise<FileHandle> =>
  open(name, flags, 0o600).catch((cause: unknown) => {
    throw new SkeinError("unavailable", `${path} cannot be written`, {
      hint: "check that the directory exists and is writable",
      cause,
    });
  });

const broken =
  (path: string) =>
  (cause: unknown): never => {
    const why = errorText(cause);
    throw new SkeinError("unavailable", `writing ${path} failed: ${why}`, {
      hint: "free some space, or use another file",
      cause,
    });
  };

/** The target file, behind any links; or the device to write into. */
async function targetOf(
  path: string,
  guard: Guard,
): Promise<{ readonly target: string; readonly straight: boolean }> {
  if (path === "" || path.includes("\0")) {
    throw new SkeinError("invalid", "--output: the path is empty", { hint: "pass the path of a file" });
  }
  const there = await statOf(path);
  if (there === null) {
    const target = await linkEnd(path);
    await checkBesideStore(path, target);
    return { target, straight: false };
  }
  if (there.isDirectory()) {
    throw new SkeinError("invalid", `${path} is a directory`, { hint: "pass the path of a file in it" });
  }
  if (there.isSocket()) {
    throw new SkeinError("invalid", `${path} is a socket`, { hint: "pass the path of a file" });
  }
  if (there.isFIFO() || there.isCharacterDevice()) return { target: path, straight: true };
  const target = await realpath(path);
  if (there.isFile()) {
    await checkNoStore(path, target, there, guard.store);
    await checkBesideStore(path, target);
  }
  if (!guard.replace) {
    throw new SkeinError("invalid", `${path} already exists`, {
      hint: "use another file, or --force to replace it",
    });
  }
  return { target, straight: there.isBlockDevice() };
}

const statOf = (path: string): Promise<Stats | null> => stat(path).catch(() => null);

/** The target of a dangling link. */
async function linkEnd(path: string): Promise<string> {
  let end = path;
  for (let links = 0; links < 40; links++) {
    const there = await lstat(end).catch(() => null);
    if (there?.isSymbolicLink() !== true) return end;
    end = resolve(await realpath(dirname(end)), await readlink(end));
  }
  throw new SkeinError("invalid", `${path} is a circular link`, { hint: "use another file" });
}

const isStore = (path: string): SkeinError =>
  new SkeinError("invalid", `${path} is a store, or belongs to one`, {
    hint: "use another file; this one has sessions",
  });

/** Recognizes the open store by its identity, before any file is opened. */
async function checkNoStore(path: string, target: string, there: Stats, store: string): Promise<void> {
  for (const name of [store, `${store}-wal`, `${store}-shm`]) {
    const own = await statOf(name);
    if (own !== null && own.dev === there.dev && own.ino === there.ino) throw isStore(path);
  }
  if (await isLiveDatabase(target)) throw isStore(path);
  const magic = "SQLite format 3\0";
  const file = await open(target, "r").catch(() => null);
  if (file === null) return;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
    if (buffer.toString("latin1", 0, bytesRead) === magic) throw isStore(path);
  } finally {
    await file.close();
  }
}

/** SQLite would take such a file for its own. */
async function checkBesideStore(path: string, target: string): Promise<void> {
  const base = target.replace(/-(?:wal|shm|journal|suspect)$/, "");
  if (base !== target && (await statOf(base)) !== null) throw isStore(path);
}
