/** The texts of an answer, as windows show them: text and reasoning, divided by the calls between. Pure. */
import type { ContentBlock } from "../core/schema.ts";

/** A text of an answer. */
export interface AnswerSegment {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/** The texts of an answer in order; adjacent ones of a kind are one. */
export function segmentsOf(blocks: readonly ContentBlock[]): AnswerSegment[] {
  const segments: AnswerSegment[] = [];
  let isCut = true;
  for (const block of blocks) {
    if (block.type === "tool-call") isCut = true;
    if ((block.type !== "text" && block.type !== "reasoning") || block.text === "") continue;
    const last = segments.at(-1);
    const { type, text } = block;
    if (!isCut && last?.type === type) segments[segments.length - 1] = { type, text: last.text + text };
    else segments.push({ type, text });
    isCut = false;
  }
  return segments;
}

/** Whether the sent part is the beginning of an answer. A closed part must be whole. */
export function beginsWith(
  said: readonly AnswerSegment[],
  sent: readonly AnswerSegment[],
  isOpen: boolean,
): boolean {
  return sent.every(({ type, text }, place) => {
    const whole = said[place];
    if (whole?.type !== type) return false;
    const isLast = isOpen && place === sent.length - 1;
    return isLast ? whole.text.startsWith(text) : whole.text === text;
  });
}
