/** The clock of the file system that a store lies on: what it writes as the time of something new. */
import { mkdtemp, rmdir, stat } from "node:fs/promises";

export async function fileSystemClock(path: string): Promise<number> {
  const probe = await mkdtemp(`${path}-clock-`);
  try {
    return Math.floor((await stat(probe)).mtimeMs);
  } finally {
    await rmdir(probe);
  }
}
