/** The offline model's summaries: what was asked, what was done, what is left, each in a line. */
import type { MessagePart, Part } from "../../core/part.ts";
import { doneIn, messagesOf, textOf } from "./known.ts";
import { pendingHeading, planOf } from "./plan.ts";
import { outcomeText } from "./reply.ts";

/** How the request for a summary begins, in a system part or in the last message. */
const opening = /^\s*(?:summari[sz]e|compact|compress)\b/i;

const lineCharsMax = 200;
/** Of requests and of deeds, each. */
const linesMax = 20;

export function isSummaryRequest(parts: readonly Part[]): boolean {
  const last = messagesOf(parts).at(-1);
  return (
    parts.some((part) => part.part === "system" && opening.test(part.text)) ||
    (last?.role === "user" && isPrompt(last))
  );
}

/** A person may well say "summarize": a prompt names what it is about. */
const isPrompt = (message: MessagePart): boolean =>
  /^\s*(?:summari[sz]e|compact|compress) (?:the|this) (?:transcript|session|context)\b/i.test(
    textOf(message),
  );

export function summaryOf(parts: readonly Part[]): string {
  const last = messagesOf(parts).at(-1);
  const isOwnPrompt = last?.role === "user" && opening.test(textOf(last));
  const told = isOwnPrompt ? parts.filter((part) => part !== last) : parts;
  const messages = messagesOf(told);
  const asked = messages.filter(({ role }) => role === "user").flatMap((message) => lines(textOf(message)));
  const done = doneIn(messages).map((one) => lines(outcomeText(one)).join(" "));
  const said = messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
  const plan = planOf(told, null);
  const left = plan === null ? [] : plan.groups.slice(plan.begun).flatMap((group) => group.said);
  return [
    "Summary by the offline model, of lines taken from the transcript.",
    ...section("Asked:", asked.slice(-linesMax)),
    ...section("Done:", done.slice(-linesMax)),
    ...section("Last answer:", said === undefined ? [] : lines(textOf(said)).slice(0, 3)),
    ...section(pendingHeading, left),
  ].join("\n");
}

const section = (heading: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : ["", heading, ...found.map((line) => `- ${short(line)}`)];

const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/^- /, "").trim())
    .filter((line) => line !== "" && line !== "(Go on.)");

const short = (line: string): string =>
  line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax).toWellFormed()}…`;
