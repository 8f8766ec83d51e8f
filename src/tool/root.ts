/**
 * Bound files and directories, and safe access below them.
 *
 * A path is first checked as text: `..` must not lead above the root. Links that stay below the root are then
 * resolved, and the rest is walked from the root, one directory at a time, each opened without following a
 * link and reached through the descriptor of the previous one. So swapping a directory for a link while a
 * tool runs gains nothing. The descriptors are addressed by `/proc/self/fd`; on systems without it the last
 * step still follows no link, but a parent swapped at that very moment is not noticed.
 */
import { constants, existsSync } from "node:fs";
import { lstat, mkdir, open, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, posix, resolve, sep } from "node:path";
import { SkeinError } from "../core/error.ts";
import { isWithin, realBoundPath } from "./bound-path.ts";
import { isLiveDatabase } from "./live-database.ts";
import type { StoredBinding } from "./port.ts";
import type { IsReserved } from "./reserved-names.ts";

export interface Root {
  readonly name: string;
  readonly mode: "read" | "write";
  /** The bound path, absolute. */
  readonly path: string;
  /** The directory, with links resolved. */
  readonly real: string;
  /**
   * The directory to walk from: `real`, or the outermost directory around it that the session may write.
   * Anything between the two could be replaced by a link.
   */
  readonly start: string;
  /** Of a bound file: its name in that directory, the only usable one. */
  readonly file?: string;
  /** The store's own names, which no tool reads, lists or writes. */
  readonly isReserved?: IsReserved;
}

/** A location below a root, as requested. */
export interface RequestedPath {
  readonly root: Root;
  /** The steps from the root; empty for the root itself. */
  readonly steps: readonly string[];
  /** As the model writes it. */
  readonly shown: string;
}

/** An open directory. */
export interface Directory extends AsyncDisposable {
  /** The path to its children, which stays valid if the directory is renamed. */
  readonly path: string;
  readonly handle: FileHandle;
  /** Its path with links resolved, when it was opened. */
  readonly real: string;
}

const stepsMax = 64;
const pathCharsMax = 4_096;

export interface RootOptions {
  readonly isReserved?: IsReserved;
  /** The writable directories of the session: see bound-path.ts. */
  readonly writable?: readonly string[];
}

export async function openRoot(
  { name, mode, kind, path }: StoredBinding,
  { isReserved = () => false, writable = [] }: RootOptions = {},
): Promise<Root> {
  if (path === undefined) {
    throw new SkeinError("invalid", `${kind} "${name}": the binding has no path`, {
      hint: "bind it again",
    });
  }
  const absolute = resolve(path);
  const realOf = (one: string): Promise<string> => realBoundPath({ name, path: one }, writable);
  const startOf = (real: string): string => writable.find((one) => isWithin(one, real)) ?? real;
  if (kind === "file") {
    // A bound file may appear and disappear; its directory is what stays open.
    const folder = await realOf(dirname(absolute)).catch(unusable(name, path));
    const real = await realOf(absolute).catch((error: unknown) => {
      if (error instanceof SkeinError) throw error;
      return join(folder, basename(absolute));
    });
    const place = { real: dirname(real), file: basename(real), start: startOf(dirname(real)) };
    return { name, mode, path: absolute, ...place, isReserved };
  }
  const real = await realOf(absolute).catch(unusable(name, path));
  if (!(await lstat(real)).isDirectory()) {
    throw new SkeinError("invalid", `binding "${name}": expected a directory, but ${path} is a file`, {
      hint: "bind it as a file",
    });
  }
  return { name, mode, path: absolute, real, start: startOf(real), isReserved };
}

function unusable(name: string, path: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof SkeinError) throw cause;
    throw new SkeinError("unavailable", `"${name}": cannot open ${path}`, {
      hint: "create it, or unbind the resource",
      cause,
    });
  };
}

