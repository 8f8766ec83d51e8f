/**
 * The real paths of bindings. A session can replace anything it may write by a link: a binding inside a
 * writable one would then lead anywhere at the next run. So a link is followed only where the session could
 * not have placed it.
 */
import { readlink, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { SkeinError } from "../core/error.ts";
import type { StoredBinding } from "./port.ts";

const linksMax = 40;

export const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

/** The directories that a session may write through its bindings, without links. */
export async function writableRoots(bound: readonly StoredBinding[]): Promise<readonly string[]> {
  const paths = bound.flatMap(({ kind, mode, path, sandbox }) =>
    path !== undefined && mode === "write" && (kind === "directory" || (kind === "shell" && sandbox === true))
      ? [resolve(path)]
      : [],
  );
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
  return [...new Set(real)].toSorted();
}

/** The real path of a binding. Rejects like `realpath`, and for a link inside a writable directory. */
export async function realBoundPath(
  { name, path }: { readonly name: string; readonly path: string },
  writable: readonly string[],
): Promise<string> {
  const whole = resolve(path);
  const real = await realpath(whole);
  if (writable.length === 0 || real === whole) return real;
  const rest = stepsOf(whole);
  let at: string = sep;
  for (let links = 0; ;) {
    const step = rest.shift();
    if (step === undefined) return at;
    const target = step === ".." ? undefined : await targetOf(join(at, step));
    if (target === undefined) {
      at = step === ".." ? dirname(at) : join(at, step);
      continue;
    }
    const root = writable.find((one) => isWithin(one, at));
    if (root !== undefined || links++ > linksMax) throw replaced(name, join(at, step), root ?? at);
    rest.unshift(...stepsOf(target));
    if (isAbsolute(target)) at = sep;
  }
}

const stepsOf = (path: string): string[] => path.split(sep).filter((step) => step !== "" && step !== ".");

/** Undefined if it is not a link. */
async function targetOf(path: string): Promise<string | undefined> {
  return readlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EINVAL" || error.code === "UNKNOWN") return undefined;
    throw error;
  });
}

const replaced = (name: string, link: string, root: string): SkeinError =>
  new SkeinError(
    "refused",
    `"${name}": the path contains the symbolic link ${link}, in ${root}, which the session may write`,
    {
      hint: `bind the directory that the link points to, or unbind "${name}"`,
    },
  );
