/**
 * Contracts: a session declares for a topic what messages on it must look like, as a JSON Schema. Whoever
 * sends holds his message to it before anything is written. A message is a text: it fits if the JSON that it
 * spells does, or the text itself.
 */
import { Key } from "../../core/catalog/entry.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { Ref, State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { inTime } from "./run-with-timeout.ts";
import { formats, referred, wrongsOf, type Plain, type Wrong } from "./schema.ts";
import type { Change } from "../log/writer.ts";

export interface Contract {
  readonly topic: string;
  /** Undefined when it was erased: then no message fits it. */
  readonly schema: unknown;
  /** Where it was declared. */
  readonly seq: number;
}

export async function declareContract(
  { world, writer, actor }: Deps,
  session: SessionId,
  topic: string,
  schema: unknown,
): Promise<Change> {
  checkTopic(topic);
  const digest = world.digest("", checkSchema(schema));
  return writer.change(session, { do: "contract", topic, schema, digest }, { actor });
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
  readonly schema: unknown;
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
  const { schema } = content;
  const fresh = { schema, hasPatterns: /"pattern(Properties)?":/.test(JSON.stringify(schema)) };
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
  const find = (): readonly Wrong[] => {
    const asText = wrongsOf(schema, text);
    return asText.length === 0 || value === undefined ? asText : wrongsOf(schema, value);
  };
  // A pattern may go through more ways of matching a text than could be tried in a lifetime.
  const wrongs = hasPatterns ? inTime(find, limit.contractMs) : find();
  if (wrongs === null) return `it takes more than ${limit.contractMs} ms to hold it to the patterns`;
  return wrongs.length === 0 ? null : wordsOf(wrongs);
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

function wordsOf(wrongs: readonly Wrong[]): string {
  const first = wrongs.slice(0, 3).map(({ path, message }) => {
    const where = path.length === 0 ? "" : `at ${path.join(".")}: `;
    return `${where}${message}`;
  });
  const more = wrongs.length > 3 ? `; and ${wrongs.length - 3} more` : "";
  return `${first.join("; ")}${more}`.slice(0, 1_000);
}

/** What a schema must be to be one that messages can be held to. Gives its text. */
function checkSchema(schema: unknown): string {
  if (!isSchema(schema)) throw notSchema(`${quote(schema)} is neither an object nor true or false`);
  checkJson("the contract", schema);
  const text = JSON.stringify(schema);
  const bytes = Buffer.byteLength(text);
  if (bytes > limit.contractBytesMax)
    throw notSchema(`it has ${bytes} bytes; at most ${limit.contractBytesMax} fit`);
  lookInto(schema, "", schema);
  return text;
}

const notSchema = (why: string, cause?: unknown): SkeinError =>
  new SkeinError("invalid", `this is no schema that messages can be held to: ${why}`, {
    hint: 'a JSON Schema such as {"type":"object","properties":{"rate":{"type":"number"}}}',
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
  additionalItems: "array",
  contains: "array",
  minContains: "array",
  maxContains: "array",
  minItems: "array",
  maxItems: "array",
  uniqueItems: "array",
  pattern: "string",
  minLength: "string",
  maxLength: "string",
  format: "string",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
};
const untyped = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];
const notes = [
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "examples",
  "default",
  "deprecated",
  "readOnly",
  "writeOnly",
];
const types = ["object", "array", "string", "number", "integer", "boolean", "null"];

type Shape = readonly [fits: (value: unknown) => boolean, what: string];
const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isSchema = (value: unknown): boolean => typeof value === "boolean" || isPlain(value);
const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const count: Shape = [(value) => Number.isSafeInteger(value) && Number(value) >= 0, "a whole number"];
const number: Shape = [isNumber, "a number"];
const schemaShape: Shape = [isSchema, "a schema"];
const schemas: Shape = [
  (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  "a list of schemas",
];
const byName: Shape = [(value) => isPlain(value) && Object.values(value).every(isSchema), "schemas by name"];
const isType = (value: unknown): boolean => types.includes(value as string);

/** What stands behind each keyword. What does not would be passed over. */
const shapes: Readonly<Record<string, Shape>> = {
  properties: byName,
  patternProperties: byName,
  $defs: byName,
  definitions: byName,
  additionalProperties: schemaShape,
  propertyNames: schemaShape,
  contains: schemaShape,
  additionalItems: schemaShape,
  prefixItems: schemas,
  anyOf: schemas,
  oneOf: schemas,
  allOf: schemas,
  minProperties: count,
  maxProperties: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minLength: count,
  maxLength: count,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  items: [(value) => isSchema(value) || schemas[0](value), "a schema, or a list of them"],
  multipleOf: [(value) => isNumber(value) && Number(value) > 0, "a number above 0"],
  required: [(value) => Array.isArray(value) && value.every(isText), "a list of names"],
  uniqueItems: [(value) => typeof value === "boolean", "true or false"],
  enum: [(value) => Array.isArray(value), "a list of values"],
  type: [
    (value) => (Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value)),
    `one of ${types.join(", ")}, or a list of them`,
  ],
  pattern: [isText, "a text"],
  format: [(value) => formats.includes(value as string), `one of ${formats.join(", ")}`],
  $ref: [isText, "a text"],
};

/** Where schemas stand inside a schema: alone, in a list, or by name. */
const alone = ["additionalProperties", "items", "contains", "propertyNames", "additionalItems"];
const listed = ["anyOf", "oneOf", "allOf", "prefixItems"];
const named = ["properties", "patternProperties", "$defs", "definitions"];

/** Whatever would be passed over in silence is refused, so that a contract holds what it seems to hold. */
function lookInto(schema: unknown, path: string, root: unknown): void {
  const at = path === "" ? "" : ` at ${path}`;
  if (typeof schema === "boolean") return;
  const plain = schema as Plain;
  const keywords = Object.keys(plain);
  const isKnown = (word: string): boolean =>
    Object.hasOwn(typed, word) || untyped.includes(word) || notes.includes(word);
  const strange = keywords.find((word) => !isKnown(word));
  if (strange !== undefined) throw notSchema(`"${strange}"${at} is no keyword that is held to`);
  const bare = keywords.find((keyword) => Object.hasOwn(typed, keyword));
  if (bare !== undefined && plain["type"] === undefined)
    throw notSchema(`"${bare}"${at} says nothing without "type": "${typed[bare]}"`);
  for (const word of keywords) {
    const [fits, what] = shapes[word] ?? [];
    if (fits?.(plain[word]) === false)
      throw notSchema(`"${word}"${at} is ${quote(plain[word])}, not ${what}`);
  }
  checkSense(plain, at);
  const { $ref: ref } = plain;
  if (typeof ref === "string") checkReference(plain, ref, at, root);
  const patterns = [plain["pattern"], ...Object.keys((plain["patternProperties"] as Plain) ?? {})];
  for (const pattern of patterns) if (typeof pattern === "string") checkPattern(pattern, at);
  for (const [place, inner] of innerOf(plain))
    lookInto(inner, path === "" ? place : `${path}.${place}`, root);
}

/** Keywords that do not go together. */
function checkSense(plain: Plain, at: string): void {
  const listed = Array.isArray(plain["enum"]) ? (plain["enum"] as unknown[]) : [];
  const values = [...listed, ...(Object.hasOwn(plain, "const") ? [plain["const"]] : [])];
  if (values.some((value) => typeof value === "object" && value !== null))
    throw notSchema(`enum and const${at} hold texts, numbers, true, false or null`);
  if (plain["additionalItems"] !== undefined && !Array.isArray(plain["items"]))
    throw notSchema(`"additionalItems"${at} says nothing without a list of "items"`);
  if (Array.isArray(plain["items"]) && plain["prefixItems"] !== undefined)
    throw notSchema(`"prefixItems" and a list of "items"${at} say the same thing twice`);
  const counted = ["minContains", "maxContains"].find((word) => plain[word] !== undefined);
  if (counted !== undefined && plain["contains"] === undefined)
    throw notSchema(`"${counted}"${at} says nothing without "contains"`);
}

/** A reference stands alone, is found, and does not lead back to itself before anything was looked at. */
function checkReference(plain: Plain, ref: string, at: string, root: unknown): void {
  const beside = Object.keys(plain).find((word) => word !== "$ref" && !notes.includes(word));
  if (beside !== undefined)
    throw notSchema(`"${beside}" beside "$ref"${at} is passed over by some; put both into "allOf"`);
  if (referred(root, ref) === undefined)
    throw notSchema(`$ref${at}: ${quote(ref)} is not "#", nor a name in "$defs" or "definitions"`);
  const seen = new Set<unknown>();
  const visit = (schema: unknown): void => {
    if (typeof schema !== "object" || schema === null || seen.has(schema)) return;
    if (schema === plain) throw notSchema(`$ref${at}: ${quote(ref)} leads back to itself`);
    seen.add(schema);
    const next = schema as Plain;
    if (typeof next["$ref"] === "string") visit(referred(root, next["$ref"]));
    for (const word of ["allOf", "anyOf", "oneOf"])
      if (Array.isArray(next[word])) (next[word] as unknown[]).forEach(visit);
  };
  visit(referred(root, ref));
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
  try {
    RegExp(pattern);
  } catch (cause) {
    throw notSchema(`${errorText(cause)}${at}`, cause);
  }
  const plain = pattern.replaceAll(/\\[^1-9k]/g, "_").replaceAll(/\[[^\]]*(?:\]|$)/g, "_");
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
