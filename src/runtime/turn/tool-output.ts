/**
 * Turns a tool's output into what the log stores and the model sees. Long outputs are stored whole as a blob;
 * the model sees their beginning and end, and how to read the rest.
 */
import type { ContentBlock } from "../../core/schema.ts";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";
import { ToolOutput } from "../../tool/port.ts";
import { keepBytes, safeJson, safeText } from "../log/redact.ts";
import type { World } from "../world.ts";

export interface ShapedOutput {
  readonly status: "ok" | "error";
  readonly output: unknown;
  readonly blocks?: readonly ContentBlock[];
  readonly detail?: unknown;
}

interface ToolOutputDeps {
  readonly store: Store;
  readonly world: World;
}

/**
 * Never fails because of the output: a result that cannot be stored is an error that says why. `seq` is the
 * position of the request, by which `recall` finds the whole again.
 */
export async function shapeOutput(place: ToolOutputDeps, given: unknown, seq: number): Promise<ShapedOutput> {
  const rich = given instanceof ToolOutput ? given : null;
  const status = rich?.isError === true ? "error" : "ok";
  const raw = rich?.text ?? given;
  // Before it is cut: half of a secret would not be detected any more.
  const plain = typeof raw === "string" ? safeText(place.world, cleanText(raw)) : safeValue(place, raw);
  if (plain === undefined)
    return { status: "error", output: "the tool gave back something that is not JSON" };
  const text = typeof plain === "string" ? plain : JSON.stringify(plain);
  const { images, notes } = await keepImages(place, rich?.images ?? []);
  if (images === null) return { status: "error", output: notes };
  const { detail, blocks: structure } = await shapeDetail(place, rich?.detail);
  const kept = [...images, ...structure];
  const more = { ...(detail === undefined ? {} : { detail }), ...(kept.length > 0 && { blocks: kept }) };
  if (text.length + notes.length <= limit.toolOutputCharsMax) {
    const isWhole = typeof plain !== "string" && notes === "" && fits({ output: plain });
    return { status, output: isWhole ? plain : `${text}${notes}`, ...more };
  }
  const bytes = Buffer.from(text);
  if (bytes.length > limit.blobBytesMax) {
    return { status: "error", output: `the tool gave back ${bytes.length} bytes, more than can be kept` };
  }
  const whole: ContentBlock = { type: "file", blob: await keepBytes(place, bytes), mediaType: "text/plain" };
  return { status, output: `${shortened(text, seq)}${notes}`, ...more, blocks: [whole, ...kept] };
}

/** The name of the block that holds a detail too large for the record. */
const detailName = "detail.json";

/** Images as blobs. Null: one holds a secret, and `notes` says so. */
async function keepImages(
  place: ToolOutputDeps,
  given: ToolOutput["images"],
): Promise<{ readonly images: readonly ContentBlock[] | null; readonly notes: string }> {
  const images: ContentBlock[] = [];
  const notes: string[] = [];
  for (const { bytes, mediaType } of given.slice(0, limit.toolImagesMax)) {
    try {
      const blob = await keepBytes(place, bytes);
      const reason = unfit(bytes, mediaType);
      if (reason === null) images.push({ type: "image", blob, mediaType: plainType(mediaType) });
      else images.push({ type: "file", blob, mediaType: "application/octet-stream" });
      if (reason !== null) notes.push(`\n[an image is kept and not shown: ${reason}]`);
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "invalid") throw error;
      return { images: null, notes: `an image is not kept: ${error.message}` };
    }
  }
  const left = given.length - images.length;
  if (left > 0) notes.push(`\n[${left} more images were left out]`);
  return { images, notes: notes.join("") };
}

/** The first bytes of files of these types. */
const signatures: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG/,
  "image/jpeg": /^\xff\xd8\xff/,
  "image/gif": /^GIF8/,
  "image/webp": /^RIFF[^]{4}WEBP/,
};

