/**
 * Cutting characters off the ends of a text in linear time. A pattern such as `/x+$/` starts over at every
 * `x` of the text, which takes quadratic time on hostile input.
 */

/** The text without its last characters, as long as they are among these. */
export function trimEndOf(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}

/** The same for its first characters. */
export function trimStartOf(text: string, chars: string): string {
  let start = 0;
  while (start < text.length && chars.includes(text[start] ?? "")) start++;
  return text.slice(start);
}
