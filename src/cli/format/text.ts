/**
 * Text for a terminal or a pipe. A log may contain anything: control characters, which could move the cursor,
 * color the screen or turn the direction of text, are shown by name and never sent.
 */

const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Safe, on one line: runs of white space become one space. */
export const oneLine = (text: string): string => safe(text.replaceAll(/\s+/g, " ").trim());

/** Safe, with its lines kept. */
export const manyLines = (text: string): string[] => text.split(/\r\n|\n/).map(safe);

/** Safe, for a text in pieces: an incomplete sequence waits for the next piece. */
export function safePieces(): (piece: string) => string {
  let kept = "";
  return (piece) => {
    const text = kept + piece;
    kept = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? "";
    return manyLines(text.slice(0, text.length - kept.length)).join("\n");
  };
}

function safe(text: string): string {
  return text.replaceAll(controls, (sign) => (sign === "\t" ? "  " : escaped(sign))).toWellFormed();
}

/**
 * JSON on one line. JSON itself leaves DEL, the C1 controls and signs of direction as they are; this does
 * not.
 */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replaceAll(controls, escaped);
}

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

const wide = /[\u1100-\u115f\u2e80-\ud7a3\uf900-\ufaff\ufe30-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3ffff}]/u;
const nothing = /^(?:\p{M}|\p{Cf})$/u;
const ascii = /^[\u0020-\u007e]*$/;

/** A value as people write it: text without quotes, anything else as JSON, nothing as nothing. */
export function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Columns that a text takes on a terminal, near enough for tables. */
export function columnsOf(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const sign of text) columns += signColumns(sign);
  return columns;
}

const signColumns = (sign: string): number => (nothing.test(sign) ? 0 : wide.test(sign) ? 2 : 1);

/** The text in at most so many columns, with a mark where it was cut. */
export function cut(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let kept = "";
  let left = Math.max(0, columns - 1);
  for (const sign of text) {
    left -= signColumns(sign);
    if (left < 0) break;
    kept += sign;
  }
  return `${kept.trimEnd()}…`;
}

export { bytes, count, plural } from "../../core/text/number-format.ts";
