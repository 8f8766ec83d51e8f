/**
 * The parameters of a call on the command line: each an argument or an option, by its schema and by the
 * spelling that the description of the verb gives. An object of scalars, such as a budget, is one option for
 * each of its fields.
 */
import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Flag, Operation } from "../../call/operation.ts";
import { errorText } from "../../core/first-error.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { oneOf, parseNumber, parsePlace } from "./args.ts";
import { jsonOf, labelsOf, readText, valueOf } from "./input.ts";
import type { Option } from "./verb.ts";

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/**
 * `position`: a position or the name of a checkpoint, for the position. `any`: JSON. `words`: all words that
 * are left, or standard input. `file`: JSON in a file.
 */
type Form = Option["type"] | "choice" | "pairs" | "position" | "any" | "words" | "file";

export interface Parameter {
  /** Its place in the parameters of the call: `["budget", "usd"]`. */
  readonly path: readonly string[];
  /** Its name on the command line. */
  readonly name: string;
  readonly form: Form;
  /** As in the usage, such as `TOPIC?`; null for an option. */
  readonly arg: string | null;
  readonly option: Option;
  readonly is: unknown;
  readonly choices: readonly string[];
}

export type Word = string | number | boolean | readonly string[] | undefined;

export function parametersOf({ params, args, verb }: Operation): readonly Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
  }) as Schema;
  const places = verb?.args ?? args;
  const found = Object.entries(properties).flatMap(([field, schema]) => {
    const spelled = verb?.flags?.[field];
    if (spelled === null) return [];
    const flag = typeof spelled === "string" ? { name: spelled } : (spelled ?? {});
    const fields = Object.entries(schema.properties ?? {});
    if (spelled === undefined && fields.length > 0)
      return fields.map(([inner, one]) => parameter([field, inner], one, flagOf(verb?.flags, inner), null));
    const place = places.find((one) => one.replace("?", "") === field);
    const isOptional = place?.endsWith("?") === true || !required.includes(field);
    return [parameter([field], schema, flag, place === undefined ? null : isOptional)];
  });
  const order = ({ path: [field = ""] }: Parameter): number =>
    places.findIndex((one) => one.replace("?", "") === field);
  return found.toSorted((a, b) => order(a) - order(b));
}

function flagOf(flags: Readonly<Record<string, string | Flag | null>> | undefined, field: string): Flag {
  const spelled = flags?.[field];
  return typeof spelled === "string" ? { name: spelled } : (spelled ?? {});
}

/** `isOptional` is null for an option. */
function parameter(
  path: readonly string[],
  given: Schema,
  flag: Flag,
  isOptional: boolean | null,
): Parameter {
  const schema = withoutNull(given);
  const form = flag.type ?? formOf(schema);
  const name = flag.name ?? nameOf(path.at(-1) ?? "", form);
  const choices = schema.enum ?? schema.items?.enum ?? [];
  const value = flag.value ?? placeholders[form] ?? (form === "list" ? choices.join("|") : "");
  const option: Option = {
    type: form === "flag" || "is" in flag ? "flag" : (optionTypes[form] ?? (form as Option["type"])),
    what: flag.what ?? schema.description ?? name,
    ...(form === "choice" ? { choices } : {}),
    ...(value === "" ? {} : { value }),
    ...(flag.short === undefined ? {} : { short: flag.short }),
  };
  const arg = isOptional === null ? null : argOf(name, form, isOptional);
  return { path, name, form, arg, option, is: "is" in flag ? flag.is : true, choices };
}

const forms: Readonly<Record<string, Form>> = {
  boolean: "flag",
  integer: "count",
  number: "number",
  array: "list",
  object: "pairs",
  string: "text",
  position: "position",
  "unix-ms": "time",
  "duration-ms": "span",
};

/** The command line has no null. */
function withoutNull({ anyOf = [], ...schema }: Schema): Schema {
  const rest = anyOf.filter(({ type }) => type !== "null");
  return rest.length === 1 ? { ...schema, ...rest[0] } : { ...schema, ...(anyOf.length > 0 && { anyOf }) };
}

function formOf(schema: Schema): Form {
  const { type = "", format = "", anyOf = [] } = schema;
  if (schema.enum !== undefined) return "choice";
  const kinds = anyOf.map((one) => one.type ?? "").toSorted();
  if (kinds.join() === "integer,string") return "place";
  return forms[format] ?? forms[type] ?? "any";
}

const optionTypes: Partial<Record<Form, Option["type"]>> = {
  choice: "text",
  pairs: "list",
  position: "place",
  any: "text",
  file: "text",
};

const placeholders: Partial<Record<Form, string>> = {
  pairs: "KEY=VALUE",
  position: "SEQ|NAME|TIME",
  place: "SEQ|NAME|TIME",
  any: "JSON",
  file: "FILE",
  coming: "TIME",
  span: "SPAN",
};

/** `untilMs` is --until, and one of the `labels` is --label. */
function nameOf(field: string, form: Form): string {
  const kebab = field.replace(/(?<=\w)Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return form === "list" || form === "pairs" ? kebab.replace(/(?<=[^su])s$/, "") : kebab;
}

function argOf(name: string, form: Form, isOptional: boolean): string {
  if (form === "pairs") return "KEY=VALUE...?";
  if (form === "words") return `${name.toUpperCase()}...?`;
  return `${name.toUpperCase()}${isOptional || form === "any" ? "?" : ""}`;
}

/** The word or words of a parameter. */
export function givenFor(
  { arg, name }: Parameter,
  args: Readonly<Record<string, Word>>,
  options: Readonly<Record<string, Word>>,
): Word {
  const word = arg === null ? options[name] : args[arg.replace(/(\.\.\.)?\??$/, "")];
  const isNone = word === false || (Array.isArray(word) && word.length === 0);
  return isNone && arg === null ? undefined : word;
}

/** The value for the library. */
export async function readParameter(parameter: Parameter, given: Word, isText: boolean): Promise<unknown> {
  const { name, form, arg, option, is, choices } = parameter;
  if (option.type === "flag") return is;
  const shown = arg === null ? `--${name}` : name.toUpperCase();
  if (form === "words") return textOf((given ?? []) as readonly string[]);
  if (form === "any" && arg !== null)
    return valueOf(await readText(given as string | undefined), { asText: isText });
  if (form === "pairs") return labelsOf(arg === null ? shown : name, (given ?? []) as readonly string[]);
  if (form === "list" && choices.length > 0)
    return (given as readonly string[])
      .flatMap((one) => one.split(","))
      .map((one) => oneOf(shown, one, choices));
  if (typeof given !== "string") return given;
  if (form === "choice") return oneOf(shown, given, choices);
  if (form === "count" || form === "number") return parseNumber(shown, given);
  if (form === "place" || form === "position") return parsePlace(given);
  return form === "any" ? jsonOf(shown, given) : given;
}

/** Words of the command line as one text, or standard input. */
export const textOf = (words: readonly string[]): Promise<string> =>
  readText(words.length === 0 || (words.length === 1 && words[0] === "-") ? undefined : words.join(" "));

/** The JSON in a file that a parameter names; a dash is standard input. */
export async function readFileOf({ name, option }: Parameter, file: string): Promise<unknown> {
  const hint = `it must hold ${option.what}`;
  if (file === "-") return jsonOf(`the ${name} in standard input`, await readText(undefined), hint);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `${quote(file)} cannot be read: ${errorText(cause)}`, {
      hint: "check the path; the file holds JSON",
      cause,
    });
  }
  return jsonOf(`the ${name} in ${file}`, text, hint);
}
