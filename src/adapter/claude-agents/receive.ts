/**
 * Events that a client posts. Inputs of one request are one append; a repeated request is recognized by a key
 * that is made of its body, so an answer that was lost on the way changes nothing.
 */
import { createHash } from "node:crypto";
import { SkeinError } from "../../core/error.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { AppendRecord } from "../../core/turn/commands.ts";
import type { TokenScope } from "../../core/workspace/access-token.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { readProjected } from "./event-list.ts";
import { eventId, seqOfEvent } from "./ids.ts";
import type { ClaudeEvent } from "./project.ts";
import { fieldsOf, invalid, isFields, listOf, textOf, textOrNull, type Fields } from "./values.ts";

/** One request with events. */
export interface EventsRequest {
  readonly events: readonly unknown[];
  /** `Idempotency-Key`. */
  readonly key: string | undefined;
  /** The client sends the request again: it got no answer to the first. */
  readonly isRetry: boolean;
  /** Throws when the caller may not. */
  readonly need: (scope: TokenScope, what: string) => void;
}

/** How long a request with the same body counts as the same request, if it says that it is a retry. */
const retryMs = 600_000;

/** Takes the events in order, and returns them with their ids. The session runs on in the background. */
export async function receiveEvents(
  engine: Engine,
  session: Session,
  { events, key, isRetry, need }: EventsRequest,
): Promise<ClaudeEvent[]> {
  const checked = events.map((event, place) => checkEvent(event, `events[${place}]`));
  const steps: ({ readonly inputs: AppendRecord[] } | { readonly event: Fields })[] = [];
  for (const event of checked) {
    const record = await recordOf(engine, event);
    const last = steps.at(-1);
    if (record === null) steps.push({ event });
    else if (last !== undefined && "inputs" in last) last.inputs.push(record);
    else steps.push({ inputs: [record] });
  }
  const known = await requestKey(engine, session, checked, { key, isRetry });
  const seqs: number[] = [];
  for (const [place, step] of steps.entries()) {
    if ("event" in step) {
      const isDone = known.isRepeated && step.event["type"] === "user.interrupt";
      seqs.push(isDone ? known.seq : await applyEvent(session, step.event, need));
      continue;
    }
    need("write", "sending a message");
    const { seq } = await session.append(step.inputs, { key: `${known.key}:${place}` });
    seqs.push(...step.inputs.map((_, number) => seq + number));
  }
  runInBackground(session);
  return Promise.all(checked.map((event, place) => shownEvent(session, event, seqs[place] ?? 0)));
}

/** Runs the queue. Accepts that another process runs the session, or that the queue is empty. */
export function runInBackground(session: Session): void {
  // A failed turn is in the log; what else fails is tried again by the next request, or by a worker.
  void session.run().catch(() => undefined);
}

/** The key of a request: of its body, and the number of requests with this body before it. */
async function requestKey(
  engine: Engine,
  session: Session,
  events: readonly Fields[],
  { key, isRetry }: Pick<EventsRequest, "key" | "isRetry">,
): Promise<{ readonly key: string; readonly isRepeated: boolean; readonly seq: number }> {
  const { writer, world } = internalsOf(engine);
  const digest = createHash("sha256")
    .update(JSON.stringify(key ?? events))
    .digest("hex");
  const keyOf = (number: number): string => `claude-agents:${digest.slice(0, 40)}:${number}`;
  // Interrupts write no key: the request is the newest interrupt, if it is a retry.
  if (events.every(({ type }) => type === "user.interrupt")) {
    const last = isRetry ? await lastInterrupt(session, world.now() - retryMs) : null;
    return { key: keyOf(0), isRepeated: last !== null, seq: last ?? 0 };
  }
  const first = events.findIndex(({ type }) => isInput(type));
  const step = first === -1 ? 0 : stepOf(events, first);
  const seqOf = (number: number) => writer.keyed(session.id, `${keyOf(number)}:${step}`);
  if (key !== undefined) {
    const seq = await seqOf(0);
    return { key: keyOf(0), isRepeated: seq !== undefined, seq: seq ?? 0 };
  }
  let [low, high] = [0, 1];
  while ((await seqOf(high - 1)) !== undefined) [low, high] = [high, high * 2];
  // The first number without a record lies in [low, high).
  let end = high - 1;
  while (low < end) {
    const middle = Math.floor((low + end) / 2);
    if ((await seqOf(middle)) === undefined) end = middle;
    else low = middle + 1;
  }
  const before = low === 0 ? undefined : await seqOf(low - 1);
  if (isRetry && before !== undefined && (await atOf(session, before)) >= world.now() - retryMs)
    return { key: keyOf(low - 1), isRepeated: true, seq: before };
  return { key: keyOf(low), isRepeated: false, seq: 0 };
}

const isInput = (type: unknown): boolean => type === "user.message" || type === "system.message";

/** The place of the append that has the event. */
function stepOf(events: readonly Fields[], place: number): number {
  let step = 0;
  for (let one = 1; one <= place; one++)
    if (!isInput(events[one]?.["type"]) || !isInput(events[one - 1]?.["type"])) step += 1;
  return step;
}

async function atOf(session: Session, seq: number): Promise<number> {
  for await (const { at } of session.events({ fromSeq: seq, toSeq: seq })) return at;
  return 0;
}

async function lastInterrupt(session: Session, sinceMs: number): Promise<number | null> {
  const options = { types: ["session.interrupted"], reverse: true, limit: 1 };
  for await (const { seq, at } of session.events(options)) if (at >= sinceMs) return seq;
  return null;
}

