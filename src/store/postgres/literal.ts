/** Arrays as PostgreSQL reads them: `{"one","two",NULL}`; to be cast in the statement, `$1::text[]`. */

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

/** PostgreSQL keeps no U+0000 in a text. Only what lists show may have one: JSON has none. */
export const shownText = (text: string | null): string | null => text?.replaceAll("\0", "\uFFFD") ?? null;
