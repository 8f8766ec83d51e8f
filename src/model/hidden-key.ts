/**
 * Keys in what a provider says. Some servers repeat the key they refuse, and what they say is kept in the
 * log: a key never is.
 */

/** Shorter values are words that may stand anywhere. */
const keyCharsMin = 6;
/** In place of a key. */
const mark = "[key]";

/** What looks like a key, whoever's it is: the value of a header or parameter that carries one. */
const likeKeys: readonly RegExp[] = [
  /(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi,
  /(\b(?:authorization|api[_-]?key)["']?\s*[:=]\s*["']?)(?!bearer\b|basic\b|\[key\])[\w.~+/=-]{6,}/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"']{6,}/gi,
];

export function hideKeys(text: string, keys: readonly string[]): string {
  const longestFirst = keys
    .filter((key) => key.length >= keyCharsMin)
    .toSorted((a, b) => b.length - a.length);
  const hidden = longestFirst.reduce((told, key) => hideCut(told.replaceAll(key, mark), key), text);
  return likeKeys.reduce((told, pattern) => told.replaceAll(pattern, `$1${mark}`), hidden);
}

/** Where a text was cut for its length, the beginning of a key may be left at its end. */
function hideCut(text: string, key: string): string {
  if (!text.endsWith("…")) return text;
  for (let length = key.length - 1; length >= keyCharsMin; length--) {
    const cut = `${key.slice(0, length)}…`;
    if (text.endsWith(cut)) return `${text.slice(0, -cut.length)}${mark}…`;
  }
  return text;
}
