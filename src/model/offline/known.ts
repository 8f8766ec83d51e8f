/** What a context contains: recorded items, and statements of people and tools. */
import { present } from "../../core/present.ts";
import { isBuiltInKind, type ItemKind } from "../../core/item/kind.ts";
import type { MessagePart, ContextPart, ResultBlock } from "../../core/context/part.ts";

export interface KnownText {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: string;
  readonly because?: string;
  readonly status?: string;
}

/** A call and its result. */
export interface DoneStep {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly status: ResultBlock["status"];
  readonly text: string;
}

/** The first line of the message that replaces the compacted range. */
export const boundaryLine = "[Everything so far was replaced by this summary.";

export const messagesOf = (parts: readonly ContextPart[]): readonly MessagePart[] =>
  parts.filter((part) => part.part === "message");

export const textOf = ({ content }: MessagePart): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

/** The calls of these messages, in order, with their results. */
export function doneIn(messages: readonly MessagePart[]): DoneStep[] {
  return messages.flatMap((message, place) => {
    if (message.role !== "assistant") return [];
    const results = messages[place + 1]?.role === "tool" ? messages[place + 1]?.content : [];
    return message.content.flatMap((block) => {
      if (block.type !== "tool-call") return [];
      const { call, tool, input } = block;
      const result = results?.find((one) => one.type === "tool-result" && one.call === call) as
        | ResultBlock
        | undefined;
      const { status = "unknown", text = "" } = result ?? {};
      return [{ tool, input, status, text }];
    });
  });
}

/** Items by kind and key, the newest last; without retracted ones. */
export function itemsIn(parts: readonly ContextPart[]): KnownText[] {
  const items = new Map<string, KnownText>();
  const put = (item: KnownText): void => {
    items.delete(`${item.kind} ${item.key}`);
    items.set(`${item.kind} ${item.key}`, item);
  };
  for (const [place, part] of parts.entries()) {
    if (part.part === "system") for (const item of itemsOfText(part.text)) put(item);
    if (part.part !== "message") continue;
    if (part.role === "assistant") {
      for (const done of doneIn(messagesOf(parts.slice(place, place + 2)))) change(items, put, done);
    }
    if (part.role !== "user") continue;
    for (const line of textOf(part).split("\n")) {
      const gone = /^\[no longer holds: (\w+) (.+?)(?:; because .*)?\]$/.exec(line);
      if (gone !== null) items.delete(`${gone[1]} ${gone[2]}`);
      else for (const item of itemsOfText(line)) put(item);
    }
  }
  return [...items.values()];
}

function change(items: Map<string, KnownText>, put: (item: KnownText) => void, done: DoneStep): void {
  const { tool, input, status } = done;
  if (status !== "ok") return;
  const { kind, key, value, because, status: state } = input;
  if (tool === "retract") items.delete(`${asText(kind)} ${asText(key)}`);
  if (tool === "recall") for (const item of recalledItems(done.text)) put(item);
  if (tool !== "record" || !isKind(kind)) return;
  put(itemOf({ kind, key, value, because, status: state }));
}

/** The items that a recall returned as JSON; empty if it returned something else. */
export function recalledItems(text: string): KnownText[] {
  const given = jsonOf(text);
  if (!Array.isArray(given)) return [];
  return (given as unknown[]).flatMap((one) => {
    const { kind, ...rest } = (one ?? {}) as Readonly<Record<string, unknown>>;
    return isKind(kind) && typeof rest["key"] === "string" ? [itemOf({ kind, ...rest })] : [];
  });
}

function itemOf(given: { readonly kind: ItemKind } & Readonly<Record<string, unknown>>): KnownText {
  const { kind, key, value, because, status } = given;
  return {
    kind,
    key: asText(key),
    value: asText(value),
    ...(typeof because === "string" ? { because } : {}),
    ...(kind === "task" ? { status: typeof status === "string" ? status : "open" } : {}),
  };
}

const kindNames = /^(?:- |\[recorded meanwhile: )?([a-z]+) (.+)$/;
const markedRest = /^(.+?)(?: \((open|done|dropped|supported|rejected)(?:, confidence [\d.]+)?\))?: (.*)$/;

/** Why an item was carried, which follows its value. */
const carriedWhy = / \((?:this agent's|the user's preference|the workspace's)(?:, on [^()]*)?\)$/;

/** Items as contexts show them: at compactions, in notes, from memory. */
function itemsOfText(text: string): KnownText[] {
  return text.split("\n").flatMap((line) => {
    const [, kind, after = ""] = kindNames.exec(line) ?? [];
    const [, key, status, rest = ""] = markedRest.exec(after) ?? [];
    if (!isKind(kind) || key === undefined) return [];
    const said = line.startsWith("[") ? rest.replace(/\]$/, "") : rest.replace(carriedWhy, "");
    const [value = "", because] = said.split(/; because (.*)/s);
    return [
      {
        kind,
        key,
        value,
        ...present({ because, status }),
      },
    ];
  });
}

const isKind = (word: unknown): word is ItemKind => isBuiltInKind(word);

export const asText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** `The base rate` and `base-rate` are one key. */
export function keyOf(words: string): string {
  const plain = words
    .toLowerCase()
    .replace(/^(?:the|our|my|a|an|that|this)\s+/, "")
    .replace(/["'`]/g, "")
    .trim();
  const key = plain.replace(/[^\p{L}\p{N}._/:-]+/gu, "-").replace(/^-+|[-.:]+$/g, "");
  return key.split("-").slice(0, 8).join("-").slice(0, 80);
}

/** A statement about a subject; undefined if there is none. */
export function mentionOf(parts: readonly ContextPart[], subject: string): string | undefined {
  const key = keyOf(subject);
  if (key === "") return undefined;
  for (const message of messagesOf(parts).toReversed()) {
    if (message.role === "tool") {
      for (const { text, tool, status } of message.content.toReversed()) {
        if (status !== "ok" || tool === "record") continue;
        const found = fieldOf(text, key) ?? lineOf(text, key);
        if (found !== undefined) return found;
      }
    }
    const said = message.role === "user" ? lineOf(textOf(message), key) : undefined;
    if (said !== undefined) return said;
  }
  return undefined;
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a field of this name, anywhere in a JSON text. */
function fieldOf(text: string, key: string): string | undefined {
  return inner(jsonOf(text), key, 0);
}

function inner(value: unknown, key: string, depth: number): string | undefined {
  if (typeof value !== "object" || value === null || depth > 8) return undefined;
  for (const [name, one] of Object.entries(value)) if (keyOf(name) === key) return asText(one);
  for (const one of Object.values(value)) {
    const found = inner(one, key, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const leadIn = /^(?:[-*] )?(?:(?:remember|note|record|know)(?: that)?\s+)?/i;
const statement = /^["'`]?([^:=?]{1,80}?)["'`]?(?:\s*[:=]\s*|\s+(?:is|are)\s+)(.+?)[.;,]?$/i;

/** The value in a line of the form `key: value`, `key = value` or `key is value`. */
function lineOf(text: string, key: string): string | undefined {
  for (const line of text.split(/\n|(?<=[.!?;])\s+/)) {
    const [, name = "", value] = statement.exec(line.trim().replace(leadIn, "")) ?? [];
    if (value !== undefined && keyOf(name) === key && !line.trim().endsWith("?")) return value;
  }
  return undefined;
}
