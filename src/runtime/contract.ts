/**
 * Contracts: a session declares for a topic what messages on it must look like, as a JSON Schema. Whoever
 * sends holds his message to it before anything is written. A message is a text: it fits if the JSON that it
 * spells does, or the text itself.
 */
import { z } from "zod";
import { Key } from "../core/catalogue/entry.ts";
import { SkeinError } from "../core/error.ts";
import { quote, type SessionId } from "../core/ids.ts";
import { checkJson } from "../core/json.ts";
import { limit } from "../core/limit.ts";
import type { Ref, State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { readContent } from "./content.ts";
import type { Context } from "./engine-context.ts";
import { safeJson } from "./redact.ts";
import type { Change } from "./writer.ts";

export interface Contract {
  readonly topic: string;
  /** Undefined when it was erased: then no message fits it. */
  readonly schema: unknown;
  /** Where it was declared. */
  readonly seq: number;
}

export async function declareContract(
  { world, writer, actor }: Context,
  session: SessionId,
  topic: string,
  schema: unknown,
): Promise<Change> {
  checkTopic(topic);
  checkSchema(schema);
  const safe = safeJson(world, schema);
  const digest = world.digest("", checkSchema(safe));
  return writer.change(session, { do: "contract", topic, schema: safe, digest }, { actor });
}

/** By topic. */
export async function readContracts(store: Store, session: SessionId, state: State): Promise<Contract[]> {
  const found: Contract[] = [];
  for (const [topic, { seq }] of state.standing.contracts.entries()) {
    const content = (await readContent(store, session, seq)) as { readonly schema?: unknown } | undefined;
    found.push({ topic, schema: content?.schema, seq });
  }
  return found;
}

export function checkTopic(topic: string): void {
  const wrong = Key.safeParse(topic).error?.issues[0];
  if (wrong !== undefined)
    throw new SkeinError("invalid", `${quote(topic)} is no topic: ${wrong.message}`, {
      hint: 'a topic is a short name, such as "rates"',
    });
}

/** Throws when the message breaks the contract that the receiver has for its topic. */
export async function holdTo(
  store: Store,
  { session, state }: { readonly session: SessionId; readonly state: State },
  { topic, text }: { readonly topic?: string | undefined; readonly text: string },
): Promise<void> {
  const contract = topic === undefined ? undefined : state.standing.contracts.get(topic);
  if (contract === undefined || topic === undefined) return;
  const made = await fitting(store, session, contract);
  const wrong = made === null ? "the contract was erased, so no message fits it" : complaint(made, text);
  if (wrong === null) return;
  throw new SkeinError("refused", `the message breaks the contract for ${quote(topic)}: ${wrong}`, {
    hint: `"skein contract ${session.slice(-6)}" shows what ${session} takes`,
  });
}

interface Fitting {
  readonly schema: z.ZodType;
  readonly hasPatterns: boolean;
}

/** By the salted hash of the content, so that no two contracts are ever taken for one another. */
const made = new Map<string, Fitting>();
const madeMax = 200;

async function fitting(store: Store, session: SessionId, { seq, hash }: Ref): Promise<Fitting | null> {
  const content = (await readContent(store, session, seq)) as { readonly schema?: unknown } | undefined;
  if (content === undefined) return null;
  const known = hash === null ? undefined : made.get(hash);
  if (known !== undefined) return known;
  const schema = z.fromJSONSchema(content.schema as Parameters<typeof z.fromJSONSchema>[0]);
  const fresh = { schema, hasPatterns: /"pattern(Properties)?":/.test(JSON.stringify(content.schema)) };
  if (made.size >= madeMax) made.clear();
  if (hash !== null) made.set(hash, fresh);
  return fresh;
}

/** The longest message that is held to a pattern: matching may take time that grows with the square of it. */
const patternedCharsMax = 16_384;

function complaint({ schema, hasPatterns }: Fitting, text: string): string | null {
  if (hasPatterns && text.length > patternedCharsMax)
    return `it has ${text.length} characters; where there are patterns, ${patternedCharsMax} at most`;
  const value = spelled(text);
  const asValue = value === undefined ? null : schema.safeParse(value);
  if (asValue?.success === true || schema.safeParse(text).success) return null;
  const { error } = asValue ?? schema.safeParse(text);
  return wordsOf(error?.issues ?? []);
}

/** The JSON that a text spells; undefined when it spells none, or none that could be stored. */
function spelled(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    checkJson("the message", value);
    return value;
  } catch {
    return undefined;
  }
}

function wordsOf(issues: readonly z.core.$ZodIssue[]): string {
  const first = issues.slice(0, 3).map(({ path, message }) => {
    const where = path.length === 0 ? "" : `at ${path.map((step) => String(step)).join(".")}: `;
    return `${where}${message}`;
  });
  const more = issues.length > 3 ? `; and ${issues.length - 3} more` : "";
  return `${first.join("; ")}${more}`.slice(0, 1_000);
}

