/**
 * Holding a value to a JSON Schema: the keywords that a contract may use, each as draft 2020-12 means it, or
 * draft 7 where only that has it. Which those are is for contract.ts to see to.
 */
import * as z from "zod";
import { sameJson } from "../../core/text/json.ts";

export type Plain = Readonly<Record<string, unknown>>;

export interface Wrong {
  /** Where in the value, as names and places. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Alternatives that refer to alternatives may multiply: a look at a value ends after so many schemas. */
const stepsMax = 200_000;

interface Look {
  readonly root: unknown;
  steps: number;
}

/** What is wrong with the value; empty when it fits. */
export function wrongsOf(schema: unknown, value: unknown): readonly Wrong[] {
  const look = { root: schema, steps: 0 };
  const found = check(look, schema, value, []);
  return look.steps > stepsMax
    ? [{ path: [], message: "it takes too long to hold it to the contract" }]
    : found;
}

type Path = readonly string[];
type Check = (look: Look, schema: unknown, value: unknown, path: Path) => readonly Wrong[];

const check: Check = (look, schema, value, path) => {
  if (schema === true) return [];
  if (schema === false) return [{ path, message: "nothing may stand here" }];
  if (++look.steps > stepsMax) return [{ path, message: "" }];
  const plain = schema as Plain;
  if (typeof plain["$ref"] === "string")
    return check(look, referred(look.root, plain["$ref"]) ?? false, value, path);
  const own = ownWrong(plain, value);
  if (own !== null) return [{ path, message: own }];
  const inside = Array.isArray(value)
    ? ofList(look, plain, value, path)
    : typeof value === "object" && value !== null
      ? ofObject(look, plain, value as Plain, path)
      : [];
  return [...inside, ...ofSeveral(look, plain, value, path)];
};

/** What a reference means: the whole, or one of the named schemas of the whole. */
export function referred(root: unknown, ref: string): unknown {
  if (ref === "#") return root;
  const [, list = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const names = (root as Plain)[list];
  const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
  return typeof names === "object" && names !== null && Object.hasOwn(names, key)
    ? (names as Plain)[key]
    : undefined;
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

const isOfType = (type: unknown, value: unknown): boolean =>
  type === "integer" ? Number.isInteger(value) : kindOf(value) === type;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const numberIn = (schema: Plain, word: string, otherwise: number): number =>
  typeof schema[word] === "number" ? schema[word] : otherwise;

/** What is said of the value itself, whatever is in it. */
function ownWrong(schema: Plain, value: unknown): string | null {
  const { type } = schema;
  const types = Array.isArray(type) ? (type as unknown[]) : [type];
  if (type !== undefined && !types.some((one) => isOfType(one, value)))
    return `expected ${types.join(" or ")}, received ${kindOf(value)}`;
  const one = Object.hasOwn(schema, "const") ? [schema["const"]] : null;
  for (const values of [one, schema["enum"]]) {
    if (Array.isArray(values) && !values.some((known) => sameJson(known, value)))
      return `expected ${values.map((known) => JSON.stringify(known)).join(" or ")}`;
  }
  if (typeof value === "string") return textWrong(schema, value);
  return typeof value === "number" ? numberWrong(schema, value) : null;
}

function textWrong(schema: Plain, text: string): string | null {
  const { pattern, format } = schema;
  const length = Array.from(text).length;
  const [least, most] = [numberIn(schema, "minLength", 0), numberIn(schema, "maxLength", Infinity)];
  if (length < least) return `expected at least ${least} characters, received ${length}`;
  if (length > most) return `expected at most ${most} characters, received ${length}`;
  if (typeof pattern === "string" && !new RegExp(pattern).test(text))
    return `expected a text of the pattern ${pattern}`;
  return typeof format !== "string" || isOfFormat(format, text) ? null : `expected a text that is ${format}`;
}

/** Formats that are held to. Any other would be a note at most. */
export const formats: readonly string[] = [
  "date-time",
  "date",
  "time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uuid",
  "guid",
  "mac",
  "cidr",
  "cidr-v6",
  "base64",
  "base64url",
  "e164",
  "iban",
  "jwt",
  "ulid",
];

const isOfFormat = (format: string, text: string): boolean =>
  !formats.includes(format) || z.fromJSONSchema({ type: "string", format }).safeParse(text).success;

function numberWrong(schema: Plain, value: number): string | null {
  const least = numberIn(schema, "minimum", -Infinity);
  const most = numberIn(schema, "maximum", Infinity);
  const above = schema["exclusiveMinimum"];
  const below = schema["exclusiveMaximum"];
  const step = schema["multipleOf"];
  if (value < least) return `expected at least ${least}`;
  if (value > most) return `expected at most ${most}`;
  if (typeof above === "number" && value <= above) return `expected more than ${above}`;
  if (typeof below === "number" && value >= below) return `expected less than ${below}`;
  return typeof step !== "number" || isMultiple(value, step) ? null : `expected a multiple of ${step}`;
}

/** Fractions are not kept to the last digit: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  if (value % step === 0) return true;
  const times = value / step;
  const isWhole = Number.isInteger(value) && Number.isInteger(step);
  return !isWhole && Math.abs(times - Math.round(times)) <= 4 * Number.EPSILON * Math.abs(times);
}

function ofObject(look: Look, schema: Plain, value: Plain, path: Path): readonly Wrong[] {
  const found: Wrong[] = [];
  const names = Object.keys(value);
  const [least, most] = [numberIn(schema, "minProperties", 0), numberIn(schema, "maxProperties", Infinity)];
  if (names.length < least) found.push({ path, message: `expected at least ${least} properties` });
  if (names.length > most) found.push({ path, message: `expected at most ${most} properties` });
  for (const name of listOf(schema["required"])) {
    if (Object.hasOwn(value, String(name))) continue;
    found.push({ path: [...path, String(name)], message: "it is required, and missing" });
  }
  const properties = (schema["properties"] ?? {}) as Plain;
  const patterns = Object.entries((schema["patternProperties"] ?? {}) as Plain).map(
    ([pattern, inner]) => [new RegExp(pattern), inner] as const,
  );
  for (const name of names) {
    const here = [...path, name];
    const told = patterns.filter(([pattern]) => pattern.test(name)).map(([, inner]) => inner);
    if (Object.hasOwn(properties, name)) told.push(properties[name]);
    if (told.length === 0) {
      const more = schema["additionalProperties"] ?? true;
      if (more === false) found.push({ path: here, message: "there is no such property" });
      else told.push(more);
    }
    for (const inner of told) found.push(...check(look, inner, value[name], here));
    const named = check(look, schema["propertyNames"] ?? true, name, here);
    for (const { message } of named) found.push({ path: here, message: `its name: ${message}` });
  }
  return found;
}

function ofList(look: Look, schema: Plain, list: readonly unknown[], path: Path): readonly Wrong[] {
  const found: Wrong[] = [];
  const { items, contains } = schema;
  const [least, most] = [numberIn(schema, "minItems", 0), numberIn(schema, "maxItems", Infinity)];
  if (list.length < least) found.push({ path, message: `expected at least ${least} items` });
  if (list.length > most) found.push({ path, message: `expected at most ${most} items` });
  const isOlder = Array.isArray(items);
  const first = isOlder ? (items as unknown[]) : listOf(schema["prefixItems"]);
  const rest = (isOlder ? schema["additionalItems"] : items) ?? true;
  list.forEach((item, place) => {
    found.push(...check(look, place < first.length ? first[place] : rest, item, [...path, String(place)]));
  });
  if (schema["uniqueItems"] === true && new Set(list.map(sorted)).size < list.length)
    found.push({ path, message: "expected items that differ from one another" });
  if (contains === undefined) return found;
  const count = list.filter((item) => check(look, contains, item, path).length === 0).length;
  const [few, many] = [numberIn(schema, "minContains", 1), numberIn(schema, "maxContains", Infinity)];
  if (count < few || count > many)
    found.push({ path, message: `${count} items are of the kind that it must contain` });
  return found;
}

/** The same text for the same value, in whatever order its names are. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? { "": Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)) }
      : inner,
  );

/** `allOf`, `anyOf` and `oneOf`, each by itself. */
function ofSeveral(look: Look, schema: Plain, value: unknown, path: Path): readonly Wrong[] {
  const found = listOf(schema["allOf"]).flatMap((inner) => check(look, inner, value, path));
  for (const word of ["anyOf", "oneOf"] as const) {
    if (schema[word] === undefined) continue;
    const tried = listOf(schema[word]).map((inner) => check(look, inner, value, path));
    const fit = tried.filter((wrongs) => wrongs.length === 0).length;
    const [only = []] = tried;
    if (fit === 0 && tried.length === 1) found.push(...only);
    else if (fit === 0) found.push({ path, message: `it fits none of the ${tried.length} of ${word}` });
    else if (fit > 1 && word === "oneOf") found.push({ path, message: `it fits ${fit} of oneOf, not one` });
  }
  return found;
}
