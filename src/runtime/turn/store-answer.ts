/**
 * Makes a model's answer storable. Whatever a provider sends must not stop the session: long texts are cut,
 * invalid JSON is left out, and the model gets a note.
 */
import type { ContentBlock } from "../../core/schema.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { ModelAnswer, AnswerBlock } from "../../model/port.ts";
import { cleanText } from "./tool-output.ts";

export interface StoredAnswer {
  readonly blocks: readonly ContentBlock[];
  /** Why calls cannot run, by their index among the blocks. */
  readonly wrong: ReadonlyMap<number, string>;
}

/** The bytes of a block besides its text: its type, the id and the name of a call. */
const blockBytes = 512;

type Redact = <T>(value: T) => T;

/** Sizes are those of the stored JSON, without secrets. */
export function storeAnswer({ blocks }: ModelAnswer, redact: Redact): StoredAnswer {
  const kept: ContentBlock[] = [];
  const wrong = new Map<number, string>();
  const room = { text: limit.answerTextBytesMax, metadata: limit.answerMetadataBytesMax };
  let calls = 0;
  for (const block of blocks) {
    if (block.type === "tool-call") {
      calls += 1;
      if (calls > limit.callsMax) continue;
      const { stored, reason } = storeCall(block, redact, room);
      if (reason !== null) wrong.set(kept.length, reason);
      kept.push(stored);
    } else if (room.text > 0) {
      const text = fitText(redact(cleanText(block.text)), room.text);
      room.text -= jsonBytes(text) + blockBytes;
      kept.push({ type: block.type, text, ...metadataOf(block, redact, room) });
    }
  }
  if (calls > limit.callsMax) {
    kept.push({ type: "text", text: `[${calls - limit.callsMax} more calls were left out]` });
  }
  return { blocks: kept, wrong };
}

interface Room {
  metadata: number;
}

function storeCall(
  block: Extract<AnswerBlock, { type: "tool-call" }>,
  redact: Redact,
  room: Room,
): { readonly stored: ContentBlock; readonly reason: string | null } {
  const tool = block.tool.replace(/[^A-Za-z0-9_.:/-]/g, "-").slice(0, 128) || "unnamed";
  const { input, reason } = storeInput(block, redact);
  const more = metadataOf(block, redact, room);
  return { stored: { type: "tool-call", call: block.call, tool, input, ...more }, reason };
}

function storeInput(
  { input, malformed = false }: Extract<AnswerBlock, { type: "tool-call" }>,
  redact: Redact,
): { readonly input: unknown; readonly reason: string | null } {
  const clean = cleaned(input ?? {}, redact);
  if (clean === null) return { input: {}, reason: "the arguments are not valid JSON" };
  if (clean.bytes > limit.callInputBytesMax) {
    const most = limit.callInputBytesMax;
    return { input: {}, reason: `the arguments have ${clean.bytes} bytes; the limit is ${most}` };
  }
  const reason = malformed ? "the arguments are not JSON; call again with a JSON object" : null;
  return { input: clean.value, reason };
}

function metadataOf(
  { metadata }: AnswerBlock,
  redact: Redact,
  room: Room,
): { readonly metadata?: Readonly<Record<string, unknown>> } {
  const clean = metadata === undefined ? null : cleaned(metadata, redact);
  if (clean === null || clean.bytes > room.metadata) return {};
  room.metadata -= clean.bytes;
  return { metadata: clean.value as Readonly<Record<string, unknown>> };
}

/** The value with storable texts; null when it cannot be stored. */
function cleaned(given: unknown, redact: Redact): { readonly value: unknown; readonly bytes: number } | null {
  try {
    const text = JSON.stringify(given, (_, inner: unknown) =>
      typeof inner === "string" ? cleanText(inner) : inner,
    );
    const value = redact<unknown>(JSON.parse(text));
    // At its final depth: in the blocks of an answer, or below the arguments of a call.
    checkJson("answer", { blocks: [{ value }] });
    return { value, bytes: jsonBytes(value) };
  } catch {
    return null;
  }
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The longest prefix of a text within so many bytes of JSON. */
function fitText(text: string, bytesMax: number): string {
  if (jsonBytes(text) <= bytesMax) return text;
  let cut = text;
  for (let bytes = jsonBytes(cut); bytes > bytesMax && cut !== ""; bytes = jsonBytes(cut)) {
    cut = cut.slice(0, Math.floor((cut.length * bytesMax) / bytes)).toWellFormed();
  }
  return `${cut} [… cut]`;
}
