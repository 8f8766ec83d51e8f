/** Validates the values of options: a text, a boolean, a list. A missing option is valid. */
import { SkeinError } from "./error.ts";
import { quote } from "./ids.ts";

type GivenOptions = Readonly<Record<string, unknown>>;

export const checkFlags = (where: string, given: GivenOptions): void =>
  checkKind(where, given, (value) => typeof value === "boolean", "true or false");

export const checkTexts = (where: string, given: GivenOptions): void =>
  checkKind(where, given, (value) => typeof value === "string", "a string");

export const checkLists = (where: string, given: GivenOptions): void =>
  checkKind(where, given, Array.isArray, "an array");

export const isObject = (value: unknown): value is GivenOptions =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function checkKind(
  where: string,
  given: GivenOptions,
  isRight: (value: unknown) => boolean,
  right: string,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || isRight(value)) continue;
    throw new SkeinError("invalid", `${where}: ${name}: expected ${right}, got ${quote(value)}`);
  }
}
