/**
 * One entry of another tool's transcript as records of the log. Everything in it is untrusted: texts become
 * well-formed, JSON that is too deep becomes text, and what is too large for a record becomes a blob.
 */
import type { HistoryEntry } from "../../core/history/commands.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { present } from "../../core/present.ts";
import { limit } from "../../core/limit.ts";
import { costOf, type TokenPrice } from "../../core/budget/price.ts";
import type { SourceRange, TranscriptCall, TranscriptBlock, ForeignEntry } from "../../transcripts/model.ts";

export interface EntryWorld {
  /** Keeps bytes without secrets, and gives their hash; null for binary data that holds a secret. */
  keep(bytes: Uint8Array): Promise<string | null>;
  /** A text without secrets. What is cut is redacted first: half of a secret is not recognized. */
  safe(text: string): string;
  /** The same for the JSON text of a value. */
  safeJson(text: string): string;
  /** The price of a model by the name that the other tool used; null when it is unknown. */
  price(model: string): TokenPrice | null;
  tokens(text: string): number;
  /** Whether the tokens of an answer with this id count in another session. */
  isCopied(id: string): boolean;
  /** Whether Skein wrote the entry itself: its tokens count where it was exported from. */
  isOwn(entry: ForeignEntry): boolean;
}

/** What of one text stays in the record itself. The whole of it is in a blob beside. */
const shownChars = 65_536;
/** Texts up to this are kept whole: all blocks of a record together must fit into its content. */
const textCharsMax = 131_072;
const recordCharsMax = 400_000;

/** The records of an entry: an answer is followed by one for each of its calls. */
export async function historyEntries(
  world: EntryWorld,
  entry: ForeignEntry,
  /** Of a compaction: how many records right before it stay in the context. */
  kept = 0,
): Promise<HistoryEntry[]> {
  const place = present({ atMs: millis(entry.atMs), source: bytesOf(entry.source) });
  switch (entry.kind) {
    case "input": {
      const blocks = await blocksOf(world, entry.blocks);
      return [
        { type: "input", body: { from: entry.from, ...place }, content: { id: cut(entry.id), blocks } },
      ];
    }
    case "answer": {
      const blocks = await blocksOf(world, entry.blocks);
      const error = entry.error === null ? undefined : cut(world.safe(entry.error), 20_000);
      const messageId = entry.messageId === null ? undefined : cut(entry.messageId);
      const copyId = messageId === undefined && entry.copyId !== undefined ? cut(entry.copyId) : undefined;
      const content = present({ id: cut(entry.id), messageId, copyId, blocks, error });
      const answer: HistoryEntry = { type: "answer", body: { ...place, ...usageOf(world, entry) }, content };
      const calls: HistoryEntry[] = [];
      for (const call of entry.calls) calls.push(await callEntry(world, call, place.source));
      return [answer, ...calls];
    }
    case "compaction": {
      const summary = cut(world.safe(entry.summary), textCharsMax);
      const tokensAfter = world.tokens(summary);
      const tokensBefore = count(entry.tokensBefore ?? tokensAfter);
      return [{ type: "compaction", summary, kept, tokensBefore, tokensAfter }];
    }
  }
}

function usageOf(
  { price, safe, isCopied, isOwn }: EntryWorld,
  entry: Extract<ForeignEntry, { kind: "answer" }>,
): Omit<Extract<HistoryEntry, { type: "answer" }>["body"], "atMs" | "source"> {
  const { model, usage, interrupted, messageId, copyId } = entry;
  const name =
    model === null
      ? ""
      : safe(model)
          .replaceAll(/[^A-Za-z0-9_.:@/-]/g, "-")
          .slice(0, 200);
  const named = present({ model: name === "" ? undefined : name, interrupted: interrupted || undefined });
  const id = messageId ?? copyId;
  const isCounted = isOwn(entry) || (id !== undefined && isCopied(cut(id)));
  if (isCounted) return { ...named, copied: true, costNanoUsd: 0 };
  if (usage === null) return named;
  const tokens = {
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    ...present({
      cachedInputTokens: count(usage.cacheReadTokens) || undefined,
      cacheWriteTokens: count(usage.cacheWriteTokens) || undefined,
      reasoningTokens: count(usage.reasoningTokens) || undefined,
    }),
  };
  const stored = usage.costUsd === null ? null : count(usage.costUsd * 1e9);
  return { ...named, usage: tokens, costNanoUsd: stored ?? costOf(price(name), tokens) };
}

async function callEntry(
  world: EntryWorld,
  call: TranscriptCall,
  source: [number, number] | undefined,
): Promise<HistoryEntry> {
  const blocks: ContentBlock[] = [];
  const keep = async (name: string, value: unknown): Promise<unknown> => {
    if (value === undefined) return undefined;
    const isText = typeof value === "string";
    if (!isText && isShort(value, textCharsMax)) return storable(value);
    const whole = isText ? value : JSON.stringify(value);
    if (whole.length <= textCharsMax) return storable(value);
    const text = isText ? world.safe(whole) : world.safeJson(whole);
    blocks.push(await fileBlock(world, text, name, isText ? "text/plain" : "application/json"));
    return `${cut(text, shownChars)}\n${wholeNote(text, name)}`;
  };
  const texts = call.output.flatMap((one) => (one.type === "attachment" ? [] : [one.text]));
  const attachments = call.output.filter((one) => one.type === "attachment");
  const input = await keep("input.json", call.input);
  const output = texts.length === 0 ? undefined : await keep("output.txt", texts.join("\n"));
  const structured = await keep("structured.json", call.structured);
  blocks.push(...(await blocksOf(world, attachments)));
  const tool =
    world
      .safe(call.name)
      .replaceAll(/[^A-Za-z0-9_.:/-]/g, "-")
      .slice(0, 128) || "unnamed";
  return {
    type: "call",
    body: { tool, status: call.status, ...present({ atMs: millis(call.endedAtMs), source }) },
    content: present({
      id: cut(call.id),
      name: cut(call.name),
      input,
      output,
      structured,
      blocks: blocks.length === 0 ? undefined : blocks,
    }),
  };
}