const types = [
  "user.message",
  "system.message",
  "user.interrupt",
  "user.tool_confirmation",
  "user.custom_tool_result",
  "user.tool_result",
];

function checkEvent(event: unknown, where: string): Fields {
  const fields = fieldsOf(event, where);
  if (types.includes(String(fields["type"]))) return fields;
  throw invalid(`${where}.type: expected one of ${types.join(", ")}`);
}

/** The input that an event is; null for the others. */
async function recordOf(engine: Engine, event: Fields): Promise<AppendRecord | null> {
  if (!isInput(event["type"])) return null;
  const blocks = await blocksOf(engine, event["content"]);
  if (blocks.length === 0) throw invalid("content: the message is empty");
  return event["type"] === "user.message"
    ? { type: "input.received", blocks }
    : { type: "input.received", blocks, from: "system" };
}

async function blocksOf(engine: Engine, content: unknown): Promise<ContentBlock[]> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const blocks: ContentBlock[] = [];
  for (const [place, block] of listOf(content, "content").entries()) {
    const { type, text, source, title } = fieldsOf(block, `content[${place}]`);
    if (type === "text" && typeof text === "string") {
      if (text !== "") blocks.push({ type, text });
    } else if (type === "image" || type === "document")
      blocks.push(await fileOf(engine, type, source, title, `content[${place}]`));
    else throw invalid(`content[${place}].type: expected "text", "image" or "document"`);
  }
  return blocks;
}

async function fileOf(
  engine: Engine,
  type: "image" | "document",
  source: unknown,
  title: unknown,
  where: string,
): Promise<ContentBlock> {
  const { type: from, data, media_type: mediaType } = isFields(source) ? source : {};
  if (typeof data !== "string" || typeof mediaType !== "string" || (from !== "base64" && from !== "text"))
    throw invalid(
      `${where}.source: expected base64 or text data`,
      "nothing is downloaded: send the file itself",
    );
  const blob = await engine.putBlob(Buffer.from(data, from === "text" ? "utf8" : "base64"));
  if (type === "image") return { type, blob, mediaType };
  return { type: "file", blob, mediaType, ...(typeof title === "string" ? { name: title } : {}) };
}

async function applyEvent(session: Session, event: Fields, need: EventsRequest["need"]): Promise<number> {
  if (event["type"] === "user.interrupt") {
    need("write", "an interrupt");
    return (await session.interrupt({ reason: "by the client" })).seq;
  }
  if (event["type"] === "user.tool_confirmation") return confirm(session, event, need);
  return settle(session, event, need);
}

async function confirm(session: Session, event: Fields, need: EventsRequest["need"]): Promise<number> {
  const { result, deny_message: message } = event;
  if (result !== "allow" && result !== "deny") throw invalid('result: expected "allow" or "deny"');
  need(result === "allow" ? "operate" : "write", "a confirmation");
  const { seq, call } = await callOf(session, event["tool_use_id"]);
  const state = (await session.fold()).mind.calls.get(call);
  if (state?.phase !== "asked") {
    const before = await decisionOf(session, seq, call);
    if (before?.result === result) return before.seq;
    throw new SkeinError("conflict", "tool_use_id: the call does not wait for a confirmation");
  }
  const reason = textOrNull(message, "deny_message", 2_000);
  const because = reason === null ? {} : { reason };
  return (await session.answer({ allow: result === "allow", calls: [call], ...because })).seq;
}

/** How a call was answered. */
async function decisionOf(session: Session, fromSeq: number, call: string) {
  for await (const { seq, type, body } of session.events({
    fromSeq,
    types: ["tool.approved", "tool.denied"],
  }))
    if ((body as Fields)["call"] === call)
      return { seq, result: type === "tool.approved" ? "allow" : "deny" } as const;
  return null;
}

/** An outcome that is there already changes nothing; an outcome after an interrupt is kept as evidence. */
async function settle(session: Session, event: Fields, need: EventsRequest["need"]): Promise<number> {
  need("settle", "the result of a tool");
  const id = event["type"] === "user.tool_result" ? event["tool_use_id"] : event["custom_tool_use_id"];
  const { call } = await callOf(session, id);
  const status = event["is_error"] === true ? "error" : "ok";
  return (await session.settle(call, { status, output: outputOf(event["content"]) })).seq;
}

/** Texts as one text; other blocks as JSON. */
function outputOf(content: unknown): unknown {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  const list = listOf(content, "content").map((block) => fieldsOf(block, "content"));
  if (list.every(({ type, text }) => type === "text" && typeof text === "string"))
    return list.map(({ text }) => text).join("\n");
  return list;
}

/** The call of a tool use event. */
async function callOf(
  session: Session,
  id: unknown,
): Promise<{ readonly seq: number; readonly call: string }> {
  const seq = seqOfEvent(session.id, textOf(id, "tool_use_id", 200));
  if (seq !== null && seq <= (await session.head()).seq)
    for await (const { type, body } of session.events({ fromSeq: seq, toSeq: seq }))
      if (type === "tool.requested") return { seq, call: String((body as Fields)["call"]) };
  throw new SkeinError("not-found", `there is no tool use ${String(id)} in this session`);
}

/** An event that was taken, as lists and streams show it. */
async function shownEvent(session: Session, event: Fields, seq: number): Promise<ClaudeEvent> {
  for (const one of await readProjected(session, seq))
    if (one.type === event["type"] && one.id === eventId(session.id, seq)) return one;
  // Evidence only: it changed nothing.
  return { ...event, id: eventId(session.id, seq), type: String(event["type"]), processed_at: null };
}
