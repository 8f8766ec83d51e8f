/** Python types of JSON schemas: a TypedDict for each object, declared once. */
import type { TypeNames } from "./names.ts";
import { identityOf, isFieldName, literal, pascal, quoted, wrapped, type Schema } from "./schema.ts";

/** Parameters, or results. */
export type Direction = "input" | "output";

export interface Types {
  /** An annotation; `name` is for an object without a name. */
  typeOf(schema: Schema, io: Direction, name: string): string;
  /** The classes and aliases of all types so far. */
  declarations(): string[];
}

/** Names that the file has for something else. */
const taken = [
  "Any",
  "AsyncClient",
  "AsyncSession",
  "Client",
  "Dict",
  "FeedUpdate",
  "List",
  "Literal",
  "Mapping",
  "Optional",
  "Sequence",
  "Session",
  "Source",
  "Stream",
  "Union",
];

export function makeTypes(names: TypeNames): Types {
  const known = new Map<string, string>();
  const used = new Set(taken);
  const classes: string[] = [];
  const aliases: string[] = [];

  const freeName = (wanted: string): string => {
    for (let n = 1; ; n += 1) {
      const name = n === 1 ? wanted : `${wanted}${n}`;
      if (used.has(name)) continue;
      used.add(name);
      return name;
    }
  };

  function typeOf(schema: Schema, io: Direction, wanted: string): string {
    const some = schema.anyOf ?? schema.oneOf;
    if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
      return objectOf(schema, io, wanted);
    if (some !== undefined) return unionOf(schema, some, io, wanted);
    if (schema.const !== undefined) return literalOf([schema.const]);
    if (schema.enum !== undefined) return literalOf(schema.enum);
    if (Array.isArray(schema.type)) return joined((schema.type as string[]).map((type) => plain(type)));
    if (schema.type === "array") {
      const item = typeOf(schema.items ?? {}, io, singular(wanted));
      return `${io === "input" ? "Sequence" : "List"}[${item}]`;
    }
    if (schema.type === "object") {
      const { additionalProperties: more } = schema;
      const value = typeof more === "object" ? typeOf(more, io, `${wanted}Value`) : "Any";
      return `${io === "input" ? "Mapping" : "Dict"}[str, ${value}]`;
    }
    return plain(schema.type as string | undefined);
  }

  function objectOf(schema: Schema, io: Direction, wanted: string): string {
    const key = `${io} ${identityOf(schema)}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const name = freeName(names.get(key) ?? pascal(wanted));
    known.set(key, name);
    classes.push(classText(name, schema, (field, one) => typeOf(one, io, name + pascal(field))));
    return name;
  }

  function unionOf(schema: Schema, some: readonly Schema[], io: Direction, wanted: string): string {
    const key = `${io} ${identityOf(schema)}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const own = names.get(key);
    const name = own === undefined ? null : freeName(own);
    if (name !== null) known.set(key, name);
    const text = joined(
      some.map((one, at) => typeOf(one, io, memberName(name ?? pascal(wanted), one, at, some.length))),
    );
    if (name === null) return text;
    aliases.push(`${name} = ${text}`);
    return name;
  }

  return { typeOf, declarations: () => [...classes, aliases.join("\n")] };
}

const singular = (name: string): string => name.replace(/ies$/, "y").replace(/s$/, "");

/** `AtTrigger` for the kind "at"; the plain name where only one of them is an object. */
function memberName(parent: string, { properties = {} }: Schema, at: number, many: number): string {
  const tag = properties["kind"]?.const ?? properties["type"]?.const;
  if (typeof tag === "string") return pascal(tag) + parent;
  return many <= 2 ? parent : `${parent}${at + 1}`;
}

function plain(type: string | undefined): string {
  if (type === "string") return "str";
  if (type === "integer") return "int";
  if (type === "number") return "float";
  if (type === "boolean") return "bool";
  return type === "null" ? "None" : "Any";
}

const literalOf = (values: readonly unknown[]): string => `Literal[${values.map(literal).join(", ")}]`;

function joined(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.includes("Any")) return "Any";
  const some = distinct.filter((type) => type !== "None");
  const union = some.length === 1 ? (some[0] ?? "None") : `Union[${some.join(", ")}]`;
  return some.length === distinct.length ? union : `Optional[${union}]`;
}

type FieldType = (name: string, schema: Schema) => string;

/** Required fields in a class, optional ones in a class that extends it: Python 3.9 has no other way. */
function classText(name: string, schema: Schema, typeOf: FieldType): string {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties).map(([field, one]) => ({
    field,
    type: typeOf(field, one),
    about: one.description,
    isRequired: required.includes(field),
  }));
  const needed = fields.filter(({ isRequired }) => isRequired);
  const optional = fields.filter(({ isRequired }) => !isRequired);
  if (optional.length === 0) return dictText(name, "TypedDict", needed, "");
  if (needed.length === 0) return dictText(name, "TypedDict", optional, ", total=False");
  const base = dictText(`_${name}`, "TypedDict", needed, "");
  return `${base}\n\n\n${dictText(name, `_${name}`, optional, ", total=False")}`;
}

interface Field {
  readonly field: string;
  readonly type: string;
  readonly about: string | undefined;
}

function dictText(name: string, base: string, fields: readonly Field[], total: string): string {
  const odd = fields.filter(({ field }) => !isFieldName(field));
  const plain = fields.filter(({ field }) => isFieldName(field));
  const lines = plain.map(({ field, type, about }) => `${commentOf(about)}    ${field}: ${type}`);
  if (odd.length === 0) return `class ${name}(${base}${total}):\n${lines.join("\n")}`;
  // Names such as "from" need the other form.
  const pairs = odd.map(({ field, type }) => `${quoted(field)}: ${quoted(type)}`).join(", ");
  const other = `_${name.replace(/^_/, "")}${total === "" ? "Required" : "Optional"}`;
  const functional = `${other} = TypedDict(${quoted(other)}, {${pairs}}${total})`;
  const bases = base === "TypedDict" ? other : `${base}, ${other}`;
  const body = lines.length === 0 ? "    pass" : lines.join("\n");
  return `${functional}\n\n\nclass ${name}(${bases}${total}):\n${body}`;
}

const commentOf = (about: string | undefined): string =>
  about === undefined
    ? ""
    : wrapped(about)
        .map((line) => `    # ${line}\n`)
        .join("");
