/** The words of a text for search, like SQLite's tokenizer `unicode61`. */

/** Runs of letters and digits, ignoring case and the diacritics of Latin letters. */
export function wordsOf(text: string): readonly string[] {
  // JavaScript lowercases a final sigma differently, which would break prefix matches.
  const lower = text.toLowerCase().replaceAll("ς", "σ").normalize("NFD");
  const plain = lower.replaceAll(/(?<=\p{Script=Latin})\p{Mn}+/gu, "").normalize("NFC");
  return plain.match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}
