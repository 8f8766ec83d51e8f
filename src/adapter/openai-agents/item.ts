/**
 * Items of the Agents SDK as JSON. Files in them may be bytes, which JSON does not have: they are stored as
 * `{ "$bytes": BASE64 }`, and an object that has such a key itself as `{ "$object": … }`.
 */
import { createHash } from "node:crypto";
import type { AgentInputItem } from "@openai/agents";

type Fields = Readonly<Record<string, unknown>>;

/** Copies items as JSON. Fields without a value are dropped, as in JSON. */
export const encodeItems = (items: readonly AgentInputItem[]): unknown[] => items.map(encode);

/** The item of its JSON: a copy, which the caller may change. */
export const decodeItem = (json: unknown): AgentInputItem => decode(json) as AgentInputItem;

/** The digest of a JSON value. The order of keys does not count. */
export const digestOf = (json: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(sorted(json)), "utf8")
    .digest("hex");

function encode(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(encode);
  if (!isPlain(value)) return value;
  const fields = mapFields(value, encode);
  return "$bytes" in fields || "$object" in fields ? { $object: fields } : fields;
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (!isPlain(value)) return value;
  const { $bytes, $object } = value;
  if (typeof $bytes === "string") return new Uint8Array(Buffer.from($bytes, "base64"));
  return mapFields(isPlain($object) ? $object : value, decode);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlain(value)) return value;
  return Object.keys(value)
    .toSorted()
    .map((key) => [key, sorted(value[key])]);
}

/** Keeps a key `__proto__` a key. */
function mapFields(fields: Fields, map: (value: unknown) => unknown): Fields {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([key, value]) => [key, map(value)]));
}

/** Leaves instances of classes unchanged: they cannot be stored, and the drawer refuses them. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
