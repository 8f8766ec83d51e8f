/** What carried over from an earlier session, and what did not, for people. */
import type { CarriedPart, CarryOver } from "../../runtime/branch/carry-over.ts";
import type { Screen } from "../command/screen.ts";
import { oneLine } from "./text.ts";

const namesShown = 6;

export function carryLines(carried: CarryOver | null, out: Screen): string[] {
  if (carried === null) return [];
  const { moved, left } = carried;
  return [
    ...(moved.length === 0 ? [] : [out.dim(`carried over: ${moved.map(partText).join("; ")}`)]),
    ...left.map((part) => out.yellow(`left: ${partText(part)}`) + out.dim(part.why ? ` (${part.why})` : "")),
  ];
}

function partText({ what, names }: CarriedPart): string {
  const shown = names.slice(0, namesShown).map((name) => oneLine(name));
  const more = names.length > namesShown ? ` and ${names.length - namesShown} more` : "";
  return `${what} ${shown.join(", ")}${more}`;
}
