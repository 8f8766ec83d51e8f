/** Reads what a client sent. Unknown fields are accepted. */
import { SkeinError } from "../../core/error.ts";

export type Fields = Readonly<Record<string, unknown>>;
export type ClaudeMetadata = Readonly<Record<string, string>>;

export const invalid = (message: string, hint?: string): SkeinError =>
  new SkeinError("invalid", message, hint === undefined ? {} : { hint });

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function fieldsOf(value: unknown, where = "body"): Fields {
  if (isFields(value)) return value;
  throw invalid(`${where}: expected an object, got ${kindOf(value)}`);
}

export function listOf(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalid(`${where}: expected a list, got ${kindOf(value)}`);
}

export function textOf(value: unknown, where: string, max = 200_000): string {
  if (typeof value === "string" && value !== "" && value.length <= max) return value;
  throw invalid(`${where}: expected a text of 1 to ${max} characters, got ${kindOf(value)}`);
}

/** A text, or null for absent, null and empty ones. */
export const textOrNull = (value: unknown, where: string, max?: number): string | null =>
  value === undefined || value === null || value === "" ? null : textOf(value, where, max);

const kindOf = (value: unknown): string =>
  value === null || value === undefined
    ? String(value)
    : Array.isArray(value)
      ? "a list"
      : typeof value === "string"
        ? `a text of ${value.length} characters`
        : `a value of type ${typeof value}`;

/** Applies a patch of metadata: a text sets, null deletes. */
export function patchMetadata(before: ClaudeMetadata, patch: unknown): ClaudeMetadata {
  if (patch === undefined || patch === null) return before;
  const after = new Map(Object.entries(before));
  for (const [key, value] of Object.entries(fieldsOf(patch, "metadata"))) {
    if (value === null) after.delete(key);
    else if (key.length <= 64 && typeof value === "string" && value.length <= 512) after.set(key, value);
    else throw invalid("metadata: expected texts of up to 512 characters under keys of up to 64");
  }
  if (after.size > 16) throw invalid(`metadata: expected at most 16 pairs, got ${after.size}`);
  return Object.fromEntries(after);
}

/** The number of entries of a page. */
export function limitOf(query: URLSearchParams, byDefault: number, max: number): number {
  const given = query.get("limit");
  if (given === null) return byDefault;
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1) return Math.min(limit, max);
  throw invalid(`limit: expected an integer from 1 to ${max}`);
}

/** All values of `name[]=a&name[]=b`. Null: not given. */
export function listIn(query: URLSearchParams, name: string): readonly string[] | null {
  const all = [...query.getAll(`${name}[]`), ...query.getAll(name)];
  return all.length === 0 ? null : all;
}

/** Whether a moment lies in the ranges `name[gte]=…` of a query. */
export function rangeIn(query: URLSearchParams, name: string): (ms: number) => boolean {
  const tests = {
    gt: (ms: number, edge: number) => ms > edge,
    gte: (ms: number, edge: number) => ms >= edge,
    lt: (ms: number, edge: number) => ms < edge,
    lte: (ms: number, edge: number) => ms <= edge,
  };
  const given = Object.entries(tests).flatMap(([word, isIn]) => {
    const text = query.get(`${name}[${word}]`);
    if (text === null) return [];
    const edge = Date.parse(text);
    if (Number.isNaN(edge)) throw invalid(`${name}[${word}]: expected a time as in RFC 3339`);
    return [(ms: number) => isIn(ms, edge)];
  });
  return (ms) => given.every((isIn) => isIn(ms));
}

export const timeText = (ms: number): string => new Date(ms).toISOString();
