/** The form of an operation, derived from its schema; and the typed values, as sent. */
import { pairOf } from "../../core/text/pair.ts";
import * as z from "zod";
import type { Operation } from "../../call/operation.ts";

export type ParamKind = "text" | "long" | "number" | "flag" | "choice" | "list" | "pairs" | "loose" | "json";

export interface ParamField {
  readonly name: string;
  readonly kind: ParamKind;
  readonly isRequired: boolean;
  readonly choices: readonly string[];
  readonly charsMax: number | undefined;
  /** An empty field is null; an optional one is left out. */
  readonly orNull: boolean;
  /** A placeholder of a word or two. */
  readonly hint: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly properties?: unknown;
  readonly maxLength?: number;
}

const known = new WeakMap<Operation, readonly ParamField[]>();

/** Required fields come first. */
export function fieldsOf(operation: Operation): readonly ParamField[] {
  const before = known.get(operation);
  if (before !== undefined) return before;
  const { properties = {}, required = [] } = z.toJSONSchema(operation.params, {
    io: "input",
    unrepresentable: "any",
  }) as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  const isNeeded = (name: string): boolean => required.includes(name) || operation.args.includes(name);
  const fields = Object.entries(properties).map(([name, schema]) =>
    fieldOf(name, schema, isNeeded(name) && !isOptional(operation, name)),
  );
  const sorted = fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
  known.set(operation, sorted);
  return sorted;
}

const isOptional = ({ params }: Operation, name: string): boolean =>
  (params.shape[name] as { readonly def?: { readonly type?: string } } | undefined)?.def?.type === "optional";

function fieldOf(name: string, given: Schema, isRequired: boolean): ParamField {
  const options = given.anyOf ?? [given];
  const orNull = options.some(({ type }) => type === "null");
  const some = options.filter(({ type }) => type !== "null");
  const [only] = some;
  const schema = some.length === 1 && only !== undefined ? only : given;
  const kind = kindOf(schema, isRequired);
  return {
    name,
    kind,
    isRequired: isRequired && !orNull,
    choices: kind !== "choice" ? [] : schema.type === "boolean" ? ["true", "false"] : textsOf(schema.enum),
    charsMax: schema.maxLength,
    orNull: orNull && isRequired,
    hint: hintOf(kind, schema),
  };
}

const textsOf = (values: readonly unknown[] = []): string[] => values.map(String);
const shortChars = 400;

function kindOf(schema: Schema, isRequired: boolean): ParamKind {
  const { type, items, additionalProperties: more } = schema;
  if (schema.enum !== undefined) return "choice";
  if (type === "string") return (schema.maxLength ?? Infinity) <= shortChars ? "text" : "long";
  if (type === "integer" || type === "number") return "number";
  // A required boolean is a choice; an optional one is a flag, off by default.
  if (type === "boolean") return isRequired ? "choice" : "flag";
  if (type === "array") return items?.type === "string" ? "list" : "json";
  if (type === "object")
    return schema.properties === undefined && (more as Schema | undefined)?.type === "string"
      ? "pairs"
      : "json";
  return type === undefined ? "loose" : "json";
}

function hintOf(kind: ParamKind, schema: Schema): string {
  const hints: Readonly<Partial<Record<ParamKind, string>>> = {
    list: textsOf(schema.items?.enum).join(", ") || "one, another",
    pairs: "key=value, key=value",
    loose:
      schema.anyOf?.some(({ type }) => type === "integer") === true ? "a position or a name" : "text or JSON",
    json: schema.type === "array" ? "[ … ]" : "{ … }",
  };
  return hints[kind] ?? "";
}

/** The typed values: a text per field, also for a flag: "true", or empty. */
export type TypedValues = Readonly<Record<string, string>>;

/** Only the given values; throws a readable error for an invalid one. */
export function paramsOf(fields: readonly ParamField[], typed: TypedValues): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const field of fields) {
    const value = valueOf(field, typed[field.name] ?? "");
    if (value !== undefined) params[field.name] = value;
  }
  return params;
}

export function valueOf(field: ParamField, text: string): unknown {
  if (text.trim() === "") {
    if (field.orNull) return null;
    return field.isRequired && (field.kind === "text" || field.kind === "long") ? text : undefined;
  }
  switch (field.kind) {
    case "text":
    case "long":
      return text;
    case "number":
      return numberOf(field, text);
    case "flag":
      return text === "true" ? true : undefined;
    case "choice":
      return field.choices.join() === "true,false" ? text === "true" : text;
    case "list":
      return text.split(/[,\n]/).flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
    case "pairs":
      return pairsOf(field, text);
    case "loose":
      return looseOf(text);
    case "json":
      return jsonOf(field, text);
  }
}

function numberOf({ name }: ParamField, text: string): number {
  const value = Number(text);
  if (Number.isNaN(value)) throw new Error(`${name}: expected a number`);
  return value;
}

function pairsOf({ name }: ParamField, text: string): Record<string, string> {
  const pairs = text.split(/[,\n]/).flatMap((piece) => {
    if (piece.trim() === "") return [];
    const pair = pairOf(piece);
    if (pair === null) throw new Error(`${name}: expected key=value, key=value`);
    return [pair];
  });
  return Object.fromEntries(pairs);
}

/** A number, an object or a list if it parses as one; otherwise the text. */
function looseOf(text: string): unknown {
  if (!/^\s*(?:-?\d+(?:\.\d+)?\s*$|[[{"]|true\s*$|false\s*$|null\s*$)/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function jsonOf({ name, hint }: ParamField, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: expected JSON such as ${hint}: ${(error as Error).message}`, { cause: error });
  }
}

/** `withForks` as a label: "With forks". */
export function titleOf(name: string): string {
  const words = name.replace(
    /([a-z])([A-Z])/g,
    (_, before: string, letter: string) => `${before} ${letter.toLowerCase()}`,
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
}
