/** Texts of compactions without a model: inputs carried along, and summaries assembled by rule. */
import { cut } from "../context/text.ts";
import type { MessagePart } from "../context/part.ts";

/** An unanswered input. */
export interface OpenInput {
  readonly seq: number;
  readonly text: string;
}

const carriedHeading = "Input that is not answered yet, word for word:";

/** A summary, followed by the unanswered inputs of its range, within so many characters. */
export function withInputs(summary: string, inputs: readonly OpenInput[], charsMax: number): string {
  if (inputs.length === 0) return summary;
  // The latest matter most; each gets at least a line.
  let left = charsMax;
  const lines = inputs.toReversed().map(({ seq, text }) => {
    const most = Math.max(200, Math.floor(left / 2));
    const shown = cut(
      text,
      most,
      (more) => `${more} characters left out; recall with fromSeq ${seq} reads it`,
    );
    left = Math.max(0, left - shown.length);
    return `[input at ${seq}]\n${shown}`;
  });
  return `${summary}\n\n${carriedHeading}\n${lines.toReversed().join("\n")}`;
}

/** The part of a summary without the carried inputs. */
export const withoutInputs = (summary: string): string =>
  (summary.split(`\n\n${carriedHeading}\n`)[0] ?? "").trim();

const plainHeading =
  "[This summary was put together without a model: the beginning of each message, the latest last.]";

const lineCharsMax = 240;
/** The minimum share of an earlier summary; it gets more if the rest is short. */
const earlierShare = 0.4;

/**
 * A summary without a model: the beginning of each message in one line, as many of the latest as fit; before
 * them the earlier summary. It understands nothing, and invents nothing.
 */
export function plainSummary(
  messages: readonly MessagePart[],
  { earlier, charsMax }: { readonly earlier: string | null; readonly charsMax: number },
): string {
  const before = earlier === null ? "" : withoutInputs(earlier).replace(plainHeading, "").trim();
  const all = messages.flatMap(linesOf);
  const room = charsMax - plainHeading.length - all.reduce((sum, line) => sum + line.length + 1, 0);
  const most = Math.max(Math.floor(charsMax * earlierShare), room);
  const kept = cut(before, most, (left) => `${left} characters of an earlier summary left out`);
  const lines: string[] = [];
  let left = charsMax - kept.length - plainHeading.length;
  for (const line of all.toReversed()) {
    left -= line.length + 1;
    if (left < 0) break;
    lines.push(line);
  }
  const missing = all.length - lines.length;
  const gap = missing === 0 ? [] : [`(${missing} earlier lines left out; recall reads them)`];
  return [plainHeading, ...(kept === "" ? [] : [kept]), ...gap, ...lines.toReversed()].join("\n");
}

function linesOf({ role, content }: MessagePart): string[] {
  return content.flatMap((block) => {
    switch (block.type) {
      case "text":
        return [`- ${role === "user" ? "input" : "answer"}: ${begin(block.text)}`];
      case "tool-call":
        return [`- call of ${block.tool}: ${begin(JSON.stringify(block.input))}`];
      case "tool-result":
        return [`- ${block.tool} (${block.status}): ${begin(block.text)}`];
      case "image":
      case "file":
        return [`- input: [${block.type}]`];
      case "reasoning":
        return [];
    }
  });
}

function begin(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax).toWellFormed()}…`;
}
