/**
 * Signals that a context no longer works well, besides its size: from what it holds, by rule, over its latest
 * messages only. Pure.
 */
import { wordsOf } from "../memory/words.ts";
import type { ContextPart, MessagePart } from "./part.ts";

/** What can be wrong with a context besides its size. */
export type ZoneSignal = "repeated-failure" | "reread" | "contradiction" | "drift" | "latency";

/** Messages and calls that are looked at, the latest ones. */
const messagesMax = 200;
const callsMax = 30;
/** The same call, with the same arguments, fails or reads the same again. */
const timesMin = 3;
const textCharsMax = 4_000;

interface SeenCall {
  readonly tool: string;
  /** Tool and arguments. */
  readonly key: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly status: string;
  readonly text: string;
  /** The input before it. */
  readonly asked: string;
}

/** The signals of the calls in a context, before its next request. `isRead`: whether a tool only reads. */
export function readSignals(parts: readonly ContextPart[], isRead: (tool: string) => boolean): ZoneSignal[] {
  const messages = parts.flatMap((part) => (part.part === "message" ? [part] : [])).slice(-messagesMax);
  const calls = callsIn(messages);
  return [
    ...(hasRepeatedFailure(calls) ? (["repeated-failure"] as const) : []),
    ...(hasReread(calls, isRead) ? (["reread"] as const) : []),
    ...(hasContradiction(calls) ? (["contradiction"] as const) : []),
  ];
}

function callsIn(messages: readonly MessagePart[]): SeenCall[] {
  const results = new Map<string, { readonly status: string; readonly text: string }>();
  for (const { role, content } of messages) {
    if (role !== "tool") continue;
    for (const { call, status, text } of content) results.set(call, { status, text });
  }
  let asked = "";
  const made = messages.flatMap((message) => {
    if (message.role === "user") asked = saidIn(message) || asked;
    if (message.role !== "assistant") return [];
    return message.content.flatMap((block) => (block.type === "tool-call" ? [{ ...block, asked }] : []));
  });
  return made.slice(-callsMax).flatMap(({ call, tool, input, asked: before }) => {
    const result = results.get(call);
    if (result === undefined) return [];
    return [{ tool, key: `${tool} ${JSON.stringify(input)}`, input, asked: before, ...result }];
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

/** Kinds that what is recorded later should not contradict. */
const settled: readonly unknown[] = ["decision", "constraint"];

/** How a result of `record` begins what the item was before; the tool's text, see session-actions.ts. */
export const beforeWords = "; before it was ";

/**
 * The model records a decision or a constraint with another value than it had. Not if a person asked for it:
 * their message right before has words of the new value.
 */
function hasContradiction(calls: readonly SeenCall[]): boolean {
  return calls.some(({ tool, input, status, text, asked }) => {
    const { kind, value } = input;
    if (tool !== "record" || status !== "ok" || !settled.includes(kind)) return false;
    const place = text.indexOf(beforeWords);
    if (place === -1) return false;
    const known = new Set(wordsOf(text.slice(place)));
    const words = wordsOf(JSON.stringify(value)).filter((word) => !known.has(word));
    const said = new Set(wordsOf(asked));
    return !words.some((word) => said.has(word));
  });
}

/** Without notes of Skein, which stand in brackets. */
const saidIn = ({ content }: MessagePart): string =>
  content
    .flatMap((block) => (block.type === "text" && !block.text.startsWith("[") ? [block.text] : []))
    .join("\n")
    .slice(0, textCharsMax);
