/**
 * The offline model's summaries: requests, results and unfinished work, in lines taken from the transcript.
 * For an extraction, it also lists unrecorded statements of people.
 */
import { compactionPromptLine } from "../../core/compaction/plan.ts";
import type { MessagePart, ContextPart } from "../../core/context/part.ts";
import { asText, boundaryLine, doneIn, itemsIn, keyOf, messagesOf, textOf } from "./known.ts";
import { pendingHeading, planOf, summaryHeading, toolsOf } from "./plan.ts";
import { outcomeText } from "./reply.ts";
import { readMessage } from "./wish.ts";

const lineCharsMax = 200;
const wordsMaxDefault = 500;

export function isSummaryRequest(parts: readonly ContextPart[]): boolean {
  const last = messagesOf(parts).at(-1);
  return last?.role === "user" && textOf(last).startsWith(compactionPromptLine);
}

/** Of a context whose last message is the request for it. */
export function summaryOf(parts: readonly ContextPart[]): string {
  const prompt = messagesOf(parts).at(-1);
  const rest = parts.filter((part) => part !== prompt);
  const asked = prompt === undefined ? "" : textOf(prompt);
  const words = Number(/at most (\d+) words/.exec(asked)?.[1] ?? wordsMaxDefault);
  const lengths = [20, 10, 5, 2, 1];
  const texts = lengths.map((linesMax) => summaryIn(rest, linesMax));
  const text = texts.find((one) => one.split(/\s+/).length <= words) ?? texts.at(-1) ?? "";
  return asked.includes("```json") ? `${text}\n\n${extractedFrom(rest)}` : text;
}

function summaryIn(parts: readonly ContextPart[], linesMax: number): string {
  const messages = messagesOf(parts);
  const people = messages.filter(({ role }) => role === "user");
  const asked = people.flatMap((message) =>
    isBoundary(message) ? carried(message, "Asked:") : lines(textOf(message)),
  );
  const before = people.filter(isBoundary).flatMap((message) => carried(message, "Done:"));
  const done = [...before, ...doneIn(messages).map((one) => lines(outcomeText(one)).join(" "))];
  const foreign = people.filter(
    (message) => isBoundary(message) && !textOf(message).includes(summaryHeading),
  );
  const earlier = foreign.flatMap((message) => lines(textOf(message)).slice(1));
  const said = messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
  const plan = planOf(parts, null);
  const left = plan === null ? [] : plan.groups.slice(plan.begun).flatMap((group) => group.said);
  // Unfinished work comes first: a truncated answer loses its end.
  return [
    summaryHeading,
    "",
    ...(left.length === 0 ? [`${pendingHeading} nothing.`] : [pendingHeading, ...left.map(whole)]),
    ...section("Before:", earlier.slice(0, linesMax)),
    ...section("Asked:", asked.slice(-linesMax)),
    ...section("Done:", done.slice(-linesMax)),
    ...section("Last answer:", said === undefined ? [] : lines(textOf(said)).slice(0, 3)),
  ].join("\n");
}

const isBoundary = (message: MessagePart): boolean => textOf(message).startsWith(boundaryLine);

/** The lines of a section of an earlier summary. */
function carried(message: MessagePart, heading: string): string[] {
  const [, rest = ""] = textOf(message).split(`\n${heading}\n`);
  const end = rest.search(/\n(?!- )/);
  return rest === "" ? [] : lines(end === -1 ? rest : rest.slice(0, end));
}

/** Unfinished work is carried verbatim, or not at all. */
const whole = (said: string): string =>
  said.includes("\n") || said.length > 1_000
    ? `- (say again what begins with: ${short(lines(said)[0] ?? "")})`
    : `- ${said}`;

const section = (heading: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : ["", heading, ...found.map((line) => `- ${short(line)}`)];

const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/^- /, "").trim())
    .filter((line) => line !== "" && line !== "(Go on.)");

const short = (line: string): string =>
  line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax).toWellFormed()}…`;

/** Up to four words, "is", and what it is. */
const statement =
  /^(?:the |our |my )?([\p{L}\p{N}][\p{L}\p{N}._-]*(?: [\p{L}\p{N}._-]+){0,3}?) (?:is|are|=) (.+)$/iu;

/** Explicit statements of people that are not recorded with this value, in the form the prompt asks for. */
function extractedFrom(parts: readonly ContextPart[]): string {
  const known = new Map(itemsIn(parts).map(({ kind, key, value }) => [`${kind} ${key}`, value]));
  const found = new Map<string, object>();
  // What it was asked to record is recorded, or still to do; unless there was no tool for it.
  const isOffered = toolsOf(parts).some(({ name }) => name === "record");
  for (const message of messagesOf(parts)) {
    if (message.role !== "user" || isBoundary(message)) continue;
    const sentences = textOf(message).replace(/(?<=[.!?])\s+(?=\p{Lu})/gu, "\n");
    for (const clause of readMessage(sentences, { items: [], offered: [], nowMs: null }).flat()) {
      const [, name = "", value] = clause.is === "other" ? (statement.exec(clause.said) ?? []) : [];
      const stated = value === undefined ? [] : [{ kind: "fact", key: keyOf(name), value }];
      const wished = clause.is === "wish" && !isOffered ? clause.wishes : [];
      const recorded = wished.flatMap(({ tool, input }) => (tool === "record" ? [input] : []));
      for (const item of [...stated, ...recorded]) {
        const { kind, key, value: stated } = item as Readonly<Record<string, unknown>>;
        const id = `${asText(kind)} ${asText(key)}`;
        if (known.get(id) !== asText(stated)) found.set(id, item);
      }
    }
  }
  return `\`\`\`json\n${JSON.stringify({ items: [...found.values()] })}\n\`\`\``;
}
