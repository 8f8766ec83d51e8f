/** Canaries: texts that nobody else would write, and the search for them in all files of a store. */
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import type { Random } from "../crash/random.ts";

const letters = Array.from("abcdefghijklmnopqrstuvwxyz0123456789");

/** A text of 24 letters and digits. */
export const canaryOf = (random: Random): string =>
  Array.from({ length: 24 }, () => random.pick(letters)).join("");

const pieceLength = 12;

/** Pieces of a canary: an index of words may hold it without its beginning. */
const piecesOf = (canary: string): readonly string[] =>
  [0, 6, 12].map((start) => canary.slice(start, start + pieceLength));

/** Everything that the files of a store hold, and what is packed in them as it was before. */
export function bytesOfStore(path: string): string {
  const files = ["", "-wal", "-shm"].map((end) => `${path}${end}`).filter((file) => existsSync(file));
  return [...files.map((file) => readFileSync(file)), ...unpacked(path)]
    .map((bytes) => bytes.toString("latin1"))
    .join("\n");
}

/** What segments hold; see src/store/sqlite/segment.ts. */
function unpacked(path: string): Buffer[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare("SELECT heads, contents FROM segments").all();
  database.close();
  return rows.flatMap((row) => {
    const [heads, contents] = [row["heads"], row["contents"]].map((bytes) =>
      Buffer.from(bytes as Uint8Array),
    );
    return [frameAt(heads!, 1), frameAt(contents!, 0)];
  });
}

const frameAt = (bytes: Buffer, start: number): Buffer => {
  const length = bytes.readUInt32BE(start);
  return length === 0 ? Buffer.alloc(0) : zstdDecompressSync(bytes.subarray(start + 4, start + 4 + length));
};

/** Those of the canaries of which a piece is found. */
export function foundIn(bytes: string, canaries: readonly string[]): readonly string[] {
  const owners = new Map(canaries.flatMap((canary) => piecesOf(canary).map((piece) => [piece, canary])));
  const found = new Set<string>();
  for (const [run] of bytes.matchAll(/[a-z0-9]{12,}/g)) {
    for (let start = 0; start + pieceLength <= run.length; start++) {
      const owner = owners.get(run.slice(start, start + pieceLength));
      if (owner !== undefined) found.add(owner);
    }
  }
  return [...found];
}
