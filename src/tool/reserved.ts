/**
 * The names that belong to the store: its file, and every name in its folder that begins with the file's
 * name, whether it exists or not. SQLite reads `-wal`, `-shm` and `-journal` there, and Skein `-suspect` and
 * `.token`: who can create one of them can replace the store, or choose the token of its administrator.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Whether an absolute path without links is reserved. */
export type Reserved = (path: string) => boolean;

/** Linux tells upper case from lower case; elsewhere most file systems do not. */
const fold = (path: string): string => (process.platform === "linux" ? path : path.toLowerCase());

/** The stores' files, absolute and without links: where each is named, and where a link leads. */
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

export async function reservedBy(stores: readonly string[]): Promise<Reserved> {
  const files = (await storeFiles(stores)).map(fold);
  return (path) => files.some((file) => fold(path).startsWith(file));
}
