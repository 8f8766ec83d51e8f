/**
 * Texts in which something is encoded for a URL, read as what was meant: which letters an encoder leaves as
 * they are differs, so the text is decoded and not the secret encoded. Each decoded letter knows its place.
 */

export interface Reading {
  readonly text: string;
  /** Where a letter stands in the text as it is, and where that text ends; null: where it stands here. */
  readonly places: readonly number[] | null;
}

const encoded = /%[0-9A-Fa-f]{2}/;
const decodingsMax = 2;

/** The text decoded, and decoded twice; where spaces matter, it and each also with them for `+`. */
export function readingsOf(text: string, hasSpaces: boolean): readonly Reading[] {
  const plain = { text, places: null };
  const all: Reading[] = hasSpaces && text.includes("+") ? [withSpaces(plain)] : [];
  let level: readonly Reading[] = [plain, ...all];
  for (let count = 0; count < decodingsMax && encoded.test(text); count++) {
    // A plus that was encoded is a plus: spaces are put before it is decoded.
    level = level.filter((one) => encoded.test(one.text)).map(decoded);
    all.push(...level);
  }
  return all;
}

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
