/** What a request brings: its items, checked, and the inputs of the session that they become. */
import { SkeinError } from "../../core/error.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { AppendRecord } from "../../core/turn/commands.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** An item as a client gave it. */
export type GivenItem = Fields & { readonly type: string };

export const invalid = (field: string, what: string, hint?: string): SkeinError =>
  new SkeinError("invalid", `${field}: ${what}`, { field, hint });

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The items of a request: a text is a message of the user. */
export function readItems(field: string, given: unknown, max: number): GivenItem[] {
  if (given === undefined || given === null) return [];
  if (typeof given === "string") return [message("user", [{ type: "input_text", text: given }])];
  if (!Array.isArray(given)) throw invalid(field, "expected a text or a list of items");
  if (given.length > max) throw invalid(field, `expected at most ${max} items, got ${given.length}`);
  return given.map((item: unknown, place) => readItem(`${field}[${place}]`, item));
}

const roles: readonly unknown[] = ["user", "assistant", "system", "developer"];

function readItem(field: string, item: unknown): GivenItem {
  if (!isFields(item)) throw invalid(field, "expected an item");
  const { type = "message", role, content } = item;
  if (typeof type !== "string") throw invalid(`${field}.type`, "expected a text");
  if (type === "item_reference")
    throw invalid(field, "item references are not supported", "use previous_response_id or a conversation");
  if (type !== "message") return { ...item, type };
  if (!roles.includes(role)) throw invalid(`${field}.role`, "expected user, assistant, system or developer");
  if (typeof content !== "string" && !Array.isArray(content))
    throw invalid(`${field}.content`, "expected a text or a list of parts");
  const text = role === "assistant" ? { type: "output_text", annotations: [] } : { type: "input_text" };
  const parts: unknown[] = typeof content === "string" ? [{ ...text, text: content }] : content;
  if (!parts.every(isFields)) throw invalid(`${field}.content`, "expected a list of parts");
  return { ...item, type, role, status: "completed", content: parts };
}

const message = (role: string, content: readonly Fields[]): GivenItem => ({
  type: "message",
  role,
  status: "completed",
  content,
});

type InputRecord = Extract<AppendRecord, { readonly blocks: unknown }>;

/**
 * The inputs of items. What the user and the system said last are inputs of their own. All before the last
 * item of another kind is one input with its text.
 */
export async function inputsOf(
  items: readonly GivenItem[],
  putBlob: (bytes: Uint8Array) => Promise<string>,
): Promise<InputRecord[]> {
  const lastOther = items.findLastIndex(({ type, role }) => type !== "message" || role === "assistant");
  const earlier = items.slice(0, lastOther + 1).map(tell);
  const inputs: InputRecord[] = [];
  if (earlier.length > 0) {
    const text = `Earlier in this conversation:\n${earlier.join("\n")}`;
    inputs.push({ type: "input.received", from: "system", blocks: [{ type: "text", text }] });
  }
  for (const { role, content } of items.slice(lastOther + 1)) {
    const blocks = await blocksOf(content as readonly Fields[], putBlob);
    inputs.push({ type: "input.received", blocks, ...(role === "user" ? {} : { from: "system" }) });
  }
  return inputs;
}

/** An item as a line for the model. */
function tell(item: GivenItem): string {
  const { type, role, content, name, arguments: given, output, call_id: call } = item;
  if (type === "message") {
    const texts = (content as readonly Fields[]).map(({ type: kind, text }) =>
      typeof text === "string" ? text : `[${String(kind)}]`,
    );
    return `${String(role)}: ${texts.join("\n")}`;
  }
  if (type === "function_call") return `call ${String(call)} of ${String(name)}: ${String(given)}`;
  if (type === "function_call_output") return `result of ${String(call)}: ${textOf(output)}`;
  return `${type}: ${JSON.stringify(item)}`;
}

/** The output of a function: a text, or parts. */
export const textOf = (output: unknown): string =>
  typeof output === "string" ? output : JSON.stringify(output ?? "");

async function blocksOf(
  parts: readonly Fields[],
  putBlob: (bytes: Uint8Array) => Promise<string>,
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const { type, text, image_url: url, file_data: data, filename } of parts) {
    if (type === "input_text" && typeof text === "string") {
      if (text !== "") blocks.push({ type: "text", text });
      continue;
    }
    const { mediaType, bytes } = readDataUrl(
      type === "input_image" ? url : type === "input_file" ? data : null,
      type,
    );
    const blob = await putBlob(bytes);
    const name = typeof filename === "string" ? { name: filename } : {};
    if (type === "input_image") blocks.push({ type: "image", blob, mediaType });
    else blocks.push({ type: "file", blob, mediaType, ...name });
  }
  if (blocks.length === 0) throw invalid("input", "a message has no text and no file");
  return blocks;
}

function readDataUrl(
  url: unknown,
  type: unknown,
): { readonly mediaType: string; readonly bytes: Uint8Array } {
  const [, mediaType, content] =
    typeof url === "string" ? (/^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/.exec(url) ?? []) : [];
  if (mediaType !== undefined && content !== undefined)
    return { mediaType: mediaType.toLowerCase(), bytes: Buffer.from(content, "base64") };
  throw invalid(
    "input",
    `a part of type ${String(type)}: expected a text, or a data URL in base64`,
    "nothing is downloaded: send the file itself",
  );
}
