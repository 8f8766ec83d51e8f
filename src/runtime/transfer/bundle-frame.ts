/** Frames of a bundle, written and read: compressed, decompressed, counted and hashed, one at a time. */
import { createHash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  bundleFlaw,
  bundleLineOf,
  bundleVersion,
  bundleLineBytesMax,
  frameHeaderBytes,
  frameKinds,
  lastChunk,
  packed,
  parseBundleLine,
  unpackedMax,
  type BundleVersion,
  type FrameKind,
} from "../../core/bundle/format.ts";
import { limit } from "../../core/limit.ts";

/** The fastest; others save a tenth of the bytes for twice the time. */
const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Shorter payloads are not worth it. */
const packedBytesMin = 256;

export interface FrameWriter {
  /** The first line; by default of a bundle of a session. */
  begin(version?: BundleVersion): Uint8Array;
  frame(kind: FrameKind, payload: Uint8Array, flags?: number): readonly Uint8Array[];
  /** SHA-256 of all bytes so far. */
  digest(): string;
}

export function makeFrameWriter(): FrameWriter {
  const hash = createHash("sha256");
  const total = { stored: 0, unpacked: 0 };
  const out = (bytes: Uint8Array): Uint8Array => {
    hash.update(bytes);
    return bytes;
  };
  return {
    begin: (version = bundleVersion) => out(Buffer.from(bundleLineOf(version))),
    frame(kind, payload, flags = 0) {
      const small = kind === frameKinds.trailer || payload.length < packedBytesMin;
      const tried = small ? payload : zstdCompressSync(payload, packing);
      total.unpacked += payload.length;
      const isPacked =
        tried.length < payload.length && total.unpacked <= unpackedMax(total.stored + tried.length);
      const stored = isPacked ? tried : payload;
      total.stored += stored.length;
      const header = Buffer.alloc(frameHeaderBytes);
      header.write(kind, 0, "latin1");
      header[1] = flags | (isPacked ? packed : 0);
      header.writeUInt32BE(payload.length, 4);
      header.writeUInt32BE(stored.length, 8);
      return [out(header), out(stored)];
    },
    digest: () => hash.copy().digest("hex"),
  };
}

export interface BundleFrame {
  /** Of the bundle. */
  readonly version: BundleVersion;
  readonly kind: FrameKind;
  readonly flags: number;
  readonly payload: Uint8Array;
  /** SHA-256 of all bytes before it. */
  digestBefore(): string;
}

const kinds: ReadonlySet<string> = new Set(Object.values(frameKinds));

/** Every frame in turn. Holds only the current frame, whatever the bundle claims. */
export async function* readFrames(source: AsyncIterable<Uint8Array>): AsyncGenerator<BundleFrame, undefined> {
  const bytes = makeByteReader(source);
  const hash = createHash("sha256");
  const total = { stored: 0, unpacked: 0 };
  const line = await readLine(bytes);
  const version = parseBundleLine(line.toString("latin1"));
  hash.update(line);
  for (;;) {
    const header = await bytes.read(frameHeaderBytes);
    if (header === null) return undefined;
    const { kind, flags, size, storedSize } = headerOf(header);
    total.stored += storedSize;
    total.unpacked += size;
    if (total.unpacked > unpackedMax(total.stored)) {
      throw bundleFlaw("the compression ratio is too high");
    }
    const digest = kind === frameKinds.trailer ? hash.copy().digest("hex") : null;
    const stored = storedSize === 0 ? new Uint8Array(0) : await bytes.read(storedSize);
    if (stored === null) throw bundleFlaw("the file is truncated");
    hash.update(header);
    hash.update(stored);
    const payload = (flags & packed) === 0 ? stored : unpack(stored, size);
    if (payload.length !== size) throw bundleFlaw("a frame has the wrong length");
    yield { version, kind, flags, payload, digestBefore: () => digest ?? "" };
  }
}

function headerOf(header: Buffer) {
  const kind = header.toString("latin1", 0, 1);
  const [size, storedSize] = [header.readUInt32BE(4), header.readUInt32BE(8)];
  const flags = header[1] ?? 0;
  // The trailer has no flags. Its own header is the one thing that its digest does not cover.
  const known = kind === frameKinds.trailer ? 0 : packed | lastChunk;
  if (!kinds.has(kind) || (flags & ~known) !== 0 || header.readUInt16BE(2) !== 0)
    throw bundleFlaw("unknown frame kind");
  if (size > limit.bundleFrameBytesMax || storedSize > size) throw bundleFlaw("a frame is too large");
  return { kind: kind as FrameKind, flags, size, storedSize };
}

/** Stops as soon as a payload decompresses to more than it says. */
function unpack(stored: Uint8Array, size: number): Uint8Array {
  try {
    return zstdDecompressSync(stored, { maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    throw bundleFlaw("a frame cannot be decompressed", cause);
  }
}

async function readLine(bytes: ByteReader): Promise<Buffer> {
  const line: number[] = [];
  while (line.length < bundleLineBytesMax && line.at(-1) !== 10) {
    const next = await bytes.read(1);
    if (next === null) break;
    line.push(next[0] ?? 0);
  }
  return Buffer.from(line);
}

interface ByteReader {
  /** So many bytes; null at the end. An end within them is damage. */
  read(count: number): Promise<Buffer | null>;
}

function makeByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const chunks = source[Symbol.asyncIterator]();
  let waiting: Uint8Array[] = [];
  let length = 0;
  const fill = async (count: number): Promise<boolean> => {
    while (length < count) {
      const next = await chunks.next();
      if (next.done === true) return false;
      waiting.push(next.value);
      length += next.value.length;
    }
    return true;
  };
  return {
    async read(count) {
      if (!(await fill(count))) {
        if (length === 0) return null;
        throw bundleFlaw("the file is truncated");
      }
      const first = waiting[0];
      const whole = first !== undefined && first.length >= count ? first : Buffer.concat(waiting, length);
      const rest = whole === first ? waiting.slice(1) : [];
      const left = whole.subarray(count);
      waiting = left.length === 0 ? rest : [left, ...rest];
      length -= count;
      return Buffer.from(whole.buffer, whole.byteOffset, count);
    },
  };
}
