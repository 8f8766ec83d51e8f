/** The progress on the last message: the request, the calls so far, and the next step. */
import type { MessagePart, ContextPart, ToolDefinition } from "../../core/context/part.ts";
import { boundaryLine, doneIn, itemsIn, keyOf, messagesOf, textOf, type DoneStep } from "./known.ts";
import type { Wish } from "./phrase.ts";
import { answerTo } from "./reply.ts";
import { readMessage, type Clause } from "./wish.ts";

/** The heading of unfinished requests in a summary; the work continues from there. */
export const pendingHeading = "Still to do:";
export const summaryHeading = "Summary by the offline model, of lines taken from the transcript.";

export interface OfflinePlan {
  readonly clauses: readonly Clause[];
  /** Calls to make group by group, with the text for each. */
  readonly groups: readonly { readonly wishes: readonly Wish[]; readonly said: readonly string[] }[];
  /** The groups requested since the message. */
  readonly begun: number;
  readonly done: readonly DoneStep[];
  /** The last group had a failed call: the rest is skipped. */
  readonly isStopped: boolean;
  /** Tools that are needed and not offered. */
  readonly missing: readonly string[];
}

/** Null if there is nothing to do: no message, or it was answered. */
export function planOf(parts: readonly ContextPart[], nowMs: number | null): OfflinePlan | null {
  const place = parts.findLastIndex(
    (part) => isMessage(part) && part.role === "user" && requestIn(part) !== "",
  );
  const message = parts[place];
  if (message === undefined || !isMessage(message)) return null;
  const after = messagesOf(parts.slice(place + 1));
  const answers = after.filter(({ role }) => role === "assistant");
  const calling = answers.filter(({ content }) => content.some(({ type }) => type === "tool-call"));
  if (calling.length < answers.length) return null;
  // Only what was known when the message arrived: the plan must be the same at every step.
  const before = parts.slice(0, place + 1);
  const tools = toolsOf(before).length === 0 ? toolsOf(parts) : toolsOf(before);
  const offered = tools.map(({ name }) => name);
  const read = readMessage(requestIn(message), { items: itemsIn(before), offered, nowMs });
  const asked = read.map((clauses) => ({
    wishes: clauses.flatMap((clause) => wishesOf(clause, before, tools)),
    said: clauses.map(({ said }) => said),
  }));
  const fitted = asked.map(({ wishes, said }) => ({
    wishes: wishes.flatMap((wish) => fit(wish, tools)),
    said,
  }));
  const done = doneIn(after);
  const lastCount = calling.at(-1)?.content.filter(({ type }) => type === "tool-call").length ?? 0;
  const wanted = asked.flatMap(({ wishes }) => wishes.map(({ tool }) => tool));
  return {
    clauses: read.flat(),
    groups: fitted.filter(({ wishes }) => wishes.length > 0),
    begun: calling.length,
    done,
    isStopped: lastCount > 0 && done.slice(-lastCount).some(({ status }) => status !== "ok"),
    missing: [...new Set(wanted.filter((tool) => toolFor(tool, tools) === undefined))],
  };
}

const isMessage = (part: ContextPart): part is MessagePart => part.part === "message";

/** The request of a person in a message: without notes, and of a summary only the unfinished part. */
function requestIn(message: MessagePart): string {
  const text = textOf(message);
  if (text.startsWith(boundaryLine)) {
    const [, rest = ""] = text.split(`\n${pendingHeading}\n`);
    const end = rest.search(/\n(?!- )/);
    return (end === -1 ? rest : rest.slice(0, end)).replace(/^- /gm, "").trim();
  }
  const said = message.content.flatMap((block) =>
    block.type === "text" && !isNote(block.text) ? [block.text] : [],
  );
  return said
    .join("\n")
    .replace(/^\[[^\n]*\]$|^\(Go on\.\)$/gm, "")
    .trim();
}

