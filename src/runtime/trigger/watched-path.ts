/** Where a trigger may watch: below the session's bindings, and nowhere else. */
import type { Binding } from "../../core/tool/commands.ts";
import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";

const pathCharsMax = 1_000;

/** A bound path on disk. */
export interface WatchedPath {
  /** Without links. */
  readonly path: string;
  readonly isDirectory: boolean;
  /** The bound path above it. */
  readonly root: string;
}

/**
 * Resolves a path: itself if it is bound, else below one of the bound directories. Rejects with `invalid` for
 * an unbound and with `not-found` for a missing one.
 */
export async function boundPlace(given: string, bindings: readonly Binding[]): Promise<WatchedPath> {
  if (given.includes("\0")) throw new SkeinError("invalid", "path: contains a NUL character");
  const roots = await rootsOf(bindings);
  if (roots.length === 0) {
    throw new SkeinError(
      "invalid",
      `path: ${quote(given)} is outside the bindings: the session has no bound file or directory`,
      {
        hint: "bind the directory first; only bound paths can be watched",
      },
    );
  }
  const folders = roots.filter(({ isDirectory }) => isDirectory);
  const spelled = isAbsolute(given)
    ? [given]
    : [resolve(given), ...folders.map(({ path }) => join(path, given))];
  let missing: string | null = null;
  for (const one of spelled) {
    const real = await realpath(one).catch(() => null);
    const place = real ?? (await wouldBe(one));
    const root = roots.find(({ path, isDirectory }) =>
      isDirectory ? isWithin(path, place) : path === place,
    );
    if (root === undefined) continue;
    if (real !== null && real.length >= pathCharsMax)
      throw new SkeinError("invalid", `path: ${real} is too long`);
    if (real !== null) return { path: real, isDirectory: (await lstat(real)).isDirectory(), root: root.path };
    missing ??= place;
  }
  if (missing !== null) {
    throw new SkeinError("not-found", `${missing} does not exist`, {
      hint: "to wait for a new file, watch its directory with a glob",
    });
  }
  throw new SkeinError("invalid", `path: ${quote(given)} is outside the bound directories`, {
    hint: `bound: ${roots.map(({ path }) => path).join(", ")}`,
  });
}

export const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

async function rootsOf(bindings: readonly Binding[]) {
  const roots: { readonly path: string; readonly isDirectory: boolean }[] = [];
  for (const { kind, path } of bindings) {
    if ((kind !== "file" && kind !== "directory") || path === undefined) continue;
    const full = resolve(path);
    const real = await realpath(full).catch(() => wouldBe(full));
    roots.push({ path: real, isDirectory: kind === "directory" });
  }
  return roots;
}

/** Where a missing file would be. */
async function wouldBe(path: string): Promise<string> {
  const above = dirname(path);
  const real = await realpath(above).catch(() => null);
  return real === null ? path : join(real, path.slice(above.length).replace(/^\/+/, ""));
}
