/** The offline model's prose for a handoff: its lists in a few sentences with their pointers. */
import { handoffPromptLine } from "../../core/handoff/prompt.ts";
import type { ContextPart } from "../../core/context/part.ts";
import { messagesOf, textOf } from "./known.ts";

export function isProseRequest(parts: readonly ContextPart[]): boolean {
  const last = messagesOf(parts).at(-1);
  return last?.role === "user" && textOf(last).startsWith(handoffPromptLine);
}

/** Of a context whose last message is the request for it. */
export function proseOf(parts: readonly ContextPart[]): string {
  const prompt = messagesOf(parts).at(-1);
  const asked = prompt === undefined ? "" : textOf(prompt);
  const list = (heading: string): readonly (readonly [pointer: string, said: string])[] => {
    const [, rest = ""] = asked.split(`\n## ${heading}\n`);
    const lines = (rest.split("\n## ")[0] ?? "").matchAll(/^- (\[\S+\]) (.+)$/gm);
    return [...lines].map(([, pointer = "", said = ""]) => [pointer, said] as const);
  };
  const sentence = ([pointer, said]: readonly [string, string]): string =>
    `${said
      .slice(0, 160)
      .toWellFormed()
      .replace(/[.\s]+$/, "")} ${pointer}.`;
  const [standing] = list("Where it stands");
  const decisions = list("Decisions").length;
  const tasks = list("Open tasks").length;
  const next = list("What to do next").slice(0, 3);
  return [
    ...list("Objective")
      .slice(0, 1)
      .map((one) => `The objective: ${sentence(one)}`),
    ...(standing === undefined ? [] : [sentence(standing)]),
    `${decisions} decided, ${tasks} still to do.`,
    ...(next.length === 0 ? ["Nothing is left open."] : [`Next: ${next.map(sentence).join(" Then: ")}`]),
  ].join(" ");
}
