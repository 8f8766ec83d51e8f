/** Memory that reaches a session between boundaries, where it stands: right before the next input. */
import type { EventOf } from "../event.ts";
import { memoryLine } from "./plan-memory.ts";
import { field } from "./source.ts";
import { gap, nested } from "./text.ts";

/** Null: nothing is said. */
export function carriedNote({ body, content }: EventOf<"memory.carried">): string | null {
  const { count, withdrawn = 0, left = 0 } = body;
  if (count + withdrawn + left === 0) return null;
  if (content === undefined) return `[${gap("what other sessions remembered meanwhile")}]`;
  const lines = content.items.map((item) => memoryLine(item));
  const gone = (content.withdrawn ?? []).map((one) => {
    const why = field(one, "why");
    const reason = whyGone[typeof why === "string" ? why : ""] ?? "it no longer holds";
    return `- no longer holds: ${nested(`${one.kind} ${one.key}`)} (${reason})`;
  });
  const more = left === 0 ? [] : [`- and ${left} more that did not fit; lookup finds them`];
  return `[Remembered meanwhile, outside of this session:\n${[...lines, ...gone, ...more].join("\n")}\n]`;
}

const whyGone: Readonly<Record<string, string>> = {
  forgotten: "it was forgotten",
  erased: "it was erased",
  changed: "it was changed; lookup finds the new value",
};
