/**
 * Writes files atomically: to a temporary file next to the target, synced to disk, then renamed into place.
 */
import { constants } from "node:fs";
import { lstat, open, rename, rm } from "node:fs/promises";
import { SkeinError } from "../core/error.ts";
import { plainError, type Directory, refuseLiveDatabase } from "./root.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const permissionBits = 0o7777;

/**
 * Replaces or creates `name`. The temporary file's name derives from the call's key, so that a call that runs
 * again after a crash removes what the first attempt left behind. `stillThere` is called right before the
 * rename, and rejects if it must not happen.
 */
export async function replaceFile(
  directory: Directory,
  name: string,
  options: {
    readonly bytes: Uint8Array;
    readonly key: string;
    readonly shown: string;
    readonly stillThere?: () => Promise<void>;
  },
): Promise<{ readonly isNew: boolean }> {
  const { bytes, key, shown } = options;
  const target = `${directory.path}/${name}`;
  const temporary = `${directory.path}/.${key.slice(0, 24)}.skein-tmp`;
  try {
    await refuseLiveDatabase(target, shown);
    const before = await lstat(target).catch(absent);
    if (before?.isDirectory() === true) throw new SkeinError("invalid", `${shown} is a directory`);
    if (before !== undefined && !before.isFile())
      throw new SkeinError("refused", `${shown} is not a regular file`);
    await rm(temporary, { force: true });
    await writeOut(temporary, bytes, before && before.mode & permissionBits);
    await options.stillThere?.();
    await rename(temporary, target);
    await directory.handle.sync();
    return { isNew: before === undefined };
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error instanceof SkeinError ? error : plainError(error as NodeJS.ErrnoException, shown);
  }
}

async function writeOut(path: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
  await using handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o666);
  if (mode !== undefined) await handle.chmod(mode);
  await handle.writeFile(bytes);
  await handle.sync();
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}

/** Serializes work per file: two concurrent edits would lose one of them. */
export function makeTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
