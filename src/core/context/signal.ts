/**
 * Signals that a context no longer works well, besides its size: from what it holds, by rule, over its latest
 * messages only. Pure.
 */
import type { ContextPart, MessagePart } from "./part.ts";

/** What can be wrong with a context besides its size. */
export type ZoneSignal = "repeated-failure" | "reread" | "contradiction" | "drift";

/** Messages and calls that are looked at, the latest ones. */
const messagesMax = 200;
const callsMax = 30;
/** The same call, with the same arguments, fails or reads the same again. */
const timesMin = 3;
/** Inputs in a row that share no word with anything before. */
const strangeInputs = 3;
/** Shorter inputs ("go on") say nothing about their subject. */
const inputWordsMin = 4;
const textCharsMax = 4_000;

interface SeenCall {
  readonly tool: string;
  /** Tool and arguments. */
  readonly key: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly status: string;
  readonly text: string;
}

/** The signals in a context, before its next request. `isRead`: whether a tool only reads. */
export function readSignals(parts: readonly ContextPart[], isRead: (tool: string) => boolean): ZoneSignal[] {
  const messages = parts.flatMap((part) => (part.part === "message" ? [part] : [])).slice(-messagesMax);
  const calls = callsIn(messages);
  return [
    ...(hasRepeatedFailure(calls) ? (["repeated-failure"] as const) : []),
    ...(hasReread(calls, isRead) ? (["reread"] as const) : []),
    ...(hasContradiction(calls) ? (["contradiction"] as const) : []),
    ...(hasDrifted(parts, messages) ? (["drift"] as const) : []),
  ];
}

function callsIn(messages: readonly MessagePart[]): SeenCall[] {
  const results = new Map<string, { readonly status: string; readonly text: string }>();
  for (const { role, content } of messages) {
    if (role !== "tool") continue;
    for (const { call, status, text } of content) results.set(call, { status, text });
  }
  const made = messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.filter((block) => block.type === "tool-call") : [],
  );
  return made.slice(-callsMax).flatMap(({ call, tool, input }) => {
    const result = results.get(call);
    if (result === undefined) return [];
    return [{ tool, key: `${tool} ${JSON.stringify(input)}`, input, ...result }];
  });
}

/** The last calls with the same arguments all failed. */
function hasRepeatedFailure(calls: readonly SeenCall[]): boolean {
  const failures = new Map<string, number>();
  for (const { key, status } of calls)
    failures.set(key, status === "error" ? (failures.get(key) ?? 0) + 1 : 0);
  return [...failures.values()].some((times) => times >= timesMin);
}

/** The same was read again and again, and it had not changed. */
function hasReread(calls: readonly SeenCall[], isRead: (tool: string) => boolean): boolean {
  const reads = new Map<string, { readonly text: string; readonly times: number }>();
  for (const { tool, key, status, text } of calls) {
    if (status !== "ok" || !isRead(tool)) continue;
    const last = reads.get(key);
    reads.set(key, { text, times: last?.text === text ? last.times + 1 : 1 });
  }
  return [...reads.values()].some(({ times }) => times >= timesMin);
}

/** The model records a decision under a key for which it recorded another value before. */
function hasContradiction(calls: readonly SeenCall[]): boolean {
  const decided = new Map<string, string>();
  for (const { tool, input, status } of calls) {
    const { kind, key, value } = input;
    if (tool !== "record" || status !== "ok" || kind !== "decision" || typeof key !== "string") continue;
    const said = JSON.stringify(value);
    if ((decided.get(key) ?? said) !== said) return true;
    decided.set(key, said);
  }
  return false;
}

/** The last inputs share no word with anything said before, nor with the instructions. */
function hasDrifted(parts: readonly ContextPart[], messages: readonly MessagePart[]): boolean {
  const places = messages.flatMap((message, place) =>
    message.role === "user" && wordsOf(saidIn(message)).size >= inputWordsMin ? [place] : [],
  );
  const last = places.slice(-strangeInputs);
  const [first = 0] = last;
  if (last.length < strangeInputs || places.length < strangeInputs * 2) return false;
  const before = parts.flatMap((part) => (part.part === "system" ? [part.text.slice(0, textCharsMax)] : []));
  const known = wordsOf([...before, ...messages.slice(0, first).map(saidIn)].join("\n"));
  return last.every((place) => {
    const message = messages[place];
    return message !== undefined && [...wordsOf(saidIn(message))].every((word) => !known.has(word));
  });
}

/** Without notes of Skein, which stand in brackets. */
const saidIn = ({ content }: MessagePart): string =>
  content
    .flatMap((block) => (block.type === "text" && !block.text.startsWith("[") ? [block.text] : []))
    .join("\n")
    .slice(0, textCharsMax);

const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= 4));
