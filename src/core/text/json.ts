/**
 * JSON that can be stored: finite, well formed, not too deep, without NUL. Validated before anything is
 * written.
 */
import { SkeinError } from "../error.ts";
import { limit } from "../limit.ts";

/** Rejects any value that would not come back from the log as it went in, and names its path. */
export function checkJson(what: string, value: unknown): void {
  if (!isSound(value, 1)) check(what, value, 1);
}

/** Whether `check` would find nothing, without building the path. */
function isSound(value: unknown, depth: number): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "boolean";
  if (value === null) return true;
  if (depth > limit.jsonDepthMax) return false;
  if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place++) if (!isSound(value[place], depth + 1)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || "toJSON" in value) return false;
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || !isSound(key, depth)) return false;
    const one = (value as Readonly<Record<string, unknown>>)[key];
    if (one !== undefined && !isSound(one, depth + 1)) return false;
  }
  return true;
}

function check(path: string, value: unknown, depth: number): void {
  switch (typeof value) {
    case "string":
      return checkText(path, value);
    case "number":
      if (Number.isFinite(value)) return;
      throw new SkeinError("invalid", `${path}: expected JSON, got ${value}`, {
        hint: "use null or a string",
      });
    case "boolean":
      return;
    case "object":
      if (value === null) return;
      if (depth > limit.jsonDepthMax) {
        throw new SkeinError("invalid", `${short(path)}: nested deeper than ${limit.jsonDepthMax} levels`, {
          hint: "flatten it, or store it as text",
        });
      }
      return Array.isArray(value) ? checkArray(path, value, depth) : checkObject(path, value, depth);
    case "undefined":
    case "bigint":
    case "symbol":
    case "function":
      throw new SkeinError("invalid", `${path}: expected JSON, got ${typeof value}`, {
        hint: "only null, booleans, numbers, strings, arrays and plain objects can be stored",
      });
  }
}

/** Rejects text that some store or language cannot hold. */
export function checkText(path: string, text: string): void {
  if (!text.isWellFormed()) {
    throw new SkeinError("invalid", `${short(path)}: invalid Unicode (a lone surrogate)`, {
      hint: "a character was cut in two or decoded wrongly; String.toWellFormed() repairs it",
    });
  }
  if (text.includes("\0")) {
    throw new SkeinError("invalid", `${short(path)}: contains a NUL character`, {
      hint: "remove it, or store the bytes as a blob",
    });
  }
}

function checkArray(path: string, array: readonly unknown[], depth: number): void {
  for (const [place, value] of array.entries()) check(`${path}[${place}]`, value, depth + 1);
}

function checkObject(path: string, object: object, depth: number): void {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new SkeinError("invalid", `${short(path)}: expected a plain object`, {
      hint: "pass plain JSON; dates, maps and class instances cannot be stored",
    });
  }
  if ("toJSON" in object) {
    throw new SkeinError("invalid", `${short(path)}: has a toJSON method`, {
      hint: "pass plain JSON",
    });
  }
  for (const [key, value] of Object.entries(object)) {
    if (key === "__proto__") {
      throw new SkeinError("invalid", `${short(path)}: the key "__proto__" is not allowed`, {
        hint: "rename the key",
      });
    }
    checkText(`a key of ${path}`, key);
    // JSON omits these, as callers who build objects with optional fields expect.
    if (value !== undefined) check(`${path}.${key}`, value, depth + 1);
  }
}

const short = (path: string): string => (path.length > 120 ? `${path.slice(0, 117)}…` : path);

/** Whether two values are the same JSON. The order of an object's keys does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((one, place) => sameJson(one, b[place]));
  }
  const [mine, yours] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(mine);
  return (
    keys.length === Object.keys(yours).length &&
    keys.every((key) => Object.hasOwn(yours, key) && sameJson(mine[key], yours[key]))
  );
}
