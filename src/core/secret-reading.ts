/**
 * Texts in which something is encoded for a URL, or base64 is broken into lines, read as what was meant.
 * Which letters an encoder leaves as they are, and where lines end, differs: so the text is decoded, and not
 * the secret encoded. Each letter that is read knows its place.
 */

export interface Reading {
  readonly text: string;
  /** Where a letter stands in the text as it is, and where that text ends; null: where it stands here. */
  readonly places: readonly number[] | null;
}

const encoded = /%[0-9A-Fa-f]{2}/;
const decodingsMax = 2;

/**
 * The text decoded, and decoded twice; where spaces matter, it and each also with them for `+`; and with
 * lines of base64 joined.
 */
export function readingsOf(text: string, hasSpaces: boolean): readonly Reading[] {
  const plain = { text, places: null };
  const all: Reading[] = hasSpaces && text.includes("+") ? [withSpaces(plain)] : [];
  let level: readonly Reading[] = [plain, ...all];
  for (let count = 0; count < decodingsMax && encoded.test(text); count++) {
    // A plus that was encoded is a plus: spaces are put before it is decoded.
    level = level.filter((one) => encoded.test(one.text)).map(decoded);
    all.push(...level);
  }
  const joined = joinedLines(text);
  return joined === null ? all : [...all, joined];
}

const lineEnd = /\r?\n|(?:\\{1,7}r)?\\{1,7}n/g;
const lineCharsMin = 40;

/** Base64 that is broken into lines, as programs write it, in one piece; null when there is none. */
function joinedLines(text: string): Reading | null {
  const from: number[] = [];
  let told = "";
  let at = 0;
  const copy = (end: number): void => {
    for (let place = at; place < end; place++) from.push(place);
    told += text.slice(at, end);
  };
  for (const { 0: end, index } of text.matchAll(lineEnd)) {
    const after = index + end.length;
    if (index < at || !isDigit(text.charCodeAt(after)) || !isLine(text, index)) continue;
    copy(index);
    at = after;
  }
  if (at === 0) return null;
  copy(text.length);
  from.push(text.length);
  return { text: told, places: from };
}

function isLine(text: string, end: number): boolean {
  if (end < lineCharsMin) return false;
  for (let at = end - 1; at >= end - lineCharsMin; at--) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/** Whether it is a digit of base64, in either alphabet. */
const isDigit = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 95;

const withSpaces = ({ text, places }: Reading): Reading => ({ text: text.replaceAll("+", " "), places });

const runs = /(?:%[0-9A-Fa-f]{2})+/g;

function decoded({ text, places }: Reading): Reading {
  const from: number[] = [];
  let told = "";
  let at = 0;
  const copy = (end: number): void => {
    for (let place = at; place < end; place++) from.push(places?.[place] ?? place);
    told += text.slice(at, end);
    at = end;
  };
  for (const { 0: run, index } of text.matchAll(runs)) {
    copy(index);
    for (const letter of lettersOf(run)) {
      for (let unit = 0; unit < letter.text.length; unit++) {
        const place = index + letter.at;
        from.push(places?.[place] ?? place);
      }
      told += letter.text;
    }
    at = index + run.length;
  }
  copy(text.length);
  from.push(places?.[text.length] ?? text.length);
  return { text: told, places: from };
}

/** The letters of a run of `%XX`, each with its place in it; of what is not UTF-8, those of ASCII. */
function lettersOf(run: string): readonly { readonly text: string; readonly at: number }[] {
  try {
    let at = 0;
    return Array.from(decodeURIComponent(run), (text) => {
      const letter = { text, at };
      at += encodedLength(text.codePointAt(0) ?? 0);
      return letter;
    });
  } catch {
    return Array.from({ length: run.length / 3 }, (_, place) => {
      const code = Number.parseInt(run.slice(place * 3 + 1, place * 3 + 3), 16);
      return { text: code < 0x80 ? String.fromCharCode(code) : "\uFFFD", at: place * 3 };
    });
  }
}

/** Three characters for each byte of UTF-8. */
const encodedLength = (code: number): number =>
  3 * (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_00_00 ? 3 : 4);
