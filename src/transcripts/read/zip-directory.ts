/** Reads the central directory of a zip archive, with bounds. Pure: the bytes are given. */
import { SkeinError } from "../../core/error.ts";

/** A file in an archive. */
export interface ZipEntry {
  readonly name: string;
  /** 0: stored, 8: deflate. */
  readonly method: number;
  readonly packedBytes: number;
  readonly bytes: number;
  /** Of the local header. */
  readonly offset: number;
}

const maxEntries = 200_000;
const maxDirectoryBytes = 64 * 1024 * 1024;

/** Where the directory lies, from the last 64 KB of the archive. */
export function locateDirectory(tail: Buffer): { offset: number; bytes: number; entries: number } {
  const at = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (at === -1 || at + 22 > tail.length) throw damaged("no end of central directory");
  let found = {
    entries: tail.readUInt16LE(at + 10),
    bytes: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
  };
  const wide = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x06, 0x06]), at);
  if ((found.offset === 0xffffffff || found.entries === 0xffff) && wide !== -1 && wide + 56 <= tail.length) {
    found = {
      entries: Number(tail.readBigUInt64LE(wide + 32)),
      bytes: Number(tail.readBigUInt64LE(wide + 40)),
      offset: Number(tail.readBigUInt64LE(wide + 48)),
    };
  }
  if (found.entries > maxEntries || found.bytes > maxDirectoryBytes) throw damaged("directory too large");
  return found;
}

export function readDirectory(directory: Buffer, entries: number): ZipEntry[] {
  const found: ZipEntry[] = [];
  for (let at = 0; found.length < entries;) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50)
      throw damaged("central directory cut off");
    const nameBytes = directory.readUInt16LE(at + 28);
    const extraBytes = directory.readUInt16LE(at + 30);
    const next = at + 46 + nameBytes + extraBytes + directory.readUInt16LE(at + 32);
    const extra = directory.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes);
    const sizes = [
      directory.readUInt32LE(at + 24),
      directory.readUInt32LE(at + 20),
      directory.readUInt32LE(at + 42),
    ];
    const [bytes = 0, packedBytes = 0, offset = 0] = widened(sizes, extra);
    const name = directory.toString("utf8", at + 46, at + 46 + nameBytes);
    found.push({ name, method: directory.readUInt16LE(at + 10), bytes, packedBytes, offset });
    at = next;
  }
  return found;
}

/** Zip64: a value of all ones stands in the extra field 1, in the order size, packed size, offset. */
function widened(sizes: readonly number[], extra: Buffer): number[] {
  let field = Buffer.alloc(0);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === 1)
      field = Buffer.from(extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2)));
  }
  let used = 0;
  return sizes.map((size) => {
    if (size !== 0xffffffff || used + 8 > field.length) return size;
    used += 8;
    return Number(field.readBigUInt64LE(used - 8));
  });
}

/** An entry that would leave the folder it is unpacked into, or that names a drive or a device. */
export function leavesTarget(name: string): boolean {
  return name.split(/[\\/]/).includes("..") || /^[\\/]|^[A-Za-z]:|\0/.test(name);
}

export function damaged(reason: string): SkeinError {
  return new SkeinError("corrupt", `zip archive: ${reason}`, { hint: "download the export again" });
}
