/** Query parameters. A text is unchanged; a list repeats the name; any other value is JSON. */
import * as z from "zod";
import type { Operation } from "../call/operation.ts";

type Form = "text" | "list" | "json";
/** What the schema of a field says about its encoding. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
}

/** Pure cache: the query parameters of an operation. */
const forms = new WeakMap<Operation, ReadonlyMap<string, Form>>();

/** The encoding of each parameter of an operation. */
export function queryForms(operation: Operation): ReadonlyMap<string, Form> {
  const known = forms.get(operation);
  if (known !== undefined) return known;
  const { properties = {} } = z.toJSONSchema(operation.params, { io: "input" }) as {
    readonly properties?: Readonly<Record<string, Schema>>;
  };
  const made = new Map(Object.entries(properties).map(([name, schema]) => [name, formOf(schema)]));
  forms.set(operation, made);
  return made;
}

function formOf({ type, items }: Schema): Form {
  if (type === "string") return "text";
  return type === "array" && items?.type === "string" ? "list" : "json";
}

/** The query string of these parameters, with its question mark; empty without parameters. */
export function encodeQuery(operation: Operation, params: Readonly<Record<string, unknown>>): string {
  const wanted = queryForms(operation);
  const pairs = Object.entries(params).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const form = wanted.get(name) ?? "json";
    const values = form === "list" && Array.isArray(value) && value.length > 0 ? value : [value];
    return values.map((one: unknown) => [name, typeof one === "string" ? quoted(one, form) : toText(one)]);
  });
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/** If JSON is also allowed, a text that looks like JSON is encoded as JSON. */
const quoted = (text: string, form: Form): string =>
  form === "json" && parsed(text) !== undefined ? JSON.stringify(text) : text;
const toText = (value: unknown): string => JSON.stringify(value);

/** The parameters of a query string, unvalidated. Unknown names are kept, to be reported. */
export function decodeQuery(operation: Operation, query: URLSearchParams): Record<string, unknown> {
  const wanted = queryForms(operation);
  const params: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    const [first = ""] = values;
    const form = wanted.get(name) ?? "text";
    if (form === "list") params[name] = values.length === 1 ? listIn(first) : values;
    else if (values.length > 1) params[name] = values;
    else params[name] = form === "text" ? first : (parsed(first) ?? first);
  }
  return { ...params };
}

/** A list may also be JSON. */
function listIn(text: string): unknown {
  const list = text.startsWith("[") ? parsed(text) : undefined;
  return Array.isArray(list) ? list : [text];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
