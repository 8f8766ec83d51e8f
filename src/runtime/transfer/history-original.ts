/**
 * The original of a transcript on its way into the store: redacted line by line, with a report of what was
 * found where, and kept in compressed pieces. A source that has grown shares all pieces but its last ones.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { constants, zstdCompressSync } from "node:zlib";
import type { ContentOf } from "../../core/catalog.ts";
import type { Redactor } from "../../core/secret/redactor.ts";
import { redactSource } from "../../core/secret/source-redaction.ts";
import type { SourceRange } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { chunksOf } from "../log/redact.ts";

/** Bytes of the source, and where they lie. */
export interface OriginalChunk {
  /** Valid until the next chunk is asked for. */
  readonly bytes: Uint8Array;
  readonly source: SourceRange;
  /** A row of a database: its JSON as bytes, and its row id as the range. */
  readonly isRow?: boolean;
}

/** A secret that was removed: the bytes of the source that held it, and its kind or registered name. */
export interface TranscriptRedaction extends SourceRange {
  readonly kind: string;
}

/** The secrets of a source. At most 1,000 are listed, all are counted. */
export interface RedactionReport {
  readonly count: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly listed: readonly TranscriptRedaction[];
}

const listedMax = 1_000;

export class RedactionCounter {
  #count = 0;
  readonly #kinds = new Map<string, number>();
  readonly #listed: TranscriptRedaction[] = [];

