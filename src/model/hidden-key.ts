/**
 * Removes API keys from provider messages. Some servers repeat the rejected key, and the log keeps their
 * message: it must never hold a key.
 */

/** Shorter values may occur as ordinary words. */
const keyCharsMin = 6;
/** The replacement of a key. */
const mark = "[key]";

/** Anything that looks like a key: the value of a header or parameter that carries one. */
const likeKeys: readonly RegExp[] = [
  /(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi,
  /(\b(?:authorization|api[_-]?key)["']?\s*[:=]\s*["']?)(?!bearer\b|basic\b|\[key\])[\w.~+/=-]{6,}/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"']{6,}/gi,
];

export function hideKeys(text: string, keys: readonly string[]): string {
  const longestFirst = keys
    .filter((key) => key.length >= keyCharsMin)
    .toSorted((a, b) => b.length - a.length);
  const hidden = longestFirst.reduce((text, key) => hideCut(text.replaceAll(key, mark), key), text);
  return likeKeys.reduce((text, pattern) => text.replaceAll(pattern, `$1${mark}`), hidden);
}

/** A truncated text may end with the beginning of a key. */
function hideCut(text: string, key: string): string {
  if (!text.endsWith("…")) return text;
  for (let length = key.length - 1; length >= keyCharsMin; length--) {
    const cut = `${key.slice(0, length)}…`;
    if (text.endsWith(cut)) return `${text.slice(0, -cut.length)}${mark}…`;
  }
  return text;
}
