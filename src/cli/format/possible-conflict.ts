/** Items that may contradict each other, in a line. */
import type { PossibleConflict } from "../../core/item/possible-conflict.ts";
import { oneLine } from "./text.ts";

export function possibleText({ items }: PossibleConflict): string {
  const [one, other] = items.map(({ kind, key, value }) => `${kind} ${oneLine(key)}: ${oneLine(value)}`);
  return `possible conflict: ${one} / ${other}`;
}