/** Notes of the context, not of people: in brackets, from a merge, or items in a message of their own. */
const isNote = (text: string): boolean =>
  /^\[[\s\S]*\]$|^\[merged from session |^\[Pinned: |^What is recorded:\n/.test(text);

/** Whether a summary without its unfinished part replaced a message in progress. */
export function isLost(parts: readonly ContextPart[]): boolean {
  const texts = messagesOf(parts).flatMap((one) => (one.role === "user" ? [textOf(one)] : []));
  const text =
    texts.findLast((one) => one !== "(Go on.)" && (one.startsWith(boundaryLine) || !isNote(one))) ?? "";
  const isUnanswered = text.includes("\nInput that is not answered yet");
  return text.startsWith(boundaryLine) && isUnanswered && !text.includes(`\n${pendingHeading}`);
}

/** The tools offered last. */
export const toolsOf = (parts: readonly ContextPart[]): readonly ToolDefinition[] =>
  parts.findLast((part) => part.part === "tools")?.tools ?? [];

/** A question becomes a recall if the context was compacted and no longer has the answer. */
function wishesOf(
  clause: Clause,
  before: readonly ContextPart[],
  tools: readonly ToolDefinition[],
): readonly Wish[] {
  if (clause.is === "wish") return clause.wishes;
  const isCompacted = messagesOf(before).some((message) => textOf(message).startsWith(boundaryLine));
  if (clause.is !== "question" || !isCompacted || toolFor("recall", tools) === undefined) return [];
  if (answerTo(clause.said, before) !== null) return [];
  const listed = listedItem(clause.said, before);
  if (listed !== undefined) return [{ tool: "recall", input: listed }];
  const words = clause.said.match(/[\p{L}\p{N}][\p{L}\p{N}._-]{2,}/gu) ?? [];
  const text = words.filter(
    (word) => !/^(?:what|which|who|where|when|why|how|the|our|are|was|did)$/i.test(word),
  );
  return text.length === 0 ? [] : [{ tool: "recall", input: { text: text.join(" ") } }];
}

/** An item that a compaction lists by key only, because there are too many to show. */
function listedItem(
  question: string,
  before: readonly ContextPart[],
): { kind: string; key: string } | undefined {
  const asked = keyOf(question.replace(/^what(?:'s| is| are)?\s+|[?\s]+$/gi, ""));
  for (const message of messagesOf(before).toReversed()) {
    if (message.role !== "user") continue;
    for (const [, kind = "", keys = ""] of textOf(message).matchAll(/^- \d+ of kind (\w+): (.*)$/gm)) {
      const names = keys.split(", ").map((name) => name.replace(/ \((?:open|done|dropped)\)$/, ""));
      const key = names.find((name) => keyOf(name) === asked);
      if (key !== undefined) return { kind, key };
    }
  }
  return undefined;
}

/** By its own name, or with an MCP binding's name in front. */
const toolFor = (name: string, tools: readonly ToolDefinition[]): ToolDefinition | undefined =>
  tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name.endsWith(`_${name}`));

const otherNames: ReadonlyMap<string, readonly string[]> = new Map([
  ["path", ["file", "file_path", "filename"]],
  ["text", ["content", "contents", "message", "query"]],
  ["command", ["cmd", "script"]],
  ["sql", ["query", "statement"]],
  ["pattern", ["glob", "regex", "query"]],
]);

/** With the argument names of the offered tool. Undefined if it is not offered. */
function fit({ tool, input }: Wish, tools: readonly ToolDefinition[]): Wish[] {
  const definition = toolFor(tool, tools);
  if (definition === undefined) return [];
  const { properties } = definition.input;
  const known = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const named = (name: string): string =>
    known.includes(name) ? name : (otherNames.get(name)?.find((other) => known.includes(other)) ?? name);
  const fields = Object.entries(input).map(([name, value]) => [named(name), value] as const);
  return [{ tool: definition.name, input: Object.fromEntries(fields) }];
}
