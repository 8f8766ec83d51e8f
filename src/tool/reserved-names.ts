/**
 * The names reserved for the store: its file, and every name in its folder that begins with the file's name,
 * existing or not. SQLite reads `-wal`, `-shm` and `-journal` there, and Skein `-suspect` and `.token`:
 * creating one of them can replace the store, or choose the token of its administrator.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Whether an absolute path without links is reserved. */
export type IsReserved = (path: string) => boolean;

/** Linux is case-sensitive; most file systems elsewhere are not. */
const fold = (path: string): string => (process.platform === "linux" ? path : path.toLowerCase());

/** The stores' files, absolute, both as named and with links resolved. */
export async function storeFiles(stores: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const store of stores) {
    for (const path of [store, await realpath(store).catch(() => store)]) {
      const folder = await realpath(dirname(path)).catch(() => undefined);
      if (folder !== undefined) found.add(join(folder, basename(path)));
    }
  }
  return [...found];
}

export async function reservedBy(stores: readonly string[]): Promise<IsReserved> {
  const files = (await storeFiles(stores)).map(fold);
  return (path) => files.some((file) => fold(path).startsWith(file));
}
