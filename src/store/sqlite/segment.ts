/**
 * The format of a segment: a dense range of one log's records, in columns and compressed. `heads` is all but
 * the contents, `contents` the contents with their salts, so that reading without contents unpacks none.
 *
 *   heads     form (1 byte), length of the next part (4 bytes, big endian), the columns as one Zstandard
 *             frame with a checksum, then incompressible data: keys, hashes of contents, and the hashes
 *             of the record before the first, of the last of each group and of the last of all
 *   contents  length of the next part (4 bytes, big endian), the contents as one Zstandard frame with a
 *             checksum, then the salts
 *
 * The other hashes are not stored: they are computed from the previous ones, see `hashes` in segments.ts.
 */
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { RecordColumns } from "./read.ts";

const form = 1;
const frameAt = 5;

/** Records of a group: only the hash of its last one is stored. */
export const groupRecords = 16;

/** A record with all its columns, and its feed position. */
export interface PackedRow {
  readonly position: number;
  readonly row: Required<RecordColumns>;
}

/** A range of a log, dense, and the hash of the record before its first. */
export interface SegmentRange {
  readonly rows: readonly PackedRow[];
  readonly before: Uint8Array;
}

export interface PackedSegment {
  readonly heads: Uint8Array;
  readonly contents: Uint8Array;
}

/** The same, uncompressed. */
interface Loose {
  readonly columns: Buffer;
  readonly tail: Buffer;
  readonly texts: Buffer;
  readonly salts: Buffer;
}

/** Unpacked, without contents. Each column has one entry per record. */
export interface SegmentHeads {
  readonly count: number;
  readonly positions: Float64Array;
  readonly at: Float64Array;
  readonly type: Float64Array;
  readonly v: Float64Array;
  readonly actor: Float64Array;
  /** 0: none; otherwise one more than the value. */
  readonly turn: Float64Array;
  /** 0: none; otherwise one more than its distance before the record, in zigzag. */
  readonly cause: Float64Array;
  readonly keyBytes: Float64Array;
  readonly hashBytes: Float64Array;
  /** Of the salt: 0 without a content, or if it was erased. */
  readonly saltBytes: Float64Array;
  /** 0: none; otherwise one more than the length. */
  readonly contentBytes: Float64Array;
  /** Where each body begins in `bodies`; one more entry than there are records. */
  readonly bodyAt: Float64Array;
  readonly bodies: Buffer;
  readonly keyAt: Float64Array;
  readonly hashAt: Float64Array;
  readonly tail: Buffer;
  /** Where the hashes of records begin in `tail`: that before the first, then the last of each group. */
  readonly groupsAt: number;
}

export interface Contents {
  readonly texts: Buffer;
  readonly textAt: Float64Array;
  readonly salts: Buffer;
  readonly saltAt: Float64Array;
}

export const hasContent = (heads: SegmentHeads, place: number): boolean => (heads.saltBytes[place] ?? 0) > 0;

const numbersOf = (rows: readonly PackedRow[]): number[] => {
  const columns = rows.map(({ position, row }, place): number[] => {
    const [, seq, at, type, v, actor, turn, cause, key, body, contentHash, contentBytes, , salt, content] =
      row;
    const before = rows[place - 1];
    return [
      zigzag(position - (before?.position ?? 0)),
      zigzag(at - (before?.row[2] ?? 0)),
      type,
      v,
      actor,
      turn === null ? 0 : turn + 1,
      cause === null ? 0 : zigzag(seq - cause) + 1,
      key?.length ?? 0,
      contentHash?.length ?? 0,
      content === null ? 0 : (salt?.length ?? 0),
      contentBytes === null ? 0 : contentBytes + 1,
      Buffer.byteLength(body),
    ];
  });
  const width = columns[0]?.length ?? 0;
  const found = [rows.length];
  for (let column = 0; column < width; column++) for (const one of columns) found.push(one[column] ?? 0);
  const odd = found.find((number) => !Number.isSafeInteger(number) || number < 0);
  if (odd !== undefined) throw new Error(`record number out of range: ${odd}`);
  return found;
};

/** Small numbers for values near zero, positive or negative. */
const zigzag = (number: number): number => (number < 0 ? -2 * number - 1 : 2 * number);
export const unzigzag = (number: number): number => (number % 2 === 1 ? -(number + 1) / 2 : number / 2);

function loose({ rows, before }: SegmentRange): Loose {
  const records = rows.map(({ row }) => row);
  const columns = Buffer.concat([
    varints(numbersOf(rows)),
    ...records.map(([, , , , , , , , , body]) => Buffer.from(body)),
  ]);
  const groups = records.filter((_, place) => isGroupEnd(place, records.length)).map((row) => row[12]);
  const keys = records.flatMap((row) => row[8] ?? []);
  const hashes = records.flatMap((row) => row[10] ?? []);
  const held = records.filter((row) => row[14] !== null);
  return {
    columns,
    tail: Buffer.concat([...keys, ...hashes, before, ...groups]),
    texts: Buffer.concat(held.map((row) => Buffer.from(row[14] ?? ""))),
    salts: Buffer.concat(held.map((row) => row[13] ?? Buffer.alloc(0))),
  };
}

export const isGroupEnd = (place: number, count: number): boolean =>
  place % groupRecords === groupRecords - 1 || place === count - 1;

