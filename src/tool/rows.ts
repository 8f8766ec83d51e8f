/** Database rows for the model: JSON, one line for the columns and one per row. */

export const rowsLimit = {
  /** The default and the maximum number of rows. */
  rowsDefault: 100,
  rowsMax: 1_000,
  cellCharsMax: 4_000,
  charsMax: 65_536,
  /**
   * The size limit of a database answer, of which the model sees the beginning; a longer one is abandoned.
   */
  answerBytesMax: 67_108_864,
} as const;

/** The result of one statement. `isMore`: there were further rows. */
export interface StatementRows {
  readonly columns: readonly string[];
  /** Each an array of cells. */
  readonly rows: readonly (readonly unknown[])[];
  readonly isMore: boolean;
  /** The number of changed rows, if known. */
  readonly changes?: number | undefined;
}

export function rowsText({ columns, rows, isMore, changes }: StatementRows): string {
  if (columns.length === 0) return changes === undefined ? "done; no rows" : `done; rows changed: ${changes}`;
  const lines = [JSON.stringify(columns)];
  let chars = 0;
  for (const row of rows) {
    const line = JSON.stringify(row);
    chars += line.length;
    if (chars > rowsLimit.charsMax) break;
    lines.push(line);
  }
  const shown = lines.length - 1;
  if (rows.length === 0) lines.push("[no rows]");
  if (shown < rows.length || isMore) lines.push(`[the first ${shown} rows; there are more: narrow it down]`);
  return lines.join("\n");
}

/** A JSON value that does not fill the context. */
export function cell(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (typeof value === "string") return short(value);
  if (typeof value !== "object" || value === null) return value ?? null;
  const text = JSON.stringify(value);
  return text.length > rowsLimit.cellCharsMax ? short(text) : value;
}

const short = (text: string): string =>
  text.length > rowsLimit.cellCharsMax
    ? `${text.slice(0, rowsLimit.cellCharsMax)}[… ${text.length - rowsLimit.cellCharsMax} characters more]`
    : text;
