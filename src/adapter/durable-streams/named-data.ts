/** The bytes of a named stream as contents of records, and back. Pure. */
import { isUtf8 } from "node:buffer";
import { SkeinError } from "../../core/error.ts";

/** A record's share of an append. */
export interface AppendPiece {
  /** Bytes; of a JSON stream, messages. */
  readonly count: number;
  readonly content: { readonly text: string } | { readonly base64: string };
}

/** Even when every character is escaped, or encoded, it fits into a record. */
const pieceBytes = 160 * 1_024;

export const isJson = (contentType: string): boolean => mediaTypeOf(contentType) === "application/json";
export const mediaTypeOf = (contentType: string): string =>
  (contentType.split(";")[0] ?? "").trim().toLowerCase();
/** Its bytes can be lines of an event stream. */
export const isText = (contentType: string): boolean =>
  mediaTypeOf(contentType).startsWith("text/") || isJson(contentType);

/** The pieces of a body. A JSON array is several messages. */
export function piecesOf(bytes: Buffer, contentType: string): readonly AppendPiece[] {
  if (bytes.length === 0) return [];
  if (!isJson(contentType)) return split(bytes, null);
  const texts = messagesIn(bytes);
  return texts.length === 0 ? [] : split(Buffer.from(texts.join(",")), texts.length);
}

/** The messages of a JSON body, each as JSON text. */
export function messagesIn(bytes: Buffer): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new SkeinError("invalid", "streams: the body is not valid JSON");
  }
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => JSON.stringify(one));
}

function split(bytes: Buffer, messages: number | null): readonly AppendPiece[] {
  const pieces: AppendPiece[] = [];
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    const part = bytes.subarray(from, from + pieceBytes);
    const isPlain = isUtf8(part) && !part.includes(0);
    const content = isPlain ? { text: part.toString("utf8") } : { base64: part.toString("base64") };
    // The messages of an append end with its last piece.
    const isLast = from + pieceBytes >= bytes.length;
    pieces.push({ count: messages === null ? part.length : isLast ? messages : 0, content });
  }
  return pieces;
}

/** The bytes of a piece; none when they were erased. */
export function bytesOf(content: unknown): Buffer {
  const { text, base64 } = (content ?? {}) as { readonly text?: unknown; readonly base64?: unknown };
  if (typeof text === "string") return Buffer.from(text, "utf8");
  return typeof base64 === "string" ? Buffer.from(base64, "base64") : Buffer.alloc(0);
}

/** What a reader gets of the appends of a chunk. */
export function joined(appends: readonly Buffer[], contentType: string): Buffer {
  if (!isJson(contentType)) return Buffer.concat(appends);
  const texts = appends.filter(({ length }) => length > 0).map((one) => one.toString("utf8"));
  return Buffer.from(`[${texts.join(",")}]`);
}
