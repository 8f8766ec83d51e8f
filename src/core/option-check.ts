/** Whether callers gave what an option takes: a text, true or false, a list. What is left out is right. */
import { SkeinError } from "./error.ts";

type Given = Readonly<Record<string, unknown>>;

export const checkFlags = (where: string, given: Given): void =>
  checkKind(where, given, (value) => typeof value === "boolean", "neither true nor false");

export const checkTexts = (where: string, given: Given): void =>
  checkKind(where, given, (value) => typeof value === "string", "no text");

export const checkLists = (where: string, given: Given): void =>
  checkKind(where, given, Array.isArray, "not a list", "give an array");

export const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function checkKind(
  where: string,
  given: Given,
  isRight: (value: unknown) => boolean,
  wrong: string,
  hint?: string,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || isRight(value)) continue;
    throw new SkeinError("invalid", `${where}: ${name} is ${wrong}`, { hint });
  }
}
