/**
 * The requests of a message, by a few fixed phrases. `remember K is V`, `read F`, `decide X because Y` and so
 * on are wishes: a tool and its arguments. Pieces joined by "and then", ";" or a new line run one after the
 * other; those joined by "and" run together. Quotes stay intact.
 */
import { isHead, questions, wishesIn, type PhraseFacts, type Wish } from "./phrase.ts";
import { maskQuotes, type MaskedText } from "./quote.ts";

/** The kind of one piece of a message. */
export type Clause =
  | { readonly is: "wish"; readonly said: string; readonly wishes: readonly Wish[] }
  | { readonly is: "question" | "greeting" | "help" | "other"; readonly said: string };

/** Longer lines are not instructions: they are skipped. */
const lineCharsMax = 1_000;
const linesMax = 100;

/** Groups run one after the other; the clauses of a group belong together. */
export function readMessage(message: string, circumstances: PhraseFacts): Clause[][] {
  const masked = maskQuotes(message);
  const read = (piece: string): Clause => clauseOf(strip(piece), masked, circumstances);
  const isOne = (piece: string): boolean => read(piece).is !== "other";
  const splitBefore = (text: string, separator: RegExp): string[] => {
    const found = [...text.matchAll(separator)].find(
      ({ 0: between, index }) =>
        isHead(text.slice(index + between.length), circumstances) && isOne(text.slice(0, index)),
    );
    if (found === undefined) return [text];
    const after = text.slice(found.index + found[0].length);
    return [text.slice(0, found.index), ...splitBefore(after, separator)];
  };
  return masked.text
    .split(/\n+|;\s+|;$|[,.]?\s+and then\s+|,\s+then\s+/i)
    .slice(0, linesMax)
    .filter((line) => /[\p{L}\p{N}$]/u.test(line))
    .flatMap((line) => (line.length > lineCharsMax ? [line] : splitBefore(line, /(?<=[.!?])\s+/g)))
    .map((line) =>
      line.length > lineCharsMax
        ? [{ is: "other", said: masked.exact(line) } as const]
        : splitBefore(line, /,?\s+and\s+|,\s+/gi).map(read),
    );
}

const politeness =
  /^(?:please|now|also|first|next|finally|okay|ok|so|then|and|(?:can|could|would) you(?: please)?)[,:]?\s+/i;

/** Without list marks, politeness, and the full stop. */
function strip(piece: string): string {
  let text = piece.trim().replace(/^(?:[-*•]|\d{1,2}[.)])\s+/, "");
  while (politeness.test(text)) text = text.replace(politeness, "");
  return text.replace(/(?<=[\w\uE001)%])[.!]+$/, "").replace(/,?\s+please$/i, "");
}

function clauseOf(text: string, masked: MaskedText, circumstances: PhraseFacts): Clause {
  const said = masked.exact(text);
  if (/^(?:hi|hello|hey|good (?:morning|day|evening)|thanks|thank you)\b[\s\w,]{0,30}$/i.test(text)) {
    return { is: "greeting", said };
  }
  if (/^(?:help|what can you do|who are you|what are you|what tools\b.*|which tools\b.*)\??$/i.test(text)) {
    return { is: "help", said };
  }
  const wishes = wishesIn(text, masked, circumstances);
  if (wishes !== null) return { is: "wish", said, wishes };
  return { is: questions.test(text) ? "question" : "other", said };
}
