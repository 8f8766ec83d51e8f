/**
 * Checks a schema before it becomes a contract. A keyword that a validator ignores is refused, so that a
 * contract means what it says; so are endless references, and patterns that take exponential time.
 */
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { checkJson } from "../../core/text/json.ts";
import {
  annotations,
  compileSchema,
  formats,
  isJsonObject,
  resolveReference,
  schemasIn,
  type JsonObject,
} from "./schema.ts";

const types = ["object", "array", "string", "number", "integer", "boolean", "null"];
const schema = { type: ["object", "boolean"] };
const schemas = { type: "array", items: schema, minItems: 1 };
const schemasByName = { type: "object", additionalProperties: schema };
const count = { type: "integer", minimum: 0 };
const number = { type: "number" };
const scalar = { type: ["string", "number", "boolean", "null"] };

/** Keywords that apply to values of one type. */
const typed = {
  properties: schemasByName,
  patternProperties: schemasByName,
  additionalProperties: schema,
  propertyNames: schema,
  required: { type: "array", items: { type: "string" } },
  minProperties: count,
  maxProperties: count,
  items: { type: ["object", "boolean", "array"], items: schema, minItems: 1 },
  prefixItems: schemas,
  additionalItems: schema,
  contains: schema,
  minContains: count,
  maxContains: count,
  minItems: count,
  maxItems: count,
  uniqueItems: { type: "boolean" },
  pattern: { type: "string" },
  minLength: count,
  maxLength: count,
  format: { enum: formats },
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: { type: "number", exclusiveMinimum: 0 },
};

/** The schema of an accepted schema, of one level: those inside are checked one by one, with their path. */
const violationsOf = compileSchema({
  properties: {
    ...typed,
    type: { anyOf: [{ enum: types }, { type: "array", items: { enum: types }, minItems: 1 }] },
    enum: { type: "array", items: scalar },
    const: scalar,
    anyOf: schemas,
    oneOf: schemas,
    allOf: schemas,
    $ref: { type: "string" },
    $defs: schemasByName,
    definitions: schemasByName,
    ...Object.fromEntries(annotations.map((keyword) => [keyword, true])),
  },
  additionalProperties: false,
  dependentRequired: {
    // Without a type the keyword would apply to some values and ignore all others.
    ...Object.fromEntries(Object.keys(typed).map((keyword) => [keyword, ["type"]])),
    minContains: ["type", "contains"],
    maxContains: ["type", "contains"],
    additionalItems: ["type", "items"],
  },
});

const refusal = (reason: string, cause?: unknown): SkeinError =>
  new SkeinError("invalid", `contract: ${reason}`, {
    hint: 'a JSON Schema such as {"type":"object","properties":{"rate":{"type":"number"}}}',
    cause,
  });

/** Of the kinds of items that an agent declares. */
export function checkKindSchemas(kinds: Readonly<Record<string, { readonly schema?: unknown }>>): void {
  for (const [kind, { schema: given }] of Object.entries(kinds)) {
    try {
      if (given !== undefined) checkSchema(given);
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      const message = error.message.replace(/^contract: /, `kinds.${kind}.schema: `);
      throw new SkeinError(error.code, message, error.hint === undefined ? {} : { hint: error.hint });
    }
  }
}

/** Returns the schema's text. */
export function checkSchema(given: unknown): string {
  if (typeof given !== "boolean" && !isJsonObject(given))
    throw refusal(`expected a schema (an object or a boolean), got ${quote(given)}`);
  checkJson("the contract", given);
  const text = JSON.stringify(given);
  const bytes = Buffer.byteLength(text);
  if (bytes > limit.contractBytesMax)
    throw refusal(`the schema has ${bytes} bytes, the limit is ${limit.contractBytesMax}`);
  checkLevel(given, "", given);
  return text;
}

function checkLevel(given: unknown, path: string, root: unknown): void {
  if (!isJsonObject(given)) return;
  const where = path === "" ? "" : `${path}.`;
  const [violation] = violationsOf(given);
  if (violation !== undefined) throw refusal(`${where}${violation}`);
  const { items, prefixItems, additionalItems, $ref: ref, pattern, patternProperties } = given;
  if (additionalItems !== undefined && !Array.isArray(items))
    throw refusal(`${where}additionalItems: applies only to a list of items`);
  if (prefixItems !== undefined && Array.isArray(items))
    throw refusal(`${where}items: expected one schema next to prefixItems, got a list`);
  if (typeof ref === "string") checkReference(given, ref, where, root);
  const patterns = [pattern, ...Object.keys(patternProperties ?? {})];
  for (const one of patterns) if (typeof one === "string") checkPattern(one, where);
  for (const [name, inner] of schemasIn(given)) checkLevel(inner, `${where}${name}`, root);
}

/** A reference stands alone, resolves, and reaches no schema again before it reads a part of the value. */
function checkReference(given: JsonObject, ref: string, where: string, root: unknown): void {
  const other = Object.keys(given).find(
    (keyword) => !["$ref", "$defs", "definitions", ...annotations].includes(keyword),
  );
  if (other !== undefined)
    throw refusal(`${where}${other}: some validators ignore keywords next to $ref; put both into allOf`);
  if (resolveReference(root, ref) === undefined)
    throw refusal(`${where}$ref: expected "#" or a name in $defs or definitions, got ${quote(ref)}`);
  const seen = new Set<unknown>();
  const visit = (one: unknown): void => {
    if (!isJsonObject(one) || seen.has(one)) return;
    if (one === given) throw refusal(`${where}$ref: ${quote(ref)} refers to itself`);
    seen.add(one);
    if (typeof one["$ref"] === "string") visit(resolveReference(root, one["$ref"]));
    for (const keyword of ["allOf", "anyOf", "oneOf"])
      if (Array.isArray(one[keyword])) one[keyword].forEach(visit);
  };
  visit(resolveReference(root, ref));
}

/** Refuses what may take exponential time: back references, repeated groups that repeat or branch inside. */
function checkPattern(pattern: string, where: string): void {
  try {
    RegExp(pattern, "u");
  } catch (cause) {
    throw refusal(`${where}pattern: ${errorText(cause)}`, cause);
  }
  const plain = pattern.replaceAll(/\\[^1-9k]/g, "_").replaceAll(/\[[^\]]*(?:\]|$)/g, "_");
  const open: { repeats: boolean }[] = [];
  const repeated = (index: number): boolean => /^([*+]|\{\d+,\d*\})/.test(plain.slice(index));
  if (/\\[1-9k]/.test(plain)) throw refusal(`${where}pattern: ${quote(pattern)} has a back reference`);
  for (let index = 0; index < plain.length; index++) {
    const sign = plain[index];
    if (sign === "(") open.push({ repeats: false });
    const inside = open.at(-1);
    if (inside !== undefined && (sign === "|" || repeated(index))) inside.repeats = true;
    if (sign !== ")") continue;
    const group = open.pop();
    const outside = open.at(-1);
    if (group?.repeats === true && repeated(index + 1))
      throw refusal(`${where}pattern: ${quote(pattern)} nests repetitions, which may take exponential time`);
    if (group?.repeats === true && outside !== undefined) outside.repeats = true;
  }
}
