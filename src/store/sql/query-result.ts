/** The result of a query, its limits and failures: the same in every SQL driver. */
import { SkeinError } from "../../core/error.ts";

/** The views that queries read; docs/views.md describes them. */
export const viewNames = ["sessions", "events", "tool_calls", "items", "decisions", "costs"] as const;

export const viewsHint = `use one SELECT over the views ${viewNames.join(", ")}; see docs/views.md`;

export const severalStatements = "there is more than one statement";

export const tooManyRows = (limit: number): { readonly error: string; readonly hint: string } => ({
  error: `more than ${limit} rows`,
  hint: "add a LIMIT",
});

export const failedQuery = ({ error, hint }: { readonly error: string; readonly hint: string }): SkeinError =>
  new SkeinError("invalid", `query: ${error}`, { hint });

export const slowQuery = (timeoutMs: number): SkeinError =>
  new SkeinError("refused", `query: timed out after ${timeoutMs} ms`, {
    hint: "add conditions on session, type or time",
  });

/** The caller's signal was aborted. */
export const endedQuery = (cause?: unknown): SkeinError =>
  new SkeinError("unavailable", "query: aborted", { cause });

/** The result of a query. */
export interface QueryRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** More rows or bytes than these are refused, and a longer value is never held whole. */
export interface QueryOptions {
  readonly limit: number;
  /** A text counts its UTF-8 bytes, and every value eight more. */
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Of any value: many small ones take memory too. */
const valueBytes = 8;

export function rowBytes(row: readonly unknown[]): number {
  let sum = row.length * valueBytes;
  for (const value of row) if (typeof value === "string") sum += Buffer.byteLength(value);
  return sum;
}

/** The error of a query with too much output, and its hint. */
export const tooMuch = (bytesMax: number): { readonly error: string; readonly hint: string } => ({
  error: `the result has more than ${bytesMax} bytes`,
  hint: "select fewer rows or columns, or part of a text: substr(content, 1, 1000)",
});

/** A database error may repeat values of any length. */
export const describeError = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}…` : text);