/** Whether its JSON certainly has at most so many characters. Cheaper than to write it. */
const isShort = (value: unknown, charsMax: number): boolean => charsLeft(value, charsMax) >= 0;

/** An escaped character takes six, a number at most 25. A list counts as 200: few lie within each other. */
function charsLeft(value: unknown, left: number): number {
  if (typeof value === "string") return left - 6 * value.length - 3;
  if (typeof value !== "object" || value === null) return left - 25;
  let rest = left - 200;
  for (const [name, one] of Object.entries(value)) {
    if (rest < 0) return rest;
    rest = charsLeft(one, rest - 6 * name.length - 4);
  }
  return rest;
}

async function blocksOf(world: EntryWorld, blocks: readonly TranscriptBlock[]): Promise<ContentBlock[]> {
  const kept: ContentBlock[] = [];
  let room = recordCharsMax;
  for (const block of blocks) {
    if (block.type === "attachment") {
      kept.push(await attachmentBlock(world, block));
      continue;
    }
    const type = block.type === "thinking" ? "reasoning" : "text";
    const given = clean(block.text);
    const isLong = given.length > textCharsMax || given.length > room;
    const text = isLong ? world.safe(given) : given;
    const fits = text.length <= textCharsMax && text.length <= room;
    if (fits) kept.push({ type, text, ...opaqueOf(block) });
    else {
      const shown = cut(text, Math.min(shownChars, Math.max(room, 1_000)));
      kept.push({ type, text: `${shown}\n${wholeNote(text, "a file")}` });
      kept.push(await fileBlock(world, text, `${type}.txt`, "text/plain"));
    }
    room -= Math.min(text.length, shownChars);
  }
  return kept;
}

const wholeNote = ({ length }: string, name: string): string =>
  `[${length} characters; the whole is kept as ${name}]`;

/** Whether a shown text says that the whole of it is in the file of this name beside it. */
export function isCutFor(shown: string, file: string): boolean {
  const isText = /^(text|reasoning)\.txt$/.test(file);
  return shown.endsWith(`; the whole is kept as ${isText ? "a file" : file}]`);
}

/** A signature belongs to a model and an account. It is kept, and only that model is sent it again. */
function opaqueOf(block: TranscriptBlock): { readonly opaque?: unknown } {
  if (block.type !== "thinking" || block.opaque === undefined) return {};
  const opaque = storable(block.opaque);
  return JSON.stringify(opaque).length > shownChars ? {} : { opaque };
}

async function attachmentBlock(
  world: EntryWorld,
  { data, mediaType, name }: Extract<TranscriptBlock, { type: "attachment" }>,
): Promise<ContentBlock> {
  const label = name === null ? mediaType : `${name}, ${mediaType}`;
  const bytes = data === null ? null : Buffer.from(data, "base64");
  if (bytes === null || bytes.length === 0 || bytes.length > limit.blobBytesMax)
    return { type: "text", text: cut(`[attachment ${label}: not in the transcript]`) };
  const blob = await world.keep(bytes);
  if (blob === null) return { type: "text", text: cut(`[attachment ${label}: left out, it holds a secret]`) };
  const type = cut(mediaType, 200);
  if (mediaType.startsWith("image/")) return { type: "image", blob, mediaType: type };
  return { type: "file", blob, mediaType: type, ...(name === null ? {} : { name: cut(name, 1_000) }) };
}

const fileBlock = async (
  world: EntryWorld,
  text: string,
  name: string,
  mediaType: string,
): Promise<ContentBlock> => {
  const blob = await world.keep(Buffer.from(text.toWellFormed()));
  if (blob === null) return { type: "text", text: `[${name}: left out, it holds a secret]` };
  return { type: "file", blob, mediaType, name };
};

/** JSON that a record can hold: texts without lone surrogates, nothing below the depth that is stored. */
function storable(value: unknown, depth = limit.jsonDepthMax - 8): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value !== "object" || value === null) return value ?? null;
  if (depth === 0) return clean(JSON.stringify(value));
  if (Array.isArray(value)) return value.map((one) => storable(one, depth - 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([key, one]) => [clean(key), storable(one, depth - 1)]),
  );
}

/** A record cannot hold half of a character or NUL. The original does. */
const clean = (text: string): string => text.toWellFormed().replaceAll("\0", "\u2400");
export const cut = (text: string, charsMax = 1_000): string => clean(text.slice(0, charsMax));
export const count = (value: number): number =>
  Number.isFinite(value) ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(value))) : 0;
const millis = (value: number | null): number | undefined =>
  value === null || !Number.isFinite(value) || value < 0 || value > 8.64e15 ? undefined : Math.round(value);

/** From the first to the last byte of an entry's records in the session's own file. */
function bytesOf(ranges: readonly SourceRange[]): [number, number] | undefined {
  const own = ranges.filter(({ file }) => file === ranges[0]?.file);
  if (own.length === 0) return undefined;
  return [Math.min(...own.map(({ from }) => from)), Math.max(...own.map(({ to }) => to))];
}
