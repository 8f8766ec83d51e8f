/** Texts of a context: what stands for things that are gone, too long, or not text. */

/** Shares of a context in characters. One that counted tokens would not give the same bytes for ever. */
export const share = {
  /** One document that a session starts with; the others of its kind get what is left of all. */
  documentCharsMax: 16_000,
  documentsCharsMax: 48_000,
  memoryCharsMax: 16_000,
  /** The durable tier with its values; a larger one is an index of keys, which has a limit too. */
  itemsMax: 500,
  itemsCharsMax: 24_000,
  indexCharsMax: 12_000,
} as const;

export const isBlank = (text: string): boolean => text.trim() === "";

/** What cannot be read any more, by name. */
export const gap = (what: string): string => `[erased: ${what}]`;

/** A text as it is, anything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value.toWellFormed() : (JSON.stringify(value) ?? "");

/** Beginning and end of a text that is too long, and between them what is left out. */
export function cut(text: string, charsMax: number, note: (left: number) => string): string {
  if (text.length <= charsMax) return text;
  const head = whole(text.slice(0, Math.ceil(charsMax * 0.75)));
  const tail = wholeTail(text.slice(text.length - Math.floor(charsMax * 0.25)));
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${note(left)} …]\n${tail}`;
}

/** No half of a character at the end, or at the beginning. */
const whole = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text);
const wholeTail = (text: string): string => (/^[\uDC00-\uDFFF]/.test(text) ? text.slice(1) : text);
