/** `key=value` as its two trimmed halves; null without a key. */
export function pairOf(text: string, separator = /=/): readonly [key: string, value: string] | null {
  const at = text.search(separator);
  const key = text.slice(0, Math.max(0, at)).trim();
  return key === "" || /\s/.test(key) ? null : [key, text.slice(at + 1).trim()];
}
