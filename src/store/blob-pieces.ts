/** Blobs in pieces of the stored size, for every driver. */
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";
import type { Chunks } from "./port.ts";

/** A blob is written before its record: after a day the record exists, or its writer is dead. */
export const unreferredMs = 86_400_000;

/** Pieces of a blob that are written together: a content of any size fits in one write. */
export const piecesAtOnce = limit.contentBytesMax / limit.blobChunkBytesMax;

/** Chunks of deleted blobs that one transaction deletes; about 2 MiB. */
export const lostChunksAtOnce = 8;

export const bytesIn = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, piece) => sum + piece.length, 0);

/** Chunks cut to the stored size, and copied: the caller may reuse its buffer. */
export async function* piecesOf(chunks: Chunks): AsyncGenerator<Uint8Array, undefined> {
  let total = 0;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += limit.blobChunkBytesMax) {
      const piece = chunk.slice(from, from + limit.blobChunkBytesMax);
      total += piece.length;
      if (total > limit.blobBytesMax) {
        throw new SkeinError("invalid", `bytes: expected at most ${limit.blobBytesMax}`);
      }
      yield piece;
    }
  }
  return undefined;
}

/** The next pieces to write together; `done` at the end. */
export async function takePieces(
  pieces: AsyncGenerator<Uint8Array, undefined>,
): Promise<{ readonly taken: readonly Uint8Array[]; readonly done: boolean }> {
  const taken: Uint8Array[] = [];
  while (taken.length < piecesAtOnce) {
    const next = await pieces.next();
    if (next.done === true) return { taken, done: true };
    taken.push(next.value);
  }
  return { taken, done: false };
}