/** Why a provider would reject an image, and every later request of the session with it. */
function unfit(bytes: Uint8Array, mediaType: string): string | null {
  const most = limit.toolImageBytesMax;
  if (bytes.length > most) return `it has ${bytes.length} bytes; at most ${most} can be shown`;
  const begins = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  return signatures[plainType(mediaType)]?.test(begins) === false
    ? `it is not ${plainType(mediaType)}`
    : null;
}

/** Servers may send anything: an invalid media type means bytes. */
const plainType = (given: unknown): string =>
  typeof given === "string" && /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[\x20-\x7e]{0,60})?$/.test(given)
    ? given
    : "application/octet-stream";

/** A detail too large or too deep for the record is stored as a blob, and the record names it. */
async function shapeDetail(
  place: ToolOutputDeps,
  given: unknown,
): Promise<{ readonly detail?: unknown; readonly blocks: readonly ContentBlock[] }> {
  const detail = given === undefined ? undefined : safeValue(place, given);
  if (detail === undefined) return { blocks: [] };
  const bytes = Buffer.from(JSON.stringify(detail));
  if (bytes.length <= limit.toolDetailBytesMax && fits({ detail })) return { detail, blocks: [] };
  if (bytes.length > limit.blobBytesMax) return { detail: { bytes: bytes.length }, blocks: [] };
  const blob = await keepBytes(place, bytes);
  const block: ContentBlock = { type: "file", blob, mediaType: "application/json", name: detailName };
  return { detail: { blob, bytes: bytes.length }, blocks: [block] };
}

/** The value as JSON without secrets; undefined when it is not JSON. */
function safeValue({ world }: ToolOutputDeps, value: unknown): unknown {
  try {
    return safeJson(world, cleanJson(value ?? null, 1));
  } catch {
    return undefined;
  }
}

/** Deeper than a record holds, which is then stored as text; and not so deep that the stack overflows. */
const cleanDepthMax = 1_000;

/** A value with storable texts. Throws for anything that is not plain JSON. */
function cleanJson(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value === "boolean" || value === null || Number.isFinite(value)) return value;
  if (typeof value !== "object" || depth > cleanDepthMax) throw new TypeError("not JSON");
  if (Array.isArray(value)) return value.map((one: unknown) => cleanJson(one, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || "toJSON" in value) {
    throw new TypeError("not JSON");
  }
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    entries.map(([key, one]) => {
      if (key === "__proto__") throw new TypeError("not JSON");
      return [cleanText(key), cleanJson(one, depth + 1)];
    }),
  );
}

/** True when a content may hold it as it is. */
function fits(content: unknown): boolean {
  try {
    checkJson("output", content);
    return true;
  } catch {
    return false;
  }
}

/** The error of a tool as text for the model, within its limit. A tool may throw anything. */
export function toolErrorText(error: unknown): string {
  try {
    if (error instanceof SkeinError && error.hint !== undefined)
      return cut(`${error.message}; ${error.hint}`);
    return cut(errorText(error) || (error instanceof Error ? error.name : ""));
  } catch {
    return "the tool failed and its error cannot be read";
  }
}

/** A storable text: without NUL and without halves of characters. */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

const cut = (text: string): string => {
  const clean = cleanText(text);
  const most = limit.toolOutputCharsMax;
  return clean.length <= most ? clean : `${clean.slice(0, most)}…`;
};

function shortened(text: string, seq: number): string {
  const head = Math.floor(limit.toolOutputCharsMax * 0.7);
  const tail = Math.floor(limit.toolOutputCharsMax * 0.2);
  const left = text.length - head - tail;
  const way = `recall with fromSeq ${seq} and fromChar ${head} reads on`;
  const note = `[… ${left} characters are left out; ${way} …]`;
  return `${text.slice(0, head).toWellFormed()}\n${note}\n${text.slice(-tail).toWellFormed()}`;
}