/** What a schema must be to be one that messages can be held to. Gives its text. */
export function checkSchema(schema: unknown): string {
  const isSchema =
    typeof schema === "boolean" || (typeof schema === "object" && schema !== null && !Array.isArray(schema));
  if (!isSchema) throw notSchema(`${quote(schema)} is neither an object nor true or false`);
  checkJson("the contract", schema);
  const text = JSON.stringify(schema);
  const bytes = Buffer.byteLength(text);
  if (bytes > limit.contractBytesMax)
    throw notSchema(`it has ${bytes} bytes; at most ${limit.contractBytesMax} fit`);
  lookInto(schema, "");
  try {
    z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(undefined);
  } catch (cause) {
    throw notSchema(cause instanceof Error ? cause.message : String(cause), cause);
  }
  return text;
}

const notSchema = (why: string, cause?: unknown): SkeinError =>
  new SkeinError("invalid", `this is no schema that messages can be held to: ${why}`, {
    hint: 'a JSON Schema such as {"type":"object","properties":{"rate":{"type":"number"}},"required":["rate"]}',
    cause,
  });

/** Keywords that say something only of one type, and that would be passed over without it. */
const typed: Readonly<Record<string, string>> = {
  properties: "object",
  required: "object",
  additionalProperties: "object",
  patternProperties: "object",
  propertyNames: "object",
  minProperties: "object",
  maxProperties: "object",
  items: "array",
  prefixItems: "array",
  contains: "array",
  minItems: "array",
  maxItems: "array",
  uniqueItems: "array",
  pattern: "string",
  minLength: "string",
  maxLength: "string",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
};
const untyped = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "$ref"];
const notes = ["$schema", "$id", "$defs", "definitions", "title", "description", "examples", "default"];
/** Where schemas stand inside a schema: alone, in a list, or by name. */
const alone = ["additionalProperties", "items", "contains", "not", "propertyNames", "additionalItems"];
const listed = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions"];

type Plain = Readonly<Record<string, unknown>>;

/** Whatever would be passed over in silence is refused, so that a contract holds what it seems to hold. */
function lookInto(schema: unknown, path: string): void {
  const at = path === "" ? "" : ` at ${path}`;
  if (typeof schema === "boolean") return;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw notSchema(`${quote(schema)}${at} is no schema`);
  const plain = schema as Plain;
  const keywords = Object.keys(plain);
  const bare = keywords.find((keyword) => Object.hasOwn(typed, keyword));
  if (bare !== undefined && plain["type"] === undefined)
    throw notSchema(`"${bare}"${at} says nothing without "type": "${typed[bare]}"`);
  const known = keywords.some((word) => [...untyped, ...notes, "nullable", "format"].includes(word));
  if (keywords.length > 0 && !known) throw notSchema(`"${keywords[0]}"${at} is no keyword of a schema`);
  const values = [...(Array.isArray(plain["enum"]) ? (plain["enum"] as unknown[]) : []), plain["const"]];
  if (values.some((value) => typeof value === "object" && value !== null))
    throw notSchema(`enum and const${at} hold texts, numbers, true, false or null`);
  const patterns = [plain["pattern"], ...Object.keys((plain["patternProperties"] as Plain) ?? {})];
  for (const pattern of patterns) if (typeof pattern === "string") checkPattern(pattern, at);
  for (const [place, inner] of innerOf(plain)) lookInto(inner, path === "" ? place : `${path}.${place}`);
}

function innerOf(plain: Plain): readonly (readonly [string, unknown])[] {
  const found: (readonly [string, unknown])[] = [];
  for (const word of alone) {
    const inner = plain[word];
    // In older drafts the items of a list have a schema each.
    if (Array.isArray(inner)) inner.forEach((one, place) => found.push([`${word}.${place}`, one]));
    else if (inner !== undefined) found.push([word, inner]);
  }
  for (const word of listed) {
    const inner = plain[word];
    if (Array.isArray(inner)) inner.forEach((one, place) => found.push([`${word}.${place}`, one]));
  }
  for (const word of named) {
    const inner = plain[word];
    if (typeof inner !== "object" || inner === null) continue;
    for (const [name, one] of Object.entries(inner)) found.push([`${word}.${name}`, one]);
  }
  return found;
}

/**
 * Patterns that may take for ever: a repeated group that repeats inside, or that has alternatives; and
 * references back.
 */
function checkPattern(pattern: string, at: string): void {
  const plain = pattern.replaceAll(/\\[^1-9k]/g, "_").replaceAll(/\[[^\]]*\]/g, "_");
  const open: { repeats: boolean }[] = [];
  const repeated = (place: number): boolean => /^([*+]|\{\d+,\d*\})/.test(plain.slice(place));
  if (/\\[1-9k]/.test(plain)) throw notSchema(`the pattern ${quote(pattern)}${at} refers back`);
  for (let place = 0; place < plain.length; place++) {
    const sign = plain[place];
    if (sign === "(") open.push({ repeats: false });
    const inside = open.at(-1);
    if (inside !== undefined && (sign === "|" || repeated(place))) inside.repeats = true;
    if (sign !== ")") continue;
    const group = open.pop();
    const outside = open.at(-1);
    if (group?.repeats === true && repeated(place + 1))
      throw notSchema(`the pattern ${quote(pattern)}${at} repeats what repeats, which may take for ever`);
    if (group?.repeats === true && outside !== undefined) outside.repeats = true;
  }
}
