/** The words of a text, by which it is found; after the manner of SQLite's tokenizer `unicode61`. */

/** Letters and digits in a row, without regard to case or to the diacritics of Latin letters. */
export function wordsOf(text: string): readonly string[] {
  // JavaScript gives a sigma at the end of a word a lower case of its own, but a beginning has no end.
  const lower = text.toLowerCase().replaceAll("ς", "σ").normalize("NFD");
  const plain = lower.replaceAll(/(?<=\p{Script=Latin})\p{Mn}+/gu, "").normalize("NFC");
  return plain.match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}
