/** Reads untrusted JSON: every accessor answers something usable for any value. */

export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = Object.freeze({});

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : none;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** A text that is not empty. */
export function nameOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A count: a finite number of at least 0, and 0 for everything else. */
export function countOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

const isTime = (ms: number): boolean => Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;

/** Milliseconds of an ISO text, of seconds with or without fractions, or of milliseconds. */
export function timeOf(value: unknown): number | null {
  if (typeof value === "string") {
    const ms = Date.parse(value);
    return isTime(ms) ? ms : null;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return null;
  // Seconds reach 1e11 in the year 5138; milliseconds passed it in 1973.
  const ms = value < 1e11 ? Math.round(value * 1000) : value;
  return isTime(ms) ? ms : null;
}

/** JSON in a text, or the text itself when it does not parse. */
export function parsedOr(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
