/**
 * Files of an open SQLite database. They must not be opened here as plain files: when a process closes any
 * descriptor of such a file, the system drops all its locks on it, and the next program that closes the
 * database takes itself for the last one and deletes the write-ahead log. The session's own store may lie in
 * a bound directory, so this concerns every tool that reads files.
 */
import { lstat } from "node:fs/promises";

/** The database that a companion file belongs to, or the file itself. */
export const databaseOf = (path: string): string => path.replace(/-(?:wal|shm|journal)$/, "");

/** Whether the path is such a file: one with a shared-memory file next to it, or one of its companions. */
export async function isLiveDatabase(path: string): Promise<boolean> {
  const base = databaseOf(path);
  return (await exists(`${base}-shm`)) && (base === path || (await exists(base)));
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
