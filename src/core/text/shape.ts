/** Validates user input against a schema: reports the first mistake, and the nearest spelling. */
import * as z from "zod";
import { nearest, SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { checkJson } from "./json.ts";
import { limit } from "../limit.ts";

type Path = readonly PropertyKey[];

export interface InputOrigin {
  /** The name of the input for people: the path of a file. */
  readonly where?: string;
  /** The line of a field, if known. */
  readonly lineOf?: (path: Path) => number | undefined;
}

/** The parsed value; undefined fields count as absent. */
export function checkShape<S extends z.ZodObject>(
  schema: S,
  given: unknown,
  { what, where, lineOf }: InputOrigin & { readonly what: string; readonly where: string },
): z.infer<S> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SkeinError("invalid", `${where}: expected a ${what} object, got ${kindOf(given)}`, {
      hint: `fields: ${Object.keys(schema.shape).join(", ")}`,
    });
  }
  const value = withoutUndefined(given);
  checkJson(`${where}: ${what}`, value);
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const { path, message, hint } = complaintAbout(schema, value);
  const line = lineOf?.(path);
  const place = line === undefined ? where : `${where}, line ${line}`;
  throw new SkeinError("invalid", `${place}: ${message}`, { hint });
}

/** The first mistake of an invalid value, and the nearest spelling. */
export function complaintAbout(schema: z.ZodObject, value: unknown): Complaint {
  const checked = schema.safeParse(value, { error: (issue) => wordsFor(issue as z.core.$ZodIssue) });
  // A misspelled name is often the reason why another is missing.
  const issues = checked.success ? [] : checked.error.issues;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  if (issue === undefined) return { path: [], message: "invalid value", hint: undefined };
  return complaint(schema, nearestIn(issue), value);
}

/** For a union: the mistake of the closest alternative. */
function nearestIn(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  let best: z.core.$ZodIssue | null = null;
  for (const branch of issue.errors) {
    const [first] = branch.map((inner) => nearestIn({ ...inner, path: [...issue.path, ...inner.path] }));
    if (first !== undefined && first.path.length > (best ?? issue).path.length) best = first;
  }
  return best ?? issue;
}

/** Units, singular and plural. */
const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  array: ["entry", "entries"],
  string: ["character", "characters"],
  record: ["field", "fields"],
};

/** The complaint in Skein's words, if the schema has none. */
function wordsFor(issue: z.core.$ZodIssue): string {
  if (issue.code !== "too_small" && issue.code !== "too_big") return "invalid value";
  const few = issue.code === "too_small";
  const given = Number(few ? issue.minimum : issue.maximum);
  // Only whole numbers have exclusive bounds: above 0 is at least 1.
  const bound = issue.inclusive === false ? given + (few ? 1 : -1) : given;
  const unit = units[issue.origin]?.[bound === 1 ? 0 : 1];
  return `expected ${few ? "at least" : "at most"} ${bound}${unit === undefined ? "" : ` ${unit}`}`;
}

export interface Complaint {
  readonly path: Path;
  readonly message: string;
  readonly hint: string | undefined;
}

function complaint(schema: z.ZodObject, issue: z.core.$ZodIssue, value: unknown): Complaint {
  const { path } = issue;
  const field = writtenPath(path);
  const found = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)?.[key], value);
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const message = `unknown field ${quote(writtenPath([...path, key]))}`;
    return { path: [...path, key], message, hint: meant(key, fieldsAt(schema, path)) };
  }
  const known = issue.code === "invalid_value" ? issue.values.map(String) : [];
  if (found === undefined) {
    const hint = known.length === 0 ? undefined : `one of ${known.join(", ")}`;
    return { path, message: `${field}: missing`, hint };
  }
  if (known.length > 0) {
    const hint = meant(typeof found === "string" ? found : "", known);
    return { path, message: `${field}: expected one of ${known.join(", ")}, got ${quote(found)}`, hint };
  }
  const message =
    issue.code === "invalid_type"
      ? `${field}: expected ${kinds(issue.expected)}, got ${shown(found)}`
      : `${field}: ${issue.message}${typeof found === "number" ? `, got ${found}` : ""}`;
  return { path, message, hint: undefined };
}

/** A number as it is; of other values the kind, because a text may be long, or a secret. */
const shown = (value: unknown): string => {
  if (typeof value !== "number") return kindOf(value);
  // JSON has no infinity: 1e999 parses as one.
  return Math.abs(value) === Infinity ? "a number out of range" : String(value);
};

function meant(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? `one of ${known.join(", ")}` : `did you mean "${near}"?`;
}

/** `permissions[0].rule` */
export const writtenPath = (path: Path): string =>
  path
    .map((key, place) => (typeof key === "number" ? `[${key}]` : `${place === 0 ? "" : "."}${String(key)}`))
    .join("");

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return kinds(typeof value);
}

function kinds(name: string): string {
  const words: Readonly<Record<string, string>> = {
    string: "a text",
    number: "a number",
    int: "a whole number",
    boolean: "true or false",
    array: "a list",
    object: "an object",
  };
  return words[name] ?? name;
}

/** The names of the fields of the object at this path. */
function fieldsAt(whole: z.ZodObject, path: Path): string[] {
  let schema: unknown = whole;
  for (const key of path) {
    const inner = bareSchema(schema);
    if (inner instanceof z.ZodObject) schema = inner.shape[String(key)];
    else if (inner instanceof z.ZodArray) schema = inner.element;
  }
  const found = bareSchema(schema);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function bareSchema(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodReadonly;
  return isWrapped ? bareSchema(schema.unwrap()) : schema;
}

/** Undefined fields count as absent. `checkJson` rejects what is too deep. */
export function withoutUndefined(value: unknown, depth = 1): unknown {
  if (typeof value !== "object" || value === null || depth > limit.jsonDepthMax) return value;
  if (Array.isArray(value)) return value.map((inner) => withoutUndefined(inner, depth + 1));
  const above: unknown = Object.getPrototypeOf(value);
  if (above !== Object.prototype && above !== null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(fields.map(([key, inner]) => [key, withoutUndefined(inner, depth + 1)]));
}
