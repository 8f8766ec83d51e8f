/** Unpacks an entry of a zip archive, or a file compressed with zstd, into a scratch file, with bounds. */
import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw, createZstdDecompress } from "node:zlib";
import { SkeinError } from "../../core/error.ts";
import { damaged, locateDirectory, readDirectory, type ZipEntry } from "./zip-directory.ts";

const maxUnpackedBytes = 16 * 1024 ** 3;
/** JSON packs to a tenth or a twentieth; beyond this ratio a large entry is taken for a zip bomb. */
const maxRatio = 400;
const suspiciousBytes = 256 * 1024 * 1024;

export async function listArchive(path: string): Promise<ZipEntry[]> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const tail = await readAt(file, Math.max(0, size - 66_000), Math.min(size, 66_000));
    const { offset, bytes, entries } = locateDirectory(tail);
    if (offset + bytes > size) throw damaged("central directory cut off");
    return readDirectory(await readAt(file, offset, bytes), entries);
  } finally {
    await file.close();
  }
}

export async function unpackEntry(archive: string, entry: ZipEntry, to: string): Promise<void> {
  if (entry.method !== 0 && entry.method !== 8) throw damaged(`compression method ${entry.method}`);
  const ratio = entry.bytes / Math.max(1, entry.packedBytes);
  if (entry.bytes > maxUnpackedBytes || (entry.bytes > suspiciousBytes && ratio > maxRatio))
    throw damaged(`entry of ${entry.bytes} bytes packed into ${entry.packedBytes}`);
  const file = await open(archive, "r");
  let start: number;
  try {
    const header = await readAt(file, entry.offset, 30);
    if (header.length < 30 || header.readUInt32LE(0) !== 0x04034b50) throw damaged("no local header");
    start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  } finally {
    await file.close();
  }
  if (entry.packedBytes === 0) return pipeline([], createWriteStream(to));
  const packed = createReadStream(archive, { start, end: start + entry.packedBytes - 1 });
  const bounded = limitBytes(entry.bytes);
  const target = createWriteStream(to);
  if (entry.method === 0) await pipeline(packed, bounded, target);
  else await pipeline(packed, createInflateRaw(), bounded, target).catch(asDamage);
}

export async function unpackZstd(path: string, to: string): Promise<void> {
  const bounded = limitBytes(maxUnpackedBytes);
  await pipeline(createReadStream(path), createZstdDecompress(), bounded, createWriteStream(to)).catch(
    asDamage,
  );
}

function limitBytes(most: number): Transform {
  let passed = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      passed += chunk.length;
      if (passed > most) done(damaged("an entry is larger than its directory says"));
      else done(null, chunk);
    },
  });
}

function asDamage(cause: unknown): never {
  if (cause instanceof SkeinError) throw cause;
  throw new SkeinError("corrupt", "compressed data is damaged", { cause });
}

async function readAt(
  file: Awaited<ReturnType<typeof open>>,
  position: number,
  length: number,
): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
