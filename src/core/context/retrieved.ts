/**
 * What was brought in for an input: parts of the log that the input is about and that the context did not
 * show. `context.retrieved` names them, with a digest of the text of each; a renderer reads their texts from
 * the log, and ranks nothing.
 */
import type { BodyOf } from "../catalog.ts";
import type { EventOf, SessionLogEvent } from "../event.ts";
import { itemText } from "./boundary.ts";
import { memoryLine } from "./plan-memory.ts";
import { present } from "../present.ts";
import { field, type BroughtReason } from "./source.ts";
import { gap, nested } from "./text.ts";

/** One part: an item, a section of a document, something said in an earlier turn, an entry of memory. */
export type RetrievedEntry = BodyOf<"context.retrieved">["entries"][number];

/**
 * Null if it is shown elsewhere: memory that comes with it stands in the `memory.carried` right before it.
 */
export function retrievedText(
  { body: { entries }, seq }: EventOf<"context.retrieved">,
  events: ReadonlyMap<number, SessionLogEvent>,
): string | null {
  const texts = entries
    .filter((one) => one.kind !== "memory" || one.seq !== seq - 1)
    .map((one) => entryText(one, events.get(one.seq)));
  if (texts.length === 0) return null;
  const head = "[Brought in from this session's log, since what comes after it is about it:";
  return `${head}\n${texts.join("\n")}\nEnd of what was brought in.]`;
}

/** Why it is there, for a person. */
export const reasonOf = ({ kind, seq, range, number, score, why }: RetrievedEntry): BroughtReason => ({
  kind,
  seq,
  ...present({ range, number }),
  score,
  why,
});

/** The text of one part, as the context shows it. */
export function entryText(entry: RetrievedEntry, event: SessionLogEvent | undefined): string {
  const { seq, range } = entry;
  if (entry.kind === "item") {
    if (event?.type !== "item.recorded") return `- ${gap("an item that was brought in")}`;
    const { kind, key, status = null } = event.body;
    return `- ${nested(itemText({ kind, key, status }, event.content))}`;
  }
  if (entry.kind === "memory") {
    const item = event?.type === "memory.carried" ? event.content?.items[(entry.number ?? 0) - 1] : undefined;
    return item === undefined ? `- ${gap("an entry of memory that was brought in")}` : memoryLine(item);
  }
  const text = saidIn(event);
  const what = entry.kind === "section" ? "a section of a document" : "what was said in an earlier turn";
  if (event === undefined || text === null) return `- ${gap(what)}`;
  const [from, to] = range ?? [0, text.length];
  const rest = from > 0 || to < text.length ? ` characters ${from} to ${to} of ${text.length},` : "";
  return `- ${whoseIn(event)},${rest} position ${seq}:\n${text.slice(from, to).trim().toWellFormed()}`;
}

/** The text of a document, an input or an answer; null if it is erased, or none of these. */
export const saidIn = (event: SessionLogEvent | undefined): string | null => saidText(event?.content);

/** The same of a content. */
export function saidText(content: unknown): string | null {
  const whole = field(content, "text");
  if (typeof whole === "string") return whole;
  const blocks = field(content, "blocks");
  if (!Array.isArray(blocks)) return null;
  const texts = (blocks as unknown[])
    .filter((one) => field(one, "type") === "text")
    .map((one) => field(one, "text"))
    .filter((one) => typeof one === "string");
  return texts.join("\n\n");
}

function whoseIn(event: SessionLogEvent): string {
  if (event.type === "document.loaded") {
    const path = field(event.content, "path");
    return typeof path === "string" ? path : `a document (${event.body.kind})`;
  }
  if (event.type === "model.responded" || event.type === "answer.imported") return "your earlier answer";
  return "an earlier input";
}

/** The event types of earlier turns that may be brought in. */
export const saidTypes: ReadonlySet<string> = new Set([
  "input.received",
  "message.received",
  "model.responded",
  "input.imported",
  "answer.imported",
]);
