/**
 * Files of an SQLite database that is open. They must not be opened here as plain files: when a process
 * closes any descriptor of such a file, the system drops all locks that the process holds on it, and the next
 * program to close the database takes itself for the last one and throws away what was written ahead. The
 * store of the session itself may lie in a bound directory, so this concerns every tool that reads files.
 */
import { lstat } from "node:fs/promises";

/** The database that a file lies beside, or the file itself. */
export const databaseOf = (path: string): string => path.replace(/-(?:wal|shm|journal)$/, "");

/** Whether the path is such a file: one with its shared memory beside it, or one of those beside it. */
export async function isLiveDatabase(path: string): Promise<boolean> {
  const base = databaseOf(path);
  return (await exists(`${base}-shm`)) && (base === path || (await exists(base)));
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
