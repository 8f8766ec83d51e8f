/**
 * The plain verbs, derived from the descriptions of their calls: arguments and options from the schema, help
 * from the texts. A verb with a screen of its own has a file in ../verb.
 */
import * as z from "zod";
import { argumentsOf, type Operation, type VerbDescription } from "../../call/operation.ts";
import { operationIds, operationOf } from "../../call/operations.ts";
import { Session } from "../../runtime/engine/session.ts";
import type { AppendResult } from "../../runtime/log/append-result.ts";
import { jsonText } from "../format/text.ts";
import { oneOf, parseNumber } from "./args.ts";
import { answerChange } from "./change-verb.ts";
import { jsonOf, pairsOf, present, readText, valueOf } from "./input.ts";
import { verb, type Call, type Option, type Verb } from "./verb.ts";

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  /** Its name in the library. */
  readonly field: string;
  /** Its name on the command line. */
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

type Value = string | number | boolean | readonly string[] | undefined;

function plainVerb(operation: Operation, description: VerbDescription): Verb {
  const { call, args, keyed } = operation;
  const { line, about, examples } = description;
  const all = parametersOf(operation, description.names ?? {});
  const isArg = ({ field }: Parameter): boolean => args.includes(field);
  const options = all.filter((one) => !isArg(one)).map((one) => [one.name, optionOf(one)] as const);
  const takesValue = all.some((one) => isArg(one) && isAny(one));
  return verb({
    name: call,
    line,
    args: [...(isOfSession(operation) ? ["ID"] : []), ...all.filter(isArg).map(argOf)],
    options: {
      ...Object.fromEntries(options),
      ...(takesValue ? { text: { type: "flag", what: "VALUE is a text, even if it could be JSON" } } : {}),
      ...(keyed ? { key: { type: "text", what: "a second change with the same key is not written" } } : {}),
    },
    ...(about === undefined ? {} : { about }),
    examples,
    run: (given) => run(operation, description, all, given),
  });
}

/** Whether the first argument is a session. */
const isOfSession = ({ path }: Operation): boolean => path.includes("{id}");
/** Any JSON: a text on the command line, or standard input. */
const isAny = ({ schema }: Parameter): boolean => schema.type === undefined && schema.enum === undefined;

function parametersOf({ params }: Operation, names: Readonly<Record<string, string>>): Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
  }) as Schema;
  return Object.entries(properties).map(([field, schema]) => ({
    field,
    name: names[field] ?? field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    schema,
    isRequired: required.includes(field),
  }));
}

function argOf(parameter: Parameter): string {
  const name = parameter.name.toUpperCase();
  if (parameter.schema.type === "object") return "KEY=VALUE...?";
  return isAny(parameter) || !parameter.isRequired ? `${name}?` : name;
}

const kinds: Readonly<Record<string, Option["type"]>> = {
  boolean: "flag",
  integer: "count",
  number: "number",
  array: "list",
  object: "list",
};

function optionOf({ name, schema }: Parameter): Option {
  const { type = "", description: what = name, enum: choices } = schema;
  return {
    type: name === "at" ? "seq" : (kinds[type] ?? "text"),
    what,
    ...(choices === undefined ? {} : { choices }),
    ...(type === "object" ? { value: "KEY=VALUE" } : {}),
  };
}

/** The value of a parameter, as the library takes it. */
async function read(parameter: Parameter, given: Value, isText: boolean): Promise<unknown> {
  const { name, schema } = parameter;
  const word = name.toUpperCase();
  if (isAny(parameter)) return valueOf(await readText(given as string | undefined), { asText: isText });
  if (schema.type === "object") return pairsOf(name, (given ?? []) as readonly string[]);
  if (typeof given !== "string") return given;
  if (schema.enum !== undefined) return oneOf(word, given, schema.enum);
  if (schema.type === "integer" || schema.type === "number") return parseNumber(word, given);
  return schema.type === "string" ? given : jsonOf(word, given);
}

async function run(
  operation: Operation,
  { done = "done" }: VerbDescription,
  all: readonly Parameter[],
  { args, options, out, engine, session }: Call,
): Promise<void> {
  const words = args as unknown as Readonly<Record<string, Value>>;
  const given = options as Readonly<Record<string, Value>>;
  const params: Record<string, unknown> = {};
  for (const parameter of all) {
    const isArg = operation.args.includes(parameter.field);
    const value = isArg ? words[argOf(parameter).replace(/(\.\.\.)?\??$/, "")] : given[parameter.name];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
    if (isArg || isGiven) params[parameter.field] = await read(parameter, value, given["text"] === true);
  }
  const found = isOfSession(operation) ? await session(String(words["ID"])) : null;
  const more = operation.keyed ? present({ key: given["key"] }) : {};
  const target = (operation.of === "engine" ? await engine() : found) as unknown as Readonly<
    Record<string, (...passed: readonly unknown[]) => Promise<unknown>>
  >;
  const own = operation.of === "engine" && found !== null ? [found.id] : [];
  const result = await target[operation.call]?.(...own, ...argumentsOf(operation, params, more));
  const text = done.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
  if (found !== null && isWritten(result)) return answerChange(out, found, result, text);
  if (result instanceof Session) return out.answer({ id: result.id }, () => [result.id]);
  if (!Array.isArray(result)) return out.answer(result ?? { done: true }, () => linesOf(result, text));
  for (const one of result) await (out.json ? out.emit(one as object) : out.line(jsonText(one)));
}

const isWritten = (result: unknown): result is AppendResult =>
  typeof (result as Partial<AppendResult> | undefined)?.headSeq === "number";

const linesOf = (result: unknown, done: string): string[] =>
  result === undefined
    ? [done]
    : Object.entries(result as object).map(
        ([name, value]) => `${name}: ${typeof value === "string" ? value : jsonText(value)}`,
      );

/** The plain verbs by name, each with the title of its group in the overview. */
export const plainVerbs: ReadonlyMap<string, { readonly group: string; readonly verb: Verb }> = new Map(
  operationIds.flatMap((id) => {
    const operation = operationOf(id);
    const { call, verb: description } = operation;
    if (description === undefined) return [];
    return [[call, { group: description.group, verb: plainVerb(operation, description) }]];
  }),
);
