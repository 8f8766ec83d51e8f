/**
 * Validates JSON against a JSON Schema, with `@cfworker/json-schema`: it interprets the schema and compiles
 * no code from it. Errors name the field, and hold no text of the value, which may be secret.
 */
import { dereference, format, validate, type OutputUnit, type Schema } from "@cfworker/json-schema";
import * as z from "zod";
import { once } from "../../core/cache.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Each `rate: expected number, got string`. */
export type Validator = (value: unknown) => readonly string[];

/** Formats of zod's that the library lacks. */
const zodFormats = "guid mac cidr cidr-v6 base64 base64url e164 iban jwt ulid".split(" ");
for (const name of zodFormats) {
  const type = once(() => z.fromJSONSchema({ type: "string", format: name }));
  format[name] = (text) => type().safeParse(text).success;
}

/** Formats that a schema may name. */
export const formats: readonly string[] = [
  ..."date-time date time duration email hostname ipv4 ipv6 uri uuid".split(" "),
  ...zodFormats,
];

/** Keywords without effect on validation. The validator gets none of them: it resolves `$id` as a URL. */
export const annotations: readonly string[] =
  "$schema $id $comment title description examples default deprecated readOnly writeOnly".split(" ");

/** Keywords that hold schemas by name; and those that hold one schema, or a list. */
const named = ["properties", "patternProperties", "$defs", "definitions"];
const subschemas =
  "additionalProperties items contains propertyNames additionalItems prefixItems anyOf oneOf allOf".split(
    " ",
  );

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Prepares a schema once for many values. */
export function compileSchema(schema: unknown): Validator {
  const copy = copySchema(schema) as Schema;
  const lookup = dereference(copy);
  return (value) => describeErrors(validate(value, copy, "2020-12", lookup, false).errors);
}

/** A copy without annotations: the library marks the schemas that it reads. */
function copySchema(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !annotations.includes(keyword));
  return Object.fromEntries(
    kept.map(([keyword, value]) => {
      if (named.includes(keyword) && isJsonObject(value))
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copySchema(one)])),
        ];
      if (!subschemas.includes(keyword)) return [keyword, value];
      return [keyword, Array.isArray(value) ? value.map(copySchema) : copySchema(value)];
    }),
  );
}

/** The schemas directly inside a schema, each with the path to it. */
export function schemasIn(schema: JsonObject): (readonly [path: string, schema: unknown])[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const holdsMany = named.includes(keyword) || (subschemas.includes(keyword) && Array.isArray(value));
    if (holdsMany)
      return Object.entries(value as object).map(([name, one]) => [`${keyword}.${name}`, one] as const);
    return subschemas.includes(keyword) ? [[keyword, value] as const] : [];
  });
}

const unescapePointer = (text: string): string => text.replaceAll("~1", "/").replaceAll("~0", "~");

/** The schema that a reference names: the whole, or one of its definitions. */
export function resolveReference(root: unknown, ref: string): unknown {
  if (ref === "#") return root;
  const [, list = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const definitions = (root as JsonObject)[list];
  const key = unescapePointer(name);
  return isJsonObject(definitions) && Object.hasOwn(definitions, key) ? definitions[key] : undefined;
}

/** Keywords whose own error only says that a schema below them has errors. */
const containers = [...named, ...subschemas, "$ref"].filter(
  (keyword) => !["anyOf", "oneOf", "contains"].includes(keyword),
);

function describeErrors(errors: readonly OutputUnit[]): readonly string[] {
  const found: string[] = [];
  // The errors of each alternative say less than that none fits.
  let alternatives: string | null = null;
  for (const { keyword, keywordLocation, instanceLocation, error } of errors) {
    if (alternatives !== null && keywordLocation.startsWith(alternatives)) continue;
    if (containers.includes(keyword)) continue;
    if (keyword === "anyOf" || keyword === "oneOf") alternatives = `${keywordLocation}/`;
    const path = instanceLocation.split("/").slice(1).map(unescapePointer);
    found.push(describeError(path, keyword, error));
  }
  return found;
}

function describeError(path: readonly string[], keyword: string, error: string): string {
  const at = (...names: readonly string[]): string => (names.length === 0 ? "" : `${names.join(".")}: `);
  const [, missing] = /^Instance does not have required property "(.*)"\.$/s.exec(error) ?? [];
  if (missing !== undefined) return `${at(...path, missing)}required property is missing`;
  const [, got, expected] = /^Instance type "(\w+)" is invalid\. Expected (.*)\.$/.exec(error) ?? [];
  if (expected !== undefined)
    return `${at(...path)}expected ${expected.replaceAll('"', "").replaceAll(", ", " or ")}, got ${got}`;
  const [, needs, needed] = /^Instance has "([^"]*)" but does not have "([^"]*)"\.$/.exec(error) ?? [];
  if (needs !== undefined) return `${at(...path, needs)}requires "${needed}"`;
  if (keyword === "false") return `${at(...path)}not allowed`;
  return `${at(...path)}${error.replace(/^Instance/, "value").replace(/\.$/, "")}`;
}
