/**
 * Texts of a handoff: any value in one line that cannot pass for anything else. Only this file makes line
 * breaks, headings, and pointers at the beginning of a line.
 */
import { shortId } from "../text/short-id.ts";
import { gap, textOf } from "../context/text.ts";

/** The name of a position in a handoff: the id suffix, which every command accepts. */
export const pointerTo =
  (session: string) =>
  (seq: number): string =>
    `${shortId(session)}@${seq}`;

/** White space, and characters that break a line or change its direction. */
const breaks = /[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+/gu;
/** A bracket before text that looks like a pointer. */
const likePointer = /\[(?=[^\]\s]{0,40}@\d)/gu;

/** A text or value in one line of at most so many characters; an ellipsis marks the cut. */
export function inLine(value: unknown, charsMax: number): string {
  const whole = textOf(value);
  // Of a huge value only the beginning is read.
  const head = cutTo(whole, charsMax * 8 + 64).toWellFormed();
  const line = head.replaceAll(breaks, " ").trim().replaceAll(likePointer, "\\[");
  if (line.length <= charsMax && head.length === whole.length) return line;
  return `${cutTo(line, Math.max(0, charsMax - 1)).trimEnd()}…`;
}

/** The first characters of a text, without splitting one. */
export function cutTo(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = text.slice(0, charsMax);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** A field of a content as a line; a placeholder if it was erased. */
export const fieldLine = (content: unknown, name: string, what: string, charsMax: number): string => {
  const value = content === undefined ? undefined : fieldOf(content, name);
  return value === undefined ? gap(what) : inLine(value, charsMax);
};

export const fieldOf = (content: unknown, name: string): unknown =>
  typeof content === "object" && content !== null
    ? (content as Readonly<Record<string, unknown>>)[name]
    : undefined;

/** The text of blocks. */
export function textIn(content: unknown): string {
  const blocks = fieldOf(content, "blocks");
  const given = Array.isArray(blocks) ? (blocks as unknown[]) : [];
  return given
    .flatMap((block) => {
      const text = fieldOf(block, "text");
      const type = fieldOf(block, "type");
      if (type === "text" && typeof text === "string") return [text];
      return type === "image" || type === "file" ? [`[${type}]`] : [];
    })
    .join(" ");
}
