/** Rows of a database as the model is shown them: JSON, a line for the columns and one for each row. */

export const rowsLimit = {
  /** What is given unless more is asked for, and the most that can be asked for. */
  rowsDefault: 100,
  rowsMax: 1_000,
  cellCharsMax: 4_000,
  charsMax: 65_536,
  /** What a database may answer, of which the model is shown the first; longer answers are not waited for. */
  answerBytesMax: 67_108_864,
} as const;

/** What one statement gave. `isMore`: there were further rows. */
export interface Rows {
  readonly columns: readonly string[];
  /** Each made of cells. */
  readonly rows: readonly (readonly unknown[])[];
  readonly isMore: boolean;
  /** How many rows it changed, where that is known. */
  readonly changes?: number | undefined;
}

export function rowsText({ columns, rows, isMore, changes }: Rows): string {
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

/** A value that JSON can say and that does not fill the context. */
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
