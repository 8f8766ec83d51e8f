/** Reads text by lines from files of any size, with bounded memory. */
import type { FileHandle } from "node:fs/promises";

const chunkBytes = 65_536;
const newline = 0x0a;

export type Lines =
  | {
      readonly text: string;
      /** The first line after these; undefined at the end of the file. */
      readonly nextLine: number | undefined;
      /** True if the text ends within a line that is too long to read at once. */
      readonly isCut: boolean;
    }
  /** The file ends before the requested line. */
  | { readonly lineCount: number };

/** At most `linesMax` lines and `bytesMax` bytes, starting at a line. Lines count from 1. */
export async function readLines(
  handle: FileHandle,
  options: {
    readonly fromLine: number;
    readonly linesMax: number;
    readonly bytesMax: number;
    readonly signal: AbortSignal;
  },
): Promise<Lines> {
  const { fromLine, linesMax, bytesMax, signal } = options;
  const start = await findLine(handle, fromLine, signal);
  if ("lineCount" in start) return start;
  const bytes = await readUpTo(handle, bytesMax + 1, { from: start.position });
  const { end, count } = linesIn(bytes.subarray(0, bytesMax), linesMax);
  if (end === bytes.length) return { text: decode(bytes), nextLine: undefined, isCut: false };
  if (count === linesMax)
    return { text: decode(bytes.subarray(0, end)), nextLine: fromLine + count, isCut: false };
  if (bytes.length <= bytesMax) return { text: decode(bytes), nextLine: undefined, isCut: false };
  if (count > 0) return { text: decode(bytes.subarray(0, end)), nextLine: fromLine + count, isCut: false };
  return { text: decode(bytes.subarray(0, bytesMax)), nextLine: fromLine + 1, isCut: true };
}

/** Where a line begins. */
async function findLine(
  handle: FileHandle,
  line: number,
  signal: AbortSignal,
): Promise<{ readonly position: number } | { readonly lineCount: number }> {
  let [left, position, endsOpen] = [line - 1, 0, false];
  const chunk = Buffer.allocUnsafe(chunkBytes);
  while (left > 0) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunkBytes, position);
    if (bytesRead === 0) return { lineCount: line - 1 - left + (endsOpen ? 1 : 0) };
    const { end, count } = linesIn(chunk.subarray(0, bytesRead), left);
    left -= count;
    position += left === 0 ? end : bytesRead;
    endsOpen = chunk[bytesRead - 1] !== newline;
  }
  const { bytesRead } = await handle.read(chunk, 0, 1, position);
  return bytesRead === 0 && line > 1 ? { lineCount: line - 1 } : { position };
}

/** The end of the last of at most `most` whole lines, and their number. */
function linesIn(bytes: Uint8Array, most: number): { readonly end: number; readonly count: number } {
  let [end, count] = [0, 0];
  while (count < most) {
    const at = bytes.indexOf(newline, end);
    if (at === -1) break;
    end = at + 1;
    count += 1;
  }
  return { end, count };
}

/** Fewer bytes only at the end of the file. */
export async function readUpTo(
  handle: FileHandle,
  bytesMax: number,
  options: { readonly from?: number } = {},
): Promise<Buffer> {
  const from = options.from ?? 0;
  const parts: Buffer[] = [];
  for (let length = 0; length < bytesMax;) {
    const size = Math.min(chunkBytes, bytesMax - length);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size, from + length);
    if (bytesRead === 0) break;
    parts.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(parts);
}

/** Decodes bytes that may end within a character; invalid UTF-8 becomes �. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8").decode(bytes, { stream: true });
}

/** The text, or undefined if the bytes are not exactly valid UTF-8. A byte order mark stays. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Whether it looks binary, by the sign that most programs use: a NUL byte. */
export const isBinary = (head: Uint8Array): boolean => head.subarray(0, 8_192).includes(0);
