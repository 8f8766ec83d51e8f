/**
 * A conversation as digests of its beginnings, by which the next request of it is recognized, and as the
 * records that the log keeps of it. Pure but for the digests.
 */
import { hash } from "node:crypto";
import { limit } from "../../core/limit.ts";
import type { ProxyEntry } from "../../core/proxy/commands.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { WireMessage } from "./wire.ts";

export const digestOf = (text: string | Uint8Array): string => hash("sha256", text, "hex");

/**
 * Digests of the first 0, 1, 2… messages. Programs send an answer back in another form than they got it, with
 * cache marks and without reasoning: only what was said, called and returned counts. `root` separates tokens.
 */
export function chainOf(root: string, messages: readonly WireMessage[]): readonly string[] {
  const chain = [digestOf(root)];
  for (const message of messages) chain.push(digestOf(`${chain.at(-1)}\n${canonical(message)}`));
  return chain;
}

function canonical({ role, texts, images, calls, results }: WireMessage): string {
  const said = texts.join("\n").trim();
  const shown = images.map(({ base64 }) => digestOf(base64));
  const called = calls.map(({ id, name, input }) => [id, name, input]);
  const returned = results.map(({ id, output, isError }) => [id, output, isError]);
  return JSON.stringify([role, said, shown, called, returned]);
}

export const isSame = (one: WireMessage, other: WireMessage): boolean => canonical(one) === canonical(other);

/** Keeps bytes, and returns their hash. */
export type KeepBytes = (bytes: Uint8Array) => Promise<string>;

export interface EntryOptions {
  /** All messages of the request: results are named by the calls before them. */
  readonly messages: readonly WireMessage[];
  readonly keep: KeepBytes;
  readonly model: string;
}

/** The records of messages, in order. */
export async function entriesOf(
  news: readonly WireMessage[],
  { messages, keep, model }: EntryOptions,
): Promise<readonly ProxyEntry[]> {
  const names = new Map<string, { readonly name: string; readonly input: unknown }>();
  for (const { calls } of messages)
    for (const { id, name, input } of calls) if (id !== null) names.set(id, { name, input });
  const entries: ProxyEntry[] = [];
  for (const message of news) {
    for (const result of message.results) {
      const made = result.id === null ? undefined : names.get(result.id);
      const name = made?.name ?? result.name ?? "unknown";
      const input = made === undefined ? {} : await fitted("input", made.input, keep);
      const output = await fitted("output", result.output, keep);
      const id = result.id === null ? {} : { id: result.id };
      entries.push({
        type: "call",
        body: { tool: toolName(name), status: result.isError ? "error" : "ok" },
        content: { ...id, name, ...input, ...output },
      });
    }
    const blocks = await blocksOf(message, keep);
    if (blocks.length === 0) continue;
    if (message.role === "assistant") entries.push({ type: "answer", body: { model }, content: { blocks } });
    else entries.push({ type: "input", body: { from: message.role }, content: { blocks } });
  }
  return entries;
}

/** What was said, as blocks of the log. Calls are recorded with their results. */
export async function blocksOf(message: WireMessage, keep: KeepBytes): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = [];
  for (const text of message.reasoning) if (text !== "") blocks.push({ type: "reasoning", text });
  for (const text of message.texts) blocks.push(await textBlock(text, keep));
  for (const { mediaType, base64 } of message.images) {
    const bytes = Buffer.from(base64, "base64");
    if (bytes.length === 0 || bytes.length > limit.blobBytesMax) continue;
    blocks.push({ type: "image", blob: await keep(bytes), mediaType: mediaType || "image/png" });
  }
  for (const type of new Set(message.other))
    blocks.push({ type: "text", text: `[${type || "part"}: not recorded]` });
  return blocks;
}

/** Half of what a content may have: texts stand in one with others. */
const textCharsMax = limit.contentBytesMax / 8;

async function textBlock(text: string, keep: KeepBytes): Promise<ContentBlock> {
  if (text.length <= textCharsMax) return { type: "text", text };
  return { type: "file", blob: await keep(Buffer.from(text)), mediaType: "text/plain", name: "text.txt" };
}

/** A value under its name, or a reference to its JSON where it is too long for a content. */
async function fitted(field: string, value: unknown, keep: KeepBytes): Promise<Record<string, unknown>> {
  const text = JSON.stringify(value) ?? "null";
  if (text.length <= textCharsMax * 2) return { [field]: value };
  const head = (typeof value === "string" ? value : text).slice(0, 4_096);
  return { [field]: `${head}…`, [`${field}Blob`]: await keep(Buffer.from(text)) };
}

const toolName = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9_.:/-]/g, "_").slice(0, 128) || "unknown";