/** Finds the root of a path, as text. */
export function findSpot(roots: readonly Root[], path: string): RequestedPath {
  if (path.includes("\0") || path.length > pathCharsMax)
    throw new SkeinError("invalid", "path: expected at most 4096 characters without NUL");
  const clean = cleanPath(path);
  const spot = isAbsolute(clean) ? absoluteSpot(roots, clean) : relativeSpot(roots, clean);
  if (spot === undefined || spot.steps.includes("..")) {
    throw new SkeinError(
      "refused",
      `${path} is outside the bound directories: ${roots.map(shownRoot).join(", ")}`,
    );
  }
  if (spot.steps.length > stepsMax) throw new SkeinError("invalid", `path: ${path} has too many segments`);
  return spot;
}

/** With one root, paths start there; with several, each has its name in front. */
export function spotOf(roots: readonly Root[], root: Root, steps: readonly string[]): RequestedPath {
  const isPlain = root.file === undefined && directories(roots).length === 1;
  const shown = root.file !== undefined ? [root.name] : isPlain ? steps : [cleanPath(root.name), ...steps];
  return { root, steps, shown: shown.join("/") || "." };
}

export const directories = (roots: readonly Root[]): Root[] => roots.filter(({ file }) => file === undefined);

export const shownRoot = ({ name, mode, file }: Root): string =>
  `${file === undefined ? `${name}/` : name} (${mode})`;

/** For the model: the bound paths. */
export const whereabouts = (roots: readonly Root[]): string => `Bound: ${roots.map(shownRoot).join(", ")}.`;

function absoluteSpot(roots: readonly Root[], path: string): RequestedPath | undefined {
  const spots = roots.flatMap((root) => {
    const { file, real } = root;
    if (file !== undefined)
      return path === root.path || path === join(real, file) ? [spotOf(roots, root, [file])] : [];
    const base = [root.path, real].find((one) => path === one || path.startsWith(one.replace(/\/?$/, sep)));
    return base === undefined ? [] : [spotOf(roots, root, stepsOf(path.slice(base.length)))];
  });
  // The innermost root wins, because it was bound for exactly this.
  const distance = ({ root, steps }: RequestedPath) => (root.file === undefined ? steps.length : 0);
  return spots.toSorted((a, b) => distance(a) - distance(b))[0];
}

function relativeSpot(roots: readonly Root[], path: string): RequestedPath | undefined {
  const folders = directories(roots);
  for (const root of roots) {
    const name = cleanPath(root.name);
    const isNamed = path === name || (root.file !== undefined && roots.length === 1 && path === root.file);
    if (root.file !== undefined && isNamed) return spotOf(roots, root, [root.file]);
    if (root.file !== undefined || folders.length === 1) continue;
    if (isNamed) return spotOf(roots, root, []);
    if (path.startsWith(`${name}/`)) return spotOf(roots, root, stepsOf(path.slice(name.length + 1)));
  }
  const start = folders.length === 1 ? folders[0] : folders.find(({ name }) => cleanPath(name) === ".");
  return start && spotOf(roots, start, stepsOf(path));
}

const cleanPath = (path: string): string => posix.normalize(path || ".").replace(/(.)\/$/, "$1");

const stepsOf = (path: string): string[] => path.split("/").filter((step) => step !== "" && step !== ".");

/**
 * The canonical spelling of a path: below its root, links resolved. So another spelling cannot bypass rules
 * on arguments. A missing or outside path stays as it is; using it reports the error.
 */
export async function plainSpelling(roots: readonly Root[], path: string): Promise<string> {
  try {
    const spot = findSpot(roots, path);
    return spotOf(roots, spot.root, await settle(spot)).shown;
  } catch {
    return path;
  }
}

/** Opens the directory of a spot, and returns the last step. `create` makes missing directories. */
export async function enter(
  spot: RequestedPath,
  options: { readonly create?: boolean } = {},
): Promise<Directory & { readonly last: string }> {
  const steps = await settle(spot);
  const last = steps.at(-1);
  if (last === undefined) throw new SkeinError("invalid", `${spot.shown} is a directory`);
  refuseReserved(spot, steps);
  const directory = await walk(spot, steps.slice(0, -1), options.create === true);
  return { ...directory, last };
}

