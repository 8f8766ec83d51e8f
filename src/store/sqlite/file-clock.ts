/** The clock of the store's file system: the timestamp of a new file. */
import { mkdtemp, rmdir, stat } from "node:fs/promises";

export async function fileSystemClock(path: string): Promise<number> {
  const probe = await mkdtemp(`${path}-clock-`);
  try {
    return Math.floor((await stat(probe)).mtimeMs);
  } finally {
    await rmdir(probe);
  }
}
