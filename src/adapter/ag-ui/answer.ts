/** What an answer, a call and an input look like to a client. Pure; streams and snapshots agree on it. */
import type { EventOf } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { segmentsOf, type AnswerSegment } from "../answer-segment.ts";

/** An event of the protocol. Fields without a value are left out. */
export type RunEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export const erasedText = "[erased]";

/** The texts of an answer. */
export const saidIn = ({ content, erased }: EventOf<"model.responded">): readonly AnswerSegment[] =>
  erased ? [{ type: "text", text: erasedText }] : segmentsOf(content?.blocks ?? []);

/** What stays of an answer that failed: the text before an interrupt. All else is generated again. */
export function keptSegments({ body, content, erased }: EventOf<"model.failed">): readonly AnswerSegment[] {
  if (body.error !== "interrupted" || (body.partialChars ?? 0) === 0) return [];
  const text = erased ? erasedText : (content?.partial ?? "");
  return text === "" ? [] : [{ type: "text", text }];
}

/** The arguments of a call as JSON text. */
export const argumentsOf = ({ content, erased }: EventOf<"tool.requested">): string =>
  JSON.stringify(erased ? erasedText : (content?.input ?? {}));

/** The result of a call as text, and whether it is an error. */
export function resultOf({ body, content, erased }: EventOf<"tool.settled">): {
  readonly content: string;
  readonly error?: string;
} {
  const output: unknown = erased ? erasedText : (content?.output ?? "");
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const images = (content?.blocks ?? []).flatMap((block) => nameOf(block));
  const whole = [text, ...images].filter((part) => part !== "").join("\n");
  if (body.status === "ok") return { content: whole };
  const why = { error: "failed", unknown: "the outcome is unknown", skipped: "not executed" }[body.status];
  return { content: whole === "" ? why : whole, error: why };
}

/** The text of an input. Images and files are named. */
export function inputText({
  content,
  erased,
}: EventOf<"input.received"> | EventOf<"message.received">): string {
  if (erased) return erasedText;
  return (content?.blocks ?? []).flatMap((block) => nameOf(block)).join("\n");
}

function nameOf(block: ContentBlock): readonly string[] {
  if (block.type === "text") return [block.text];
  if (block.type !== "image" && block.type !== "file") return [];
  return [`[${block.type}: ${block.mediaType}]`];
}