/** Opens a spot that is a directory. */
export async function enterDirectory(spot: RequestedPath): Promise<Directory> {
  const steps = await settle(spot);
  refuseReserved(spot, steps);
  return walk(spot, steps, false);
}

function refuseReserved({ root, shown }: RequestedPath, steps: readonly string[]): void {
  if (root.isReserved?.(join(root.real, ...steps)) !== true) return;
  throw new SkeinError("refused", `${shown} is a file of the store, which tools cannot access`, {
    hint: "choose a name that does not begin with the store's file name",
  });
}

/** The steps with links resolved. Missing parts stay as they are. */
async function settle({ root, steps, shown }: RequestedPath): Promise<readonly string[]> {
  for (let count = steps.length; count > 0; count--) {
    const real = await realpath(join(root.real, ...steps.slice(0, count))).catch(absent(shown));
    if (real === undefined) continue;
    const inside =
      real === root.real ? "" : real.startsWith(root.real.replace(/\/?$/, sep)) ? real : undefined;
    const settled = inside === undefined ? [] : stepsOf(real.slice(root.real.length));
    if (inside === undefined || (root.file !== undefined && settled.join("/") !== root.file))
      throw new SkeinError("refused", `${shown} is a link to a path outside the bound directories`);
    return [...settled, ...steps.slice(count)];
  }
  return steps;
}

function absent(shown: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw plainError(error, shown);
    return undefined;
  };
}

async function walk(spot: RequestedPath, steps: readonly string[], create: boolean): Promise<Directory> {
  const { start, real } = spot.root;
  let directory = await openDirectory(start, spot.shown);
  for (const step of [...stepsOf(real.slice(start.length)), ...steps]) {
    const before = directory;
    try {
      directory = await stepInto(before, step, { shown: spot.shown, create });
    } finally {
      await before[Symbol.asyncDispose]();
    }
  }
  return directory;
}

async function stepInto(
  directory: Directory,
  step: string,
  { shown, create }: { readonly shown: string; readonly create: boolean },
): Promise<Directory> {
  const path = `${directory.path}/${step}`;
  if (create) {
    const made = await mkdir(path).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw plainError(error, shown);
        return false;
      },
    );
    if (made) await directory.handle.sync();
  }
  return openDirectory(path, shown, join(directory.real, step));
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const hasDescriptors = existsSync("/proc/self/fd");

export async function openDirectory(path: string, shown: string, real = path): Promise<Directory> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(failed(shown));
  return {
    handle,
    real,
    path: hasDescriptors ? `/proc/self/fd/${handle.fd}` : path,
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Opens a regular file of a directory to read it; never blocks, as opening a pipe would. */
export async function openFile(directory: Directory, name: string, shown: string): Promise<FileHandle> {
  const path = `${directory.path}/${name}`;
  await refuseLiveDatabase(path, shown);
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(failed(shown));
  const stat = await handle.stat();
  if (stat.isFile()) return handle;
  await handle.close();
  throw new SkeinError(
    "invalid",
    stat.isDirectory() ? `${shown} is a directory` : `${shown} is not a regular file`,
  );
}

export async function refuseLiveDatabase(path: string, shown: string): Promise<void> {
  if (!(await isLiveDatabase(path))) return;
  throw new SkeinError("refused", `${shown} belongs to an open database`, {
    hint: "bind it as a database to query it",
  });
}

function failed(shown: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw plainError(error, shown);
  };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "has a path segment that is not a directory",
  EISDIR: "is a directory",
  EACCES: "cannot be accessed: permission denied",
  EPERM: "cannot be accessed: permission denied",
  ELOOP: "is a symbolic link, which is not followed",
  ENAMETOOLONG: "is too long a name",
  ENOSPC: "cannot be written: the disk is full",
  EROFS: "cannot be written: the file system is read-only",
};

/** The error, without paths that only this process knows. */
export function plainError(error: NodeJS.ErrnoException, shown: string): SkeinError {
  const code = error.code ?? "";
  return new SkeinError(
    code === "ENOENT" ? "not-found" : "refused",
    `${shown} ${reasons[code] ?? `cannot be accessed: ${code || error.message}`}`,
    { cause: error },
  );
}
