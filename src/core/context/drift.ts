/**
 * Drift: the latest exchanges are about something else than the objective and everything said before. By
 * rule: the share of the words of an input and its answer that were said before, compared with the exchanges
 * before. Without stop words, in stems. Pure.
 */
import { wordsOf } from "../memory/words.ts";
import type { ContextPart, MessagePart } from "./part.ts";

/** Exchanges in a row that share little with what came before the first of them. */
export const strangeCount = 3;
/** Shorter inputs ("go on") say nothing about their subject, and belong to the exchange before. */
const inputWordsMin = 2;
/** The most of the words of an exchange that was said before: of each, and on average. */
const oneShareMax = 0.12;
const allShareMax = 0.06;
/**
 * What shows that the session has a subject to leave: exchanges before share this much, or have this many
 * words. Inputs alone, with hardly an answer, share few words in ordinary sessions too.
 */
const usualShareMin = 0.15;
const usualWordsMin = 7;
/** Shorter words of an alphabet are mostly particles. */
const lettersMin = 4;
const textCharsMax = 2_000;
/** Of the latest messages. */
const messagesMax = 80;

type Words = ReadonlySet<string>;

/** Whether the last exchanges look like another task. The last one must be answered. */
export function hasDrifted(parts: readonly ContextPart[]): boolean {
  const exchanges = exchangesOf(parts);
  const place = exchanges.length - strangeCount;
  // What a session began with is its subject.
  if (place < 2) return false;
  const stock = stockWords(exchanges);
  const known = new Set(parts.flatMap((part) => (part.part === "system" ? objectiveWords(part.text) : [])));
  const shares: number[] = [];
  for (const [number, { words }] of exchanges.entries()) {
    const own = [...words].filter((word) => !stock.has(word));
    shares.push(own.length === 0 ? 1 : own.filter((word) => known.has(word)).length / own.length);
    if (number < place) for (const word of own) known.add(word);
  }
  const last = shares.slice(place);
  if (last.some((share) => share > oneShareMax) || mean(last) > allShareMax) return false;
  const before = exchanges.slice(0, place).map(({ words }) => words.size);
  return mean(before) >= usualWordsMin || mean(shares.slice(0, place)) >= usualShareMin;
}

interface Exchange {
  readonly asked: Words;
  /** Of the input, the answers and the arguments of calls. */
  readonly words: Set<string>;
}

function exchangesOf(parts: readonly ContextPart[]): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const part of parts.slice(-messagesMax)) {
    if (part.part !== "message" || part.role === "tool") continue;
    const words = new Set(subjectsIn(part));
    const last = exchanges.at(-1);
    if (part.role === "user" && (last === undefined || words.size >= inputWordsMin))
      exchanges.push({ asked: new Set(words), words });
    else for (const word of words) last?.words.add(word);
  }
  return exchanges;
}

/** Words of most answers that no input has: phrases of the model. */
function stockWords(exchanges: readonly Exchange[]): Words {
  const counts = new Map<string, number>();
  const asked = new Set(exchanges.flatMap((exchange) => [...exchange.asked]));
  for (const { words } of exchanges) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const most = exchanges.length * 0.6;
  return new Set([...counts].flatMap(([word, count]) => (count > most && !asked.has(word) ? [word] : [])));
}

const objectiveLine = /^Objective of this session:/;
const objectiveWords = (text: string): string[] =>
  objectiveLine.test(text) ? subjectsOf(text.replace(objectiveLine, "").slice(0, textCharsMax)) : [];

/** What was said and what tools were called with; without notes of Skein, which stand in brackets. */
const saidIn = ({ content }: MessagePart): string =>
  content
    .flatMap((block) => {
      if (block.type === "text") return block.text.startsWith("[") ? [] : [block.text.slice(0, textCharsMax)];
      return block.type === "tool-call" ? [JSON.stringify(block.input).slice(0, textCharsMax)] : [];
    })
    .join("\n");

/** Pure cache: the messages of a context stay the same objects from turn to turn. */
const subjects = new WeakMap<MessagePart, readonly string[]>();

function subjectsIn(message: MessagePart): readonly string[] {
  const known = subjects.get(message);
  if (known !== undefined) return known;
  const found = subjectsOf(saidIn(message));
  subjects.set(message, found);
  return found;
}

const subjectsOf = (text: string): string[] =>
  wordsOf(text).filter((word) => word.length >= lettersMin || !latin.test(word));
const latin = /^[\p{Script=Latin}\p{N}]+$/u;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
