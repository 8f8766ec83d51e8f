/** The offline model's summaries: what was asked, what was done, what is left, each in a line. */
import type { Part } from "../../core/part.ts";
import { doneIn, messagesOf, textOf } from "./known.ts";
import { pendingHeading, planOf } from "./plan.ts";
import { outcomeText } from "./reply.ts";

/**
 * How the request for a summary begins, in a system part or in the last message. It names what is to be
 * summarized, since a person or an agent's instructions may well begin with "Summarize the file".
 */
const opening = /^\s*(?:summari[sz]e|compact|compress|write a summary)\b/i;
const subject = /^[^\n]{0,60}\b(?:the|this) (?:transcript|session|context)\b/i;
const isPrompt = (text: string): boolean => opening.test(text) && subject.test(text);

const lineCharsMax = 200;
/** Of requests and of deeds, each. */
const linesMax = 20;

export function isSummaryRequest(parts: readonly Part[]): boolean {
  const last = messagesOf(parts).at(-1);
  const isAsked = last?.role === "user" && isPrompt(textOf(last));
  return isAsked || parts.some((part) => part.part === "system" && isPrompt(part.text));
}

export function summaryOf(parts: readonly Part[]): string {
  const last = messagesOf(parts).at(-1);
  const prompt = last?.role === "user" && opening.test(textOf(last)) ? last : undefined;
  const told = parts.filter((part) => part !== prompt);
  const messages = messagesOf(told);
  const people = messages.filter(({ role }) => role === "user").flatMap((message) => lines(textOf(message)));
  // What is to be summarized may stand in the request itself, below its first line.
  const asked = people.length > 0 || prompt === undefined ? people : lines(textOf(prompt)).slice(1);
  const done = doneIn(messages).map((one) => lines(outcomeText(one)).join(" "));
  const said = messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
  const plan = planOf(told, null);
  const left = plan === null ? [] : plan.groups.slice(plan.begun).flatMap((group) => group.said);
  return [
    "Summary by the offline model, of lines taken from the transcript.",
    ...section("Asked:", asked.slice(-linesMax)),
    ...section("Done:", done.slice(-linesMax)),
    ...section("Last answer:", said === undefined ? [] : lines(textOf(said)).slice(0, 3)),
    ...(left.length === 0 ? [] : ["", pendingHeading, ...left.map((one) => `- ${whole(one)}`)]),
  ].join("\n");
}

/** What is to be done must be carried on as it was said, or not at all. */
const whole = (said: string): string =>
  said.includes("\n") || said.length > 1_000
    ? `(say again what begins with: ${short(lines(said)[0] ?? "")})`
    : said;

const section = (heading: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : ["", heading, ...found.map((line) => `- ${short(line)}`)];

const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/^- /, "").trim())
    .filter((line) => line !== "" && line !== "(Go on.)");

const short = (line: string): string =>
  line.length <= lineCharsMax ? line : `${line.slice(0, lineCharsMax).toWellFormed()}…`;
