/** Text of others, made so that it steers nothing: neither a terminal nor the direction of writing. */

// C0 and C1 controls but for tab and line feed; marks that turn the direction of writing; what is not seen.
const controls = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";
const directions = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const unseen = "\\u200b\\u2060-\\u2064\\ufeff";
const steering = new RegExp(`[${controls}${directions}${unseen}]`, "g");

/** Steering characters as their code, such as ⟨U+202E⟩. */
export const visible = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(steering, (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** On one line, and not longer than that. */
export function brief(text: string, chars = 200): string {
  const line = visible(text.slice(0, chars * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > chars ? `${line.slice(0, chars - 1)}…` : line;
}