  add(redaction: TranscriptRedaction): void {
    this.#count += 1;
    this.#kinds.set(redaction.kind, (this.#kinds.get(redaction.kind) ?? 0) + 1);
    if (this.#listed.length < listedMax) this.#listed.push(redaction);
  }

  report(): RedactionReport {
    return { count: this.#count, kinds: Object.fromEntries(this.#kinds), listed: this.#listed };
  }
}

/** Small enough that a source that grows writes little again. */
const pieceBytes = 4_000_000;

/** The media type of a piece. */
const originalType = "application/zstd";

/** The records hold the same texts already, so that the original costs little beside them. */
const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Stores the redacted bytes as blobs, each a zstd frame, and returns a block for each. */
export async function keepOriginal(
  { store, world }: Pick<Deps, "store" | "world">,
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): Promise<NonNullable<ContentOf<"source.imported">["blocks"]>> {
  const blocks: { type: "file"; blob: string; mediaType: string; name: string }[] = [];
  let held = Buffer.alloc(0);
  let size = 0;
  const keep = async (): Promise<void> => {
    const bytes = zstdCompressSync(held.subarray(0, size), packing);
    const blob = world.hashBytes(bytes);
    await store.putBlob(blob, chunksOf(bytes), { begins: true });
    blocks.push({ type: "file", blob, mediaType: originalType, name });
    size = 0;
  };
  for await (const chunk of chunks) {
    held = withRoom(held, size, chunk.length);
    held.set(chunk, size);
    size += chunk.length;
    if (size >= pieceBytes) await keep();
  }
  if (size > 0) await keep();
  return blocks;
}

/** The same bytes with room for more. */
function withRoom(held: Buffer<ArrayBuffer>, size: number, more: number): Buffer<ArrayBuffer> {
  if (size + more <= held.length) return held;
  const larger = Buffer.allocUnsafeSlow(Math.max(size + more, Math.min(2 * held.length, 2 * pieceBytes)));
  held.copy(larger, 0, 0, size);
  return larger;
}

/** A longer line is redacted in parts, as plain text. */
const lineBytesMax = 33_554_432;
/** As long as the longest form of the longest value. */
const overlapBytes = 131_072;

/** The source without its secrets. With no redactor it passes as it is. */
export async function* redactOriginal(
  redactor: Redactor | undefined,
  chunks: AsyncIterable<OriginalChunk>,
  counter: RedactionCounter,
): AsyncGenerator<Uint8Array> {
  if (redactor === undefined) {
    for await (const { bytes } of chunks) yield bytes;
    return;
  }
  let held: { bytes: Buffer; source: SourceRange; isDocument: boolean } | null = null;
  const redact = (bytes: Buffer, source: SourceRange): Buffer =>
    redactLines(redactor, bytes, source, counter);
  for await (const { bytes: given, source, isRow = false } of chunks) {
    const next = Buffer.from(given.buffer, given.byteOffset, given.length);
    if (held !== null && (isRow || held.source.file !== source.file || held.source.to !== source.from)) {
      if (held.bytes.length > 0) yield redact(held.bytes, held.source);
      held = null;
    }
    if (isRow) {
      yield redactUnit(redactor, next, { ...source, isRow }, counter);
      continue;
    }
    const isFirst: boolean = held === null;
    let [all, from, isOwn]: [Buffer, number, boolean] = [next, source.from, false];
    const end: number = held === null || held.isDocument ? 0 : next.indexOf(newline) + 1;
    if (held !== null && end > 0) {
      // Only the line that two chunks share is copied.
      const line = Buffer.concat([held.bytes, next.subarray(0, end)]);
      yield redact(line, { ...held.source, to: source.from + end });
      [all, from] = [next.subarray(end), source.from + end];
      held = { ...held, bytes: nothing };
    } else if (held !== null) {
      [all, from, isOwn] = [Buffer.concat([held.bytes, next]), held.source.from, true];
    }
    const isDocument: boolean = isFirst ? beginsDocument(all) : (held?.isDocument ?? false);
    const whole = { ...source, from };
    const cut: number = isDocument && all.length < lineBytesMax ? 0 : all.lastIndexOf(newline) + 1;
    if (cut === 0 && all.length > lineBytesMax) {
      const { clean, read } = redactPart(redactor, all, whole, counter);
      yield clean;
      const bytes: Buffer = Buffer.from(all.subarray(read));
      held = { bytes, source: { ...whole, from: from + read }, isDocument: false };
      continue;
    }
    if (cut > 0) yield redact(all.subarray(0, cut), { ...whole, to: from + cut });
    const keepsDocument: boolean = isDocument && cut === 0;
    const left: Buffer = cut === 0 && isOwn ? all : Buffer.from(all.subarray(cut));
    held = { bytes: left, source: { ...whole, from: from + cut }, isDocument: keepsDocument };
  }
  if (held !== null && held.bytes.length > 0) yield redact(held.bytes, held.source);
}

const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** A JSON document over several lines is read as a whole: no line of it parses. */
function beginsDocument(bytes: Buffer): boolean {
  const end = bytes.indexOf(0x0a);
  const first = bytes.toString("latin1", 0, Math.min(end === -1 ? bytes.length : end, 200)).trim();
  return /^[[{]$/.test(first) || /^[[{]\s*"[^"]*"\s*:\s*[^\s{[][^{}]*,$/.test(first);
}

function redactLines(
  redactor: Redactor,
  bytes: Buffer,
  source: SourceRange,
  counter: RedactionCounter,
): Buffer {
  if (!beginsWithJsonLine(bytes)) {
    // One character a byte: a registered value is also searched for in this form.
    if (!redactor.suspects(bytes.toString("latin1"), bytes)) return bytes;
    if (isDocument(bytes)) return redactUnit(redactor, bytes, source, counter);
  }
  const lines: Buffer[] = [];
  let isClean = true;
  for (let at = 0; at < bytes.length;) {
    const next = bytes.indexOf(newline, at);
    const end = next === -1 ? bytes.length : next + 1;
    const line = bytes.subarray(at, end);
    const clean = redactLine(redactor, line, { ...source, from: source.from + at }, counter);
    isClean &&= clean === line;
    lines.push(clean);
    at = end;
  }
  return isClean ? bytes : Buffer.concat(lines);
}

const redactLine: typeof redactUnit = (redactor, line, source, counter) =>
  isAscii(line) && !redactor.suspects(line.toString("latin1"), line)
    ? line
    : redactUnit(redactor, line, source, counter);

/** Then no JSON over several lines begins with it. */
function beginsWithJsonLine(bytes: Buffer): boolean {
  const end = bytes.indexOf(newline);
  return end !== -1 && isJson(bytes.toString("utf8", 0, end));
}

/** Redacts one line, or a whole document. */
function redactUnit(
  redactor: Redactor,
  bytes: Buffer,
  { file, from, to, isRow = false }: SourceRange & { readonly isRow?: boolean },
  counter: RedactionCounter,
): Buffer {
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.toString(encoding);
  const { text: clean, places } = redactSource(redactor, text);
  if (places.length === 0) return bytes;
  const byteAt = (chars: number): number => from + Buffer.byteLength(text.slice(0, chars), encoding);
  for (const { start, end, name: kind } of places)
    counter.add({ file, ...(isRow ? { from, to } : { from: byteAt(start), to: byteAt(end) }), kind });
  return Buffer.from(clean, encoding);
}

/** JSON over several lines. */
function isDocument(bytes: Buffer): boolean {
  const end = bytes.indexOf(newline);
  return end !== -1 && end !== bytes.length - 1 && isJson(bytes.toString("utf8"));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The beginning of a line without an end: all but what the next bytes may still belong to. */
function redactPart(
  redactor: Redactor,
  bytes: Buffer,
  source: SourceRange,
  counter: RedactionCounter,
): { readonly clean: Buffer; readonly read: number } {
  const { places } = redactSource(redactor, bytes.toString("latin1"));
  const last = bytes.length - overlapBytes;
  const read = places.findLast(({ start, end }) => start < last && end > last)?.end ?? last;
  return { clean: redactUnit(redactor, bytes.subarray(0, read), source, counter), read };
}
