/** Where a verb writes what is long or no text: a file, which is there whole or not at all, or the screen. */
import { open, rename, rm } from "node:fs/promises";
import { SkeinError } from "../core/error.ts";
import type { Screen } from "./screen.ts";

export interface Output {
  /** Writes all of it; gives how many bytes. */
  write(chunks: AsyncIterable<Uint8Array>): Promise<number>;
}

export const openOutput = (path: string | undefined, out: Screen): Output => ({
  write: (chunks) => (path === undefined ? toScreen(out, chunks) : toFile(path, chunks)),
});

async function toScreen(out: Screen, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    await out.bytes(chunk);
  }
  return size;
}

/** Under another name until it is whole and on the disk: for a session that moves, it is the only one. */
async function toFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const part = `${path}.part`;
  const file = await open(part, "w", 0o600).catch((cause: unknown) => {
    throw new SkeinError("unavailable", `${path} cannot be written`, {
      hint: "check that the directory exists and is writable",
      cause,
    });
  });
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
    await file.close();
    await rename(part, path);
    return size;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}
