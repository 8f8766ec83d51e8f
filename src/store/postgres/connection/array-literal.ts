/** Arrays in PostgreSQL syntax: `{"one","two",NULL}`; to be cast in the statement, `$1::text[]`. */

const special = /["\\]/;

export function arrayOf(values: readonly (string | number | boolean | null)[]): string {
  let text = "{";
  for (let place = 0; place < values.length; place++) {
    const value = values[place] ?? null;
    if (place > 0) text += ",";
    text += typeof value === "string" ? quoted(value) : value === null ? "NULL" : value;
  }
  return `${text}}`;
}

const quoted = (value: string): string =>
  special.test(value) ? `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : `"${value}"`;

/** PostgreSQL texts cannot hold U+0000. Only display texts may have one: JSON has none. */
export const shownText = (text: string | null): string | null => text?.replaceAll("\0", "\uFFFD") ?? null;

/**
 * Texts without a record separator: joining and splitting such a list is far faster than an array. No JSON
 * text has one, and no header field.
 */
const separator = "\x1e";

export const isPlain = (text: string): boolean => !text.includes(separator);

/** The list as one text, for `splitting`. Null and the empty text are null. */
export function joined(values: readonly (string | null)[]): string {
  return values.join(separator);
}

/** The array of texts that a parameter holds as one text. */
export const splitting = (parameter: number): string => `string_to_array($${parameter}::text, E'\\x1e', '')`;
