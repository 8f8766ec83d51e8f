/**
 * Where the items that a compaction extracts were said, and whether a person said them. By rule: the message
 * that has the most of the words of their values. Pure, over a bounded amount of text.
 */
import { wordsOf } from "../memory/words.ts";
import type { MessagePart } from "../context/part.ts";
import type { FoundItem } from "./prompt.ts";

export interface PlacedMessage {
  readonly message: MessagePart;
  readonly fromSeq: number;
}

/** An item that was extracted: where it was said, and whether it may come from a tool or another session. */
export interface ExtractedItem extends FoundItem {
  readonly extracted: { readonly saidAt?: number; readonly untrusted?: true };
}

/** Of the whole range, the latest. */
const rangeCharsMax = 400_000;
/** The share of its words that a message must have for it to be said there. */
const saidShareMin = 0.6;

interface SaidText {
  readonly words: ReadonlySet<string>;
  readonly seq: number;
  readonly isTrusted: boolean;
}

export function placeItems(
  items: readonly FoundItem[],
  range: readonly PlacedMessage[],
): readonly ExtractedItem[] {
  if (items.length === 0) return [];
  const said = saidIn(range);
  return items.map((item) => {
    const place = placeOf(item, said);
    // A text that is not found was combined or made up; its source is unknown.
    if (place === null) return { ...item, extracted: { untrusted: true } };
    const { seq: saidAt, isTrusted } = place;
    return { ...item, extracted: isTrusted ? { saidAt } : { saidAt, untrusted: true } };
  });
}

/** The first of those with the most of its words; one that a person wrote, if that has all of them. */
function placeOf({ key, value }: FoundItem, said: readonly SaidText[]): SaidText | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const own = new Set(wordsOf(text));
  const words = own.size === 0 ? new Set(wordsOf(key)) : own;
  let best: SaidText | null = null;
  let bestShare = 0;
  for (const one of said) {
    const share = words.size === 0 ? 0 : [...words].filter((word) => one.words.has(word)).length / words.size;
    const isWhole = share === 1 && one.isTrusted && best?.isTrusted === false;
    if (share < saidShareMin || (share <= bestShare && !isWhole)) continue;
    [best, bestShare] = [one, share];
  }
  return best;
}

function saidIn(range: readonly PlacedMessage[]): SaidText[] {
  const found: SaidText[] = [];
  let isTrusted = false;
  let left = rangeCharsMax;
  const texts = range.map(({ message }) => textsOf(message));
  const from = texts.findLastIndex(({ typed, other }) => (left -= typed.length + other.length) < 0) + 1;
  for (const [place, { message, fromSeq: seq }] of range.entries()) {
    const { typed, other } = texts[place] ?? { typed: "", other: "" };
    // An answer is as trustworthy as what came in since a person wrote.
    if (message.role === "user") isTrusted = typed !== "" && other === "";
    if (message.role === "tool" && message.content.some(({ tool }) => !ownTools.has(tool))) isTrusted = false;
    if (place < from) continue;
    if (typed !== "") found.push({ words: new Set(wordsOf(typed)), seq, isTrusted: true });
    if (other !== "") {
      const ofAnswer = message.role === "assistant" && isTrusted;
      found.push({ words: new Set(wordsOf(other)), seq, isTrusted: ofAnswer });
    }
  }
  return found;
}

/** Tools of the session itself whose results say nothing from outside. */
const ownTools: ReadonlySet<string> = new Set(["record", "retract", "remember", "scratch"]);

/** Before inputs of triggers, programs and other sessions. */
const foreignNote = /^\[(?:from the|from a|a message from)/;
/** What Skein puts before inputs: notes, what it brings in, documents, memory. */
const ownBlock = /^(?:\[|Document |Known from earlier sessions:)/;

/** What a person typed, and the rest. */
function textsOf({ role, content }: MessagePart): { readonly typed: string; readonly other: string } {
  const texts = content.flatMap((block) => ("text" in block ? [block.text] : []));
  const isForeign = role !== "user" || texts.some((text) => foreignNote.test(text));
  const isTyped = (text: string): boolean => !isForeign && !ownBlock.test(text);
  return {
    typed: texts.filter(isTyped).join("\n"),
    other: texts.filter((text) => !isTyped(text)).join("\n"),
  };
}
