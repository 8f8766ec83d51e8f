/** The prompt for the prose of a handoff, and the parser of its answer. */
import type { CountTokens } from "../context/token-count.ts";
import { cutTo } from "./text.ts";

/** The first line identifies the request. */
export const handoffPromptLine = "Write what the next session must know of where this one stands.";

const wordsMax = 250;
/** The share of the handoff for prose; the lists come first. */
const proseShare = 0.25;

/** Begins with `handoffPromptLine`, and ends with the handoff written without a model. */
export const handoffPrompt = (handoff: string): string =>
  [
    handoffPromptLine,
    "The next session begins with the document below and sees nothing else of this one. " +
      "Its lists stay as they are; what you write now stands in front of them. Call no tool, and do not go " +
      "on with the work.",
    `Write plain text of at most ${wordsMax} words, without headings and lists: first where the work ` +
      "stands, then what to do next, in which order, and what to beware of. Behind each statement put the " +
      "pointer of the line that it rests on, in brackets, as it stands there. Say nothing that is neither " +
      "above nor in the document.",
    handoff,
  ].join("\n\n");

/** The prose of an answer, as much as there is room for; dangling pointers are removed. */
export function readProse(
  answer: string,
  handoff: string,
  { tokensMax, count }: { readonly tokensMax: number; readonly count: CountTokens },
): string {
  const known = answer.replaceAll(/ ?\[[0-9a-z_]{4,30}@\d+\]/g, (pointer) =>
    handoff.includes(pointer.trim()) ? pointer : "",
  );
  const lines = known.trim().split(/\n+/);
  const room = Math.floor(tokensMax * proseShare);
  for (let most = 4_000; most > 0; most = Math.floor(most * 0.8)) {
    const text = shortened(lines.join("\n\n"), most);
    if (count(text) <= room) return text;
  }
  return "";
}

const shortened = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${cutTo(text, charsMax).toWellFormed().trimEnd()}…`;
