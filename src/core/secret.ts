/**
 * The redactor: takes values that are registered as secret, and what looks like one, out of texts and JSON
 * before they are stored. Pure, linear in the length of the text, and idempotent.
 */
import { SkeinError } from "./error.ts";
import { quote } from "./ids.ts";
import { limit } from "./limit.ts";

export interface Redactor {
  /** From here on the value is taken out wherever it occurs. A second registration changes nothing. */
  register(name: string, value: string): void;
  /** The text without secrets; the very same when it holds none. */
  text(text: string): string;
  /** The same for every text in a JSON value, and for fields whose names say that they are secret. */
  json<T>(value: T): T;
  /** The same for the JSON text of a value. */
  jsonText(text: string): string;
  /** The name of a registered value that occurs in the text; null when there is none. */
  registeredIn(text: string): string | null;
}

/** What stands where a secret was. */
export const marker = (name: string): string => `[redacted: ${name}]`;

export function makeRedactor(): Redactor {
  const values = new Map<string, string>();
  const redactor: Redactor = {
    register(name, value) {
      if (value.length < limit.secretCharsMin) {
        throw new SkeinError("invalid", `the secret ${quote(name)} is too short`);
      }
      values.set(value, name);
    },
    text: (text) => [...values].reduce((told, [value, name]) => told.replaceAll(value, marker(name)), text),
    json: (value) => walk(value, redactor.text) as typeof value,
    jsonText(text) {
      const value: unknown = JSON.parse(text);
      const clean = redactor.json(value);
      return clean === value ? text : JSON.stringify(clean);
    },
    registeredIn: (text) => [...values].find(([value]) => text.includes(value))?.[1] ?? null,
  };
  return redactor;
}

function walk(value: unknown, each: (text: string) => string): unknown {
  if (typeof value === "string") return each(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const next = value.map((one: unknown) => walk(one, each));
    return next.every((one, place) => one === value[place]) ? value : next;
  }
  const next = Object.entries(value).map(([key, one]) => [each(key), walk(one, each)] as const);
  const old = Object.entries(value);
  const same = next.every(([key, one], place) => key === old[place]?.[0] && one === old[place]?.[1]);
  return same ? value : Object.fromEntries(next);
}
