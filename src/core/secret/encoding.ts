/**
 * The forms in which a secret may appear in a text: plain, escaped for JSON up to three times, base64 at any
 * alignment, hexadecimal. decoding.ts handles URL encoding.
 */

export interface EncodedForm {
  readonly text: string;
  /** Of base64: adjacent characters of the same alphabet also carry parts of the value. */
  readonly around?: RegExp;
  /** Of base64: whether the digits directly before and after carry a part of the value. */
  readonly edges?: { readonly before: boolean; readonly after: boolean };
  /**
   * Only the text of a JSON value can hold it: one escape more than the deepest that a text is searched for.
   */
  readonly jsonOnly?: boolean;
}

/** Single lines of a multi-line value also count: a file is often shown line by line. */
const lineCharsMin = 16;
const linesMax = 64;

export function formsOf(value: string): readonly EncodedForm[] {
  const forms = new Map<string, EncodedForm>();
  const add = (text: string, more: Omit<EncodedForm, "text"> = {}): void => {
    for (const form of escapes(text)) {
      if (!forms.has(form)) forms.set(form, { text: form, ...more });
    }
  };
  for (const text of [value, ...linesOf(value)]) {
    const bytes = bytesOf(text);
    add(text);
    // Bytes decoded as Latin-1.
    add(String.fromCharCode(...bytes));
    for (const hex of hexForms(bytes)) add(hex);
    for (const { text: base, ...more } of base64Forms(bytes)) add(base, more);
  }
  const inTexts = [...forms.values()];
  const inJson = inTexts.map(({ text }) => escaped(text)).filter((text) => !forms.has(text));
  return [...inTexts, ...inJson.map((text) => ({ text, jsonOnly: true }))];
}

const linesOf = (value: string): readonly string[] =>
  value.includes("\n")
    ? value
        .split(/\r?\n/)
        .map((line) => line.trim())
        .filter((line) => line.length >= lineCharsMin && !line.startsWith("-----"))
        .slice(0, linesMax)
    : [];

/** The bytes of the text in UTF-8. */
function bytesOf(text: string): readonly number[] {
  const encoded = encodeURIComponent(text);
  const bytes: number[] = [];
  for (let at = 0; at < encoded.length; at++) {
    if (encoded[at] === "%") {
      bytes.push(Number.parseInt(encoded.slice(at + 1, at + 3), 16));
      at += 2;
    } else bytes.push(encoded.charCodeAt(at));
  }
  return bytes;
}

const escapesMax = 3;

/** Escaped as the text of a JSON document, of a JSON document in one, and of one in that. */
function escapes(text: string): ReadonlySet<string> {
  const all = new Set([text]);
  let plain = text;
  let ascii = text;
  for (let level = 0; level < escapesMax; level++) {
    plain = escaped(plain);
    ascii = asciiJson(ascii);
    all.add(plain);
    all.add(ascii);
  }
  // Some encoders escape the slash as well.
  if (text.includes("/")) {
    const slashed = escaped(text).replaceAll("/", "\\/");
    all.add(slashed);
    all.add(escaped(slashed));
  }
  return all;
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

const asciiJson = (text: string): string =>
  escaped(text).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");

function hexForms(bytes: readonly number[]): readonly string[] {
  const lower = bytes.map(hex).join("");
  return [lower, lower.toUpperCase()];
}

const standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const urlSafe = `${standard.slice(0, 62)}-_`;
const aroundStandard = /[A-Za-z0-9+/=]/;
const aroundUrlSafe = /[A-Za-z0-9_=-]/;

/** At each alignment, the digits that depend on the value alone. */
function base64Forms(bytes: readonly number[]): readonly Required<Omit<EncodedForm, "jsonOnly">>[] {
  return [0, 1, 2].flatMap((shift) => {
    const digits: number[] = [];
    const first = Math.ceil((shift * 8) / 6);
    const end = Math.floor(((shift + bytes.length) * 8) / 6);
    for (let digit = first; digit < end; digit++) digits.push(digitAt(bytes, digit * 6 - shift * 8));
    const text = (alphabet: string): string => digits.map((digit) => alphabet[digit]).join("");
    const edges = { before: shift > 0, after: (shift + bytes.length) % 3 !== 0 };
    return [
      { text: text(standard), around: aroundStandard, edges },
      { text: text(urlSafe), around: aroundUrlSafe, edges },
    ];
  });
}

/** Six bits, starting at a bit. */
function digitAt(bytes: readonly number[], bit: number): number {
  const byte = Math.floor(bit / 8);
  const pair = ((bytes[byte] ?? 0) << 8) | (bytes[byte + 1] ?? 0);
  return (pair >> (10 - (bit % 8))) & 63;
}
