/**
 * Decoded readings of a text: URL encoding undone, base64 lines joined. Encoders differ in which letters they
 * leave and where lines end, so the text is decoded rather than the secret encoded. Each decoded letter knows
 * its position in the original.
 */

export interface DecodedText {
  readonly text: string;
  /** Maps the start and end of a match to the original text. */
  start(at: number): number;
  end(at: number): number;
  /** Where lines were joined that may not belong together. */
  readonly stops?: ReadonlySet<number>;
}

const encoded = /%[0-9A-Fa-f]{2}/;
const decodingsMax = 2;

/**
 * The text decoded once and twice; if spaces matter, each also with `+` as space; and all except those with
 * lines joined.
 */
export function readingsOf(text: string, hasSpaces: boolean): readonly DecodedText[] {
  const plain: DecodedText = { text, start: same, end: same };
  const spaced = hasSpaces && text.includes("+") ? [withSpaces(plain)] : [];
  const all: DecodedText[] = [...spaced];
  const whole: DecodedText[] = [plain];
  let level: readonly DecodedText[] = [plain, ...spaced];
  for (let count = 0; count < decodingsMax && encoded.test(text); count++) {
    // An encoded plus stays a plus: `+` becomes a space before decoding.
    level = level.filter((one) => encoded.test(one.text)).map(decoded);
    all.push(...level);
    whole.push(...level.slice(0, 1));
  }
  return [...all, ...whole.flatMap((one) => joinedLines(one) ?? [])];
}

const same = (at: number): number => at;

/** A line end, plain or escaped, with everything that may precede the next line's text. */
const lineEnd = /(?:[\n\r\f\v\u0085\u2028\u2029]|\\[nrf])(?:[\s"'`,>|#]|\\{1,15}["'nrft])*/g;
/** Lines of at least this width, with no wider one after them, count as parts of one value. */
const wideCharsMin = 16;

/** Joins a value broken into lines, of any width and indentation; null if there is nothing to join. */
function joinedLines(reading: DecodedText): DecodedText | null {
  const { text } = reading;
  const pieces: string[] = [];
  /** Where each piece begins, in this reading and in the text. */
  const here: number[] = [0];
  const there: number[] = [0];
  const stops = new Set<number>();
  let at = 0;
  let length = 0;
  for (const { 0: end, index } of text.matchAll(lineEnd)) {
    const after = index + end.length;
    const before = lastOf(text, index, at);
    if (before <= at || !isDigit(text.charCodeAt(before - 1)) || !isDigit(text.charCodeAt(after))) continue;
    pieces.push(text.slice(at, before));
    length += before - at;
    if (!isWide(text, { from: at, before, after })) stops.add(length);
    here.push(length);
    there.push(after);
    at = after;
  }
  if (pieces.length === 0) return null;
  pieces.push(text.slice(at));
  const placeOf = (place: number): number => {
    const piece = pieceAt(here, place);
    return (there[piece] ?? 0) + place - (here[piece] ?? 0);
  };
  return {
    text: pieces.join(""),
    start: (place) => reading.start(placeOf(place)),
    end: (place) => reading.end(place === 0 ? 0 : placeOf(place - 1) + 1),
    stops,
  };
}

/** The last piece that begins at or before a position. */
function pieceAt(here: readonly number[], place: number): number {
  let [low, high] = [0, here.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((here[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The end of a line without trailing spaces, quotes and the like. */
function lastOf(text: string, end: number, from: number): number {
  let at = end;
  for (;;) {
    while (at > from && " \t\"'`,\\".includes(text[at - 1] ?? "")) at--;
    // An escaped tab; without the backslash it is a letter.
    if (at - 2 < from || text[at - 1] !== "t" || text[at - 2] !== "\\") return at;
    at--;
  }
}

function isWide(
  text: string,
  { from, before, after }: { readonly from: number; readonly before: number; readonly after: number },
): boolean {
  let start = before;
  while (start > from && isDigit(text.charCodeAt(start - 1))) start--;
  const width = before - start;
  if (width < wideCharsMin) return false;
  let end = after;
  while (end - after <= width && isDigit(text.charCodeAt(end))) end++;
  return end - after <= width;
}

/** Whether it is a base64 digit, in either alphabet. */
const isDigit = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 95;

const withSpaces = (reading: DecodedText): DecodedText => ({
  ...reading,
  text: reading.text.replaceAll("+", " "),
});

const runs = /(?:%[0-9A-Fa-f]{2})+/g;

function decoded({ text, start, end }: DecodedText): DecodedText {
  const from: number[] = [];
  let plain = "";
  let at = 0;
  const copy = (until: number): void => {
    for (let place = at; place < until; place++) from.push(start(place));
    plain += text.slice(at, until);
    at = until;
  };
  for (const { 0: run, index } of text.matchAll(runs)) {
    copy(index);
    for (const letter of lettersOf(run)) {
      for (let unit = 0; unit < letter.text.length; unit++) {
        from.push(start(index + letter.at));
      }
      plain += letter.text;
    }
    at = index + run.length;
  }
  copy(text.length);
  from.push(end(text.length));
  const placeOf = (place: number): number => from[place] ?? end(text.length);
  return { text: plain, start: placeOf, end: placeOf };
}

/** The letters of a run of `%XX`, each with its offset; if it is not UTF-8, those of ASCII. */
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
