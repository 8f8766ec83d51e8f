/** The digest of a file as a session read it: SHA-256, or for a very large one of its size and time. */
import type { FileHandle } from "node:fs/promises";

const wholeBytesMax = 16_777_216;

export async function fileDigest(
  world: { hashBytes(bytes: Uint8Array): string },
  handle: Pick<FileHandle, "stat" | "read">,
): Promise<string> {
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  if (size > wholeBytesMax) return world.hashBytes(Buffer.from(`large ${size} ${mtimeNs}`));
  const bytes = Buffer.alloc(Number(size));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return world.hashBytes(bytes.subarray(0, length));
}
