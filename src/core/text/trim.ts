/**
 * Trims characters off the ends of a text in linear time. A pattern such as `/x+$/` starts over at every `x`,
 * which takes quadratic time on hostile input.
 */

/** The text without trailing characters of this set. */
export function trimEndOf(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}

/** The text without leading characters of this set. */
export function trimStartOf(text: string, chars: string): string {
  let start = 0;
  while (start < text.length && chars.includes(text[start] ?? "")) start++;
  return text.slice(start);
}
