/** JSON schemas as the OpenAPI description has them, and names in Python. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
}

/** The keys that make a type; limits and descriptions do not. */
const ofTypes = new Set([
  "type",
  "const",
  "enum",
  "anyOf",
  "oneOf",
  "items",
  "properties",
  "required",
  "additionalProperties",
]);

/** Equal for schemas with the same Python type. */
export const identityOf = (schema: Schema): string => JSON.stringify(typeOnly(schema));

function typeOnly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(typeOnly);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([name]) => ofTypes.has(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      name === "properties"
        ? Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, typeOnly(one)]))
        : typeOnly(value),
    ]),
  );
}

/** Whether null is a value of it. */
export function isNullable({ type, const: constant, enum: values, anyOf, oneOf }: Schema): boolean {
  const some = anyOf ?? oneOf;
  if (some !== undefined) return some.some(isNullable);
  if (constant !== undefined) return constant === null;
  if (values !== undefined) return values.includes(null);
  return type === undefined || [type].flat().includes("null");
}

/** As a string of Python: JSON's are. */
export const quoted = (text: string): string => JSON.stringify(text);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Words that Python keeps to itself, as far as names of the interface could be one. */
const keywords =
  /^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)$/;

/** Whether a class can have it as a field. */
export const isFieldName = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !keywords.test(name);

/** The name of a method or of its parameter: `from_`, `expires_after_idle_ms`. */
export const argumentNameOf = (name: string): string =>
  keywords.test(snake(name)) ? `${snake(name)}_` : snake(name);

export const pascal = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("");

/** As a constant of Python. */
export function literal(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

const columns = 96;

/** A text in lines. */
export function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 1 > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
