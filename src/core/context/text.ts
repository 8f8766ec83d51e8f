/** Texts of a context: placeholders for content that is erased, too long, or not text. */

/** Shares of a context in characters. Token counts would not give the same bytes forever. */
export const share = {
  /** One document of a session; the other documents share the rest of the total. */
  documentCharsMax: 16_000,
  documentsCharsMax: 48_000,
  memoryCharsMax: 16_000,
  /** The durable tier with its values; a larger one becomes an index of keys, which has a limit too. */
  itemsMax: 500,
  itemsCharsMax: 24_000,
  indexCharsMax: 12_000,
} as const;

export const isBlank = (text: string): boolean => text.trim() === "";

/** The placeholder of an erased content, by name. */
export const gap = (what: string): string => `[erased: ${what}]`;

/** A text as it is, anything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value.toWellFormed() : (JSON.stringify(value) ?? "");

/**
 * A text below its first line, indented: a value with line breaks must not look like an entry, or a heading,
 * of its own. For renderers from 2 on.
 */
export const nested = (text: string): string => text.replace(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, "\n  ");

/** The beginning and end of a long text, with a note in between about the omitted part. */
export function cut(text: string, charsMax: number, note: (left: number) => string): string {
  if (text.length <= charsMax) return text;
  const head = whole(text.slice(0, Math.ceil(charsMax * 0.75)));
  const tail = wholeTail(text.slice(text.length - Math.floor(charsMax * 0.25)));
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${note(left)} …]\n${tail}`;
}

/** Removes half a surrogate pair at either end. */
const whole = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text);
const wholeTail = (text: string): string => (/^[\uDC00-\uDFFF]/.test(text) ? text.slice(1) : text);
