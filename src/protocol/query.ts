/**
 * Parameters in the query of an address. A text stands as it is; a list is the same name several times; any
 * other value is JSON.
 */
import * as z from "zod";
import type { Operation } from "../call/operation.ts";

type Form = "text" | "list" | "json";
/** What the schema of a field says of how it is written. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
}

/** Pure cache: what an operation takes in its query. */
const forms = new WeakMap<Operation, ReadonlyMap<string, Form>>();

/** How each parameter of an operation is written. */
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

/** The query for these parameters, with its question mark; empty when there are none. */
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

/** Where JSON is meant too, a text that would be taken for JSON is written as JSON. */
const quoted = (text: string, form: Form): string =>
  form === "json" && parsed(text) !== undefined ? JSON.stringify(text) : text;
const toText = (value: unknown): string => JSON.stringify(value);

/** The parameters that a query holds, not yet checked. A name that nobody knows is kept, to be told of. */
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

/** A list may also be written as JSON. */
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