/** With a known length, it needs no more memory and time than that. */
const settings = (level: number, bytes: Buffer) => ({
  params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
  ...(bytes.length === 0 ? {} : { pledgedSrcSize: bytes.length }),
});

/** Slow and small; not on this thread. */
const levelApart = 15;
/** For within a transaction. */
const levelAtOnce = 5;

export async function pack(range: SegmentRange): Promise<PackedSegment> {
  const { columns, tail, texts, salts } = loose(range);
  const [heads, contents] = await Promise.all([compress(columns), compress(texts)]);
  return joined({ heads, tail, contents, salts });
}

export function packAtOnce(range: SegmentRange): PackedSegment {
  const { columns, tail, texts, salts } = loose(range);
  const heads = zstdCompressSync(columns, settings(levelAtOnce, columns));
  const contents = zstdCompressSync(texts, settings(levelAtOnce, texts));
  return joined({ heads, tail, contents, salts });
}

const compress = (bytes: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // Without the length, Zstandard would prepare for the longest input: a hundred times the work.
    const options = { ...settings(levelApart, bytes), pledgedSrcSize: bytes.length };
    zstdCompress(bytes, options, (error, packed) => {
      if (error === null) resolve(packed);
      else reject(error);
    });
  });

function joined(parts: { heads: Buffer; tail: Buffer; contents: Buffer; salts: Buffer }): PackedSegment {
  const front = Buffer.alloc(frameAt);
  front[0] = form;
  front.writeUInt32BE(parts.heads.length, 1);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(parts.contents.length);
  return {
    heads: Buffer.concat([front, parts.heads, parts.tail]),
    contents: Buffer.concat([length, parts.contents, parts.salts]),
  };
}

/** Throws if it is corrupt. */
export function unpackHeads(bytes: Uint8Array): SegmentHeads {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (whole[0] !== form) throw new Error(`unknown segment format ${whole[0] ?? "(empty)"}`);
  const end = frameAt + whole.readUInt32BE(1);
  const columns = zstdDecompressSync(whole.subarray(frameAt, end));
  const read = reader(columns);
  const count = read.next();
  const positions = read.sums(count);
  const at = read.sums(count);
  const [type, v, actor, turn] = [read.many(count), read.many(count), read.many(count), read.many(count)];
  const [cause, keyBytes, hashBytes] = [read.many(count), read.many(count), read.many(count)];
  const [saltBytes, contentBytes, bodyBytes] = [read.many(count), read.many(count), read.many(count)];
  const keyAt = offsets(keyBytes, 0);
  const hashAt = offsets(hashBytes, keyAt[count] ?? 0);
  const groupsAt = hashAt[count] ?? 0;
  const tail = whole.subarray(end);
  const bodies = columns.subarray(read.place());
  const bodyAt = offsets(bodyBytes, 0);
  const groups = 1 + Math.ceil(count / groupRecords);
  if (tail.length !== groupsAt + groups * 32 || bodies.length !== bodyAt[count]) {
    throw new Error("the segment's parts do not match");
  }
  const header = { count, positions, at, type, v, actor, turn, cause };
  const lengths = { keyBytes, hashBytes, saltBytes, contentBytes };
  return { ...header, ...lengths, bodyAt, bodies, keyAt, hashAt, tail, groupsAt };
}

export function unpackContents(heads: SegmentHeads, bytes: Uint8Array): Contents {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = 4 + whole.readUInt32BE(0);
  const texts = zstdDecompressSync(whole.subarray(4, end));
  const salts = whole.subarray(end);
  const lengths = heads.contentBytes.map((bytesAndOne, place) =>
    hasContent(heads, place) ? bytesAndOne - 1 : 0,
  );
  const textAt = offsets(lengths, 0);
  const saltAt = offsets(heads.saltBytes, 0);
  if (texts.length !== textAt[heads.count] || salts.length !== saltAt[heads.count]) {
    throw new Error("the segment's contents do not match its records");
  }
  return { texts, textAt, salts, saltAt };
}

/** Where each begins, and after the last where it ends. */
function offsets(lengths: Float64Array, start: number): Float64Array {
  const found = new Float64Array(lengths.length + 1);
  let at = start;
  for (let place = 0; place < lengths.length; place++) {
    found[place] = at;
    at += lengths[place] ?? 0;
  }
  found[lengths.length] = at;
  return found;
}

/** Seven bits a byte, the low ones first; numbers up to 2^53. */
function varints(numbers: readonly number[]): Buffer {
  const bytes: number[] = [];
  for (const number of numbers) {
    let left = number;
    for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
    bytes.push(left);
  }
  return Buffer.from(bytes);
}

function reader(bytes: Buffer) {
  let place = 0;
  const next = (): number => {
    let number = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[place++];
      if (byte === undefined) throw new Error("the segment is truncated");
      if (byte < 128) return number + byte * scale;
      number += (byte - 128) * scale;
    }
  };
  const many = (count: number): Float64Array => {
    const found = new Float64Array(count);
    for (let i = 0; i < count; i++) found[i] = next();
    return found;
  };
  const sums = (count: number): Float64Array => {
    const found = many(count);
    let sum = 0;
    for (let i = 0; i < count; i++) found[i] = sum += unzigzag(found[i] ?? 0);
    return found;
  };
  return { next, many, sums, place: () => place };
}
