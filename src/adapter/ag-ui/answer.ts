/** What an answer, a call and an input look like to a client. Pure; streams and snapshots agree on it. */
import type { EventOf } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";

/** A run of text or reasoning in an answer. */
export interface RunSegment {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/** An event of the protocol. Fields without a value are left out. */
export type RunEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export const erasedText = "[erased]";

/** The segments of an answer in order; adjacent ones of a kind are one. */
export function segmentsOf({ content, erased }: EventOf<"model.responded">): readonly RunSegment[] {
  if (erased) return [{ type: "text", text: erasedText }];
  const segments: RunSegment[] = [];
  let isCut = true;
  for (const block of content?.blocks ?? []) {
    if (block.type === "tool-call") isCut = true;
    if ((block.type !== "text" && block.type !== "reasoning") || block.text === "") continue;
    const last = segments.at(-1);
    const { type, text } = block;
    if (!isCut && last?.type === type) segments[segments.length - 1] = { type, text: last.text + text };
    else segments.push({ type, text });
    isCut = false;
  }
  return segments;
}

/** What stays of an answer that failed: the text before an interrupt. All else is generated again. */
export function keptSegments({ body, content, erased }: EventOf<"model.failed">): readonly RunSegment[] {
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
