/** Untrusted text without control characters for terminals or text direction. */

// C0 and C1 controls except tab and line feed; bidirectional marks; invisible characters.
const controls = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";
const directions = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const unseen = "\\u200b\\u2060-\\u2064\\ufeff";
const steering = new RegExp(`[${controls}${directions}${unseen}]`, "g");

/** Control characters as their code, such as ⟨U+202E⟩. */
export const visible = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(steering, (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** On one line, and truncated. */
export function brief(text: string, chars = 200): string {
  const line = visible(text.slice(0, chars * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > chars ? `${line.slice(0, chars - 1)}…` : line;
}
