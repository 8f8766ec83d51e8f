/**
 * From what a tool gave back to what the log keeps and the model sees. Long outputs are kept whole as a blob;
 * the model sees their beginning and end, and how to read the rest.
 */
import type { Block } from "../core/catalogue/entry.ts";
import { SkeinError } from "../core/error.ts";
import { checkJson } from "../core/json.ts";
import { limit } from "../core/limit.ts";
import type { Store } from "../store/port.ts";
import { ToolOutput } from "../tool/port.ts";
import { keepBytes, safeJson, safeText } from "./redact.ts";
import type { World } from "./world.ts";

export interface Shaped {
  readonly status: "ok" | "error";
  readonly output: unknown;
  readonly blocks?: readonly Block[];
  readonly detail?: unknown;
}

/** `seq` is the position of the request, by which `recall` finds the whole again. */
export async function shapeOutput(
  place: { readonly store: Store; readonly world: World },
  given: unknown,
  seq: number,
): Promise<Shaped> {
  const rich = given instanceof ToolOutput ? given : null;
  const status = rich?.isError === true ? "error" : "ok";
  const blocks: Block[] = [];
  for (const { bytes, mediaType } of rich?.images ?? []) {
    try {
      blocks.push({ type: "image", blob: await keepBytes(place, bytes), mediaType });
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "invalid") throw error;
      return { status: "error", output: `an image is not kept: ${error.message}` };
    }
  }
  const raw = rich?.text ?? given;
  // Before it is cut: half of a secret would not be found any more.
  const plain = typeof raw === "string" ? safeText(place.world, cleanText(raw)) : safeJson(place.world, raw);
  const text = typeof plain === "string" ? plain : jsonText(plain);
  if (text === null) {
    return { status: "error", output: "the tool gave back something that is not JSON" };
  }
  const detail = rich?.detail === undefined || jsonText(rich.detail) === null ? {} : { detail: rich.detail };
  const more = { ...detail, ...(blocks.length === 0 ? {} : { blocks }) };
  if (text.length <= limit.toolOutputCharsMax) {
    return { status, output: typeof plain === "string" ? text : (plain ?? null), ...more };
  }
  const bytes = Buffer.from(text);
  if (bytes.length > limit.blobBytesMax) {
    return { status: "error", output: `the tool gave back ${bytes.length} bytes, more than can be kept` };
  }
  const whole: Block = { type: "file", blob: await keepBytes(place, bytes), mediaType: "text/plain" };
  return { status, output: shortened(text, seq), ...more, blocks: [whole, ...blocks] };
}

/** What a tool threw, in words for the model. */
export function errorText(error: unknown): string {
  if (error instanceof SkeinError && error.hint !== undefined) return cut(`${error.message}; ${error.hint}`);
  const text = error instanceof Error ? error.message || error.name : String(error);
  return cut(text);
}

/** A text as it can be stored: without NUL and without halves of characters. */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

const cut = (text: string): string => {
  const clean = cleanText(text);
  const most = limit.toolOutputCharsMax;
  return clean.length <= most ? clean : `${clean.slice(0, most)}…`;
};

/** The text of a value that can be stored; null when it cannot. */
function jsonText(value: unknown): string | null {
  if (value === undefined) return "null";
  try {
    checkJson("output", value);
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

function shortened(text: string, seq: number): string {
  const head = Math.floor(limit.toolOutputCharsMax * 0.7);
  const tail = Math.floor(limit.toolOutputCharsMax * 0.2);
  const left = text.length - head - tail;
  const way = `recall with fromSeq ${seq} and fromChar ${head} reads on`;
  const note = `[… ${left} characters are left out; ${way} …]`;
  return `${text.slice(0, head).toWellFormed()}\n${note}\n${text.slice(-tail).toWellFormed()}`;
}
