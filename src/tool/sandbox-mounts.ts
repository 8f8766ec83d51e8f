/**
 * What a sandbox shows of the host: the bound files and directories at their own paths, without the store.
 *
 * The store may lie in a directory that is mounted writable. Its files are covered by /dev/null. Those that
 * may be missing (a journal, the token of the local user) are created empty, so that there is something to
 * cover: a command that could create them would replace the store. A mount point cannot be renamed or
 * removed, so every directory on the way to the store is mounted separately.
 */
import { lstat, open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { SkeinError } from "../core/error.ts";
import { isWithin, realBoundPath, writableRoots } from "./bound-path.ts";
import type { StoredBinding } from "./port.ts";
import { storeFiles } from "./reserved-names.ts";

export interface SandboxMount {
  readonly path: string;
  readonly isWritable: boolean;
}

/** Names that may be missing while a store is open, and that Skein or SQLite would read. */
const absentNames = ["-journal", ".token"];

/** Outer ones first, so that inner ones are mounted over them. Bound twice, writable wins. */
export async function mountsOf(
  bound: readonly StoredBinding[],
  stores: readonly string[],
): Promise<readonly SandboxMount[]> {
  const found = new Map<string, boolean>();
  const writable = await writableRoots(bound);
  for (const { kind, path, mode, name } of bound) {
    if (path === undefined || !["file", "directory", "shell"].includes(kind)) continue;
    // A bound file may be missing.
    const real = await realBoundPath({ name, path }, writable).catch((error: unknown) => {
      if (error instanceof SkeinError) throw error;
    });
    if (real === undefined) continue;
    if (real === "/" || ["/proc", "/sys", "/dev"].some((system) => isWithin(system, real))) {
      throw new SkeinError("invalid", `sandbox: cannot mount ${real}, bound as "${name}"`, {
        hint: `bind another directory, or unbind "${name}"`,
      });
    }
    found.set(real, found.get(real) === true || mode === "write");
  }
  const mounts = inOrder(found);
  for (const store of await storeFiles(stores)) {
    for (let folder = dirname(store); folder !== dirname(folder); folder = dirname(folder)) {
      const around = mounts.findLast(({ path }) => isWithin(path, folder));
      if (around !== undefined && !found.has(folder)) found.set(folder, around.isWritable);
    }
  }
  return inOrder(found);
}

const inOrder = (found: ReadonlyMap<string, boolean>): readonly SandboxMount[] =>
  [...found]
    .map(([path, isWritable]) => ({ path, isWritable }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));

/**
 * The current entry at each mount, by device and inode. The sandbox compares it with what was mounted: in
 * between, a concurrent command could replace a directory by a link.
 */
export async function identify(
  mounts: readonly SandboxMount[],
  writable: readonly string[],
): Promise<readonly string[]> {
  return Promise.all(
    mounts.map(async ({ path }) => {
      const real = await realBoundPath({ name: path, path }, writable).catch(() => undefined);
      if (real !== path) {
        const message = `sandbox: cannot mount ${path}: it was moved or replaced by a link`;
        throw new SkeinError("unavailable", message, { hint: "restore it, or bind the new path" });
      }
      const { dev, ino } = await stat(path, { bigint: true });
      return `${dev}:${ino}`;
    }),
  );
}

/**
 * The paths to cover: the store, and all files whose names begin with its name, inside any mount. Searched
 * before each command, because they come and go.
 */
export async function coveredPaths(
  stores: readonly string[],
  mounts: readonly SandboxMount[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const store of await storeFiles(stores)) {
    const folder = dirname(resolve(store));
    if (!mounts.some(({ path }) => isWithin(path, folder) || isWithin(path, store))) continue;
    for (const name of absentNames) await createEmpty(`${store}${name}`);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (!entry.name.startsWith(basename(store)) || !entry.isFile()) continue;
      if (mounts.some((mount) => isWithin(mount.path, path))) found.push(path);
    }
  }
  return found;
}

async function createEmpty(path: string): Promise<void> {
  // Where Skein may not create it, a command may not either.
  await open(path, "wx", 0o600).then(
    (handle) => handle.close(),
    () => undefined,
  );
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isFile()) return;
  throw new SkeinError("refused", `${path} is reserved for the store, but is not a regular file`, {
    hint: "remove it, after you found out what created it",
  });
}
