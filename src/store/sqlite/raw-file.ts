/** The file of a store, past SQLite: opened at most once in a process, and closed after the last store. */
import { closeSync, openSync, realpathSync, statSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";

/**
 * Files of stores that are open, by what tells them apart. Closing one takes away all locks that SQLite holds
 * on it in this process, so it is closed after the last store.
 */
const files = new Map<string, { stores: number; file: number | null }>();

const nameOf = (path: string): string => {
  const { dev, ino } = statSync(path);
  return `${dev}:${ino}`;
};

/** Whether a file is still where it is now. What cannot be told is taken for a yes. */
export function stays(given: string): () => boolean {
  // Whatever directory the process goes to.
  const path = realpathSync(given);
  const name = nameOf(path);
  return () => {
    try {
      return nameOf(path) === name;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      return code !== "ENOENT" && code !== "ENOTDIR";
    }
  };
}

/** For every connection to a store; to be called back after the connection was closed. */
export function holdFile(path: string): () => void {
  const name = nameOf(path);
  const held = files.get(name) ?? { stores: 0, file: null };
  held.stores += 1;
  files.set(name, held);
  return () => {
    held.stores -= 1;
    if (held.stores > 0) return;
    files.delete(name);
    if (held.file !== null) closeSync(held.file);
  };
}

/** To read and write bytes of it. Whoever asks does not close it. */
export function fileOf(path: string): number {
  const held = files.get(nameOf(path));
  if (held === undefined) {
    throw new SkeinError("unavailable", `another file has taken the place of the store: ${path}`, {
      hint: "close the store and open it again",
      where: path,
    });
  }
  held.file ??= openSync(path, "r+");
  return held.file;
}
