/**
 * Values as records hold them. A value is what LangGraph's serializer makes of it. A list is serialized
 * element by element, and stored as the number of elements that it has in common with an earlier list, and
 * the rest: so a growing list of messages takes room for what is new.
 */
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** The serializer that a saver was given, or LangGraph's own. */
export type Serializer = BaseCheckpointSaver["serde"];

/** Type and text; other bytes are Base64, with a 1 behind. */
export type TypedText = readonly [type: string, text: string, base64?: 1];

/** Where a value was written: the record, and its number among the values there. */
export interface ValuePlace {
  readonly firstSeq: number;
  readonly seq: number;
  readonly place: number;
}

/** A list: the first `keep` elements of another, and these. Each is the JSON of the serializer. */
export interface ListValue {
  readonly items: readonly string[];
  readonly keep?: number;
  readonly base?: readonly [firstSeq: number, seq: number, place: number];
}

/** A value in a record. */
export type StoredValue = { readonly whole: TypedText } | ListValue;

export const isList = (value: StoredValue): value is ListValue => "items" in value;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Serializes a value. */
export async function dump(serde: Serializer, value: unknown): Promise<TypedText> {
  const [type, bytes] = await serde.dumpsTyped(value);
  try {
    if (type !== "bytes") return [type, utf8.decode(bytes)];
  } catch {
    // No text: as bytes.
  }
  return [type, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"), 1];
}

/** The value that `dump` was given. */
export async function load(serde: Serializer, [type, text, base64]: TypedText): Promise<unknown> {
  const data = base64 === 1 ? Uint8Array.from(Buffer.from(text, "base64")) : text;
  return (await serde.loadsTyped(type, data)) as unknown;
}

/** The elements of a list as JSON texts; null for all other values, and lists that it does not pay for. */
export async function dumpList(serde: Serializer, value: unknown): Promise<readonly string[] | null> {
  if (!Array.isArray(value) || value.every((one) => typeof one === "number")) return null;
  const items: string[] = [];
  for (const one of value) {
    const [type, text, base64] = await dump(serde, one);
    if (type !== "json" || base64 === 1) return null;
    items.push(text);
  }
  return items;
}

/** How many elements two lists have in common at the beginning. */
export function commonCount(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

export const charsOf = (items: readonly string[]): number =>
  items.reduce((chars, item) => chars + item.length, 0);
