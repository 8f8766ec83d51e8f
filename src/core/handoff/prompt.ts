/** What a model is asked for when it puts a handoff into prose, and what is taken from its answer. */
import type { CountTokens } from "../context/token-count.ts";
import { cutTo } from "./text.ts";

/** Whoever sees it at the beginning of a message knows what is asked for. */
export const handoffPromptLine = "Write what the next session must know of where this one stands.";

const wordsMax = 250;
/** Of what a handoff may hold, prose gets at most this; the lists are what must be there. */
const proseShare = 0.25;

/** Begins with `handoffPromptLine`, and ends with the handoff as it is without a model. */
export const handoffPrompt = (handoff: string): string =>
  [
    handoffPromptLine,
    "Whoever carries on the work begins with the document below and sees nothing else of this session. " +
      "Its lists stay as they are; what you write now stands in front of them. Call no tool, and do not go " +
      "on with the work.",
    `Write plain text of at most ${wordsMax} words, without headings and lists: first where the work ` +
      "stands, then what to do next, in which order, and what to beware of. Behind each statement put the " +
      "pointer of the line that it rests on, in brackets, as it stands there. Say nothing that is neither " +
      "above nor in the document.",
    handoff,
  ].join("\n\n");

/** The prose of an answer, as much of it as there is room for; pointers that lead nowhere are taken out. */
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
