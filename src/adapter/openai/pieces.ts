/**
 * Cuts a text into the pieces of its deltas: words, at most 64 characters long. Where a text is cut depends
 * on the text alone, and never on what follows a cut. So a live answer and its record give the same pieces.
 */

const pieceChars = 64;

/** The pieces that are certain, and the rest that may still grow. At the end all is certain. */
export function cutPieces(
  text: string,
  isWhole: boolean,
): { readonly pieces: readonly string[]; readonly rest: string } {
  const pieces: string[] = [];
  let from = 0;
  for (let at = 1; at < text.length; at++) {
    const before = text.charCodeAt(at - 1);
    const isWordEnd = isSpace(before) && !isSpace(text.charCodeAt(at));
    const isLong = at - from >= pieceChars && !isHighSurrogate(before);
    if (!isWordEnd && !isLong) continue;
    pieces.push(text.slice(from, at));
    from = at;
  }
  const rest = text.slice(from);
  return isWhole && rest !== "" ? { pieces: [...pieces, rest], rest: "" } : { pieces, rest };
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

const isHighSurrogate = (code: number): boolean => code >= 0xd8_00 && code <= 0xdb_ff;
