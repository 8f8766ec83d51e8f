/**
 * The plain verbs, derived from the descriptions of their calls: arguments and options from the schema, help
 * from the texts. ../plain prints results that need more than a line; a verb with a custom screen has a file
 * in ../verb.
 */
import { argumentsOf, type Operation, type VerbDescription } from "../../call/operation.ts";
import { operationIds, operationOf, type OperationId } from "../../call/operations.ts";
import { once } from "../../core/cache.ts";
import { SkeinError } from "../../core/error.ts";
import { Session } from "../../runtime/engine/session.ts";
import type { AppendResult } from "../../runtime/log/append-result.ts";
import { jsonText } from "../format/text.ts";
import { actions, presentations } from "../plain/presentations.ts";
import { joinActions } from "./action-verb.ts";
import {
  givenFor,
  parametersOf,
  readFileOf,
  readParameter,
  type Parameter,
  type Word,
} from "./call-parameter.ts";
import { answerChange } from "./change-verb.ts";
import { present } from "./input.ts";
import { placeOf, zonedPlace } from "./position.ts";
import type { AnyPresentation, PresentedResult, VerbUse } from "./presentation.ts";
import type { Screen } from "./screen.ts";
import { verb, type VerbCall, type Options, type Verb } from "./verb.ts";

interface Plain {
  readonly operation: Operation;
  readonly presentation: AnyPresentation;
  /** Derived from the schema, which is built on first use: only the verb that runs needs it. */
  readonly parameters: () => readonly Parameter[];
  readonly done: string;
}

type Texts = Partial<Pick<VerbDescription, "group" | "line" | "about" | "examples">>;

function plainVerb(id: OperationId, description: NonNullable<Operation["verb"]>): Verb {
  const operation = operationOf(id);
  const { name = operation.call, done = "done" } = description;
  const { line = "", about, examples = [] } = description as Texts;
  const presentation = presentations.get(id) ?? {};
  const parameters = once(() => parametersOf(operation));
  const plain: Plain = { operation, presentation, parameters, done };
  const options = once(() => optionsOf(plain));
  return {
    ...verb({
      name,
      line,
      args: [],
      options: {},
      ...(about === undefined ? {} : { about }),
      examples,
      ...(operation.method === "GET" ? { endsUnread: true } : {}),
      run: (call) => run(plain, call).catch((error: unknown) => throwNamed(error, operation.call, name)),
    }),
    get args() {
      return [...(isOfSession(operation) ? ["ID"] : []), ...parameters().flatMap(({ arg }) => arg ?? [])];
    },
    get options() {
      return options();
    },
  };
}

function optionsOf({ operation, presentation, parameters }: Plain): Options {
  const options = parameters()
    .filter(({ arg }) => arg === null)
    .map((one) => [one.name, one.option] as const);
  const takesValue = parameters().some(({ arg, form }) => arg !== null && form === "any");
  return {
    ...Object.fromEntries(options),
    ...(takesValue ? { text: { type: "flag", what: "VALUE is a text, even if it could be JSON" } } : {}),
    ...(operation.keyed
      ? { key: { type: "text", what: "a second change with the same key is not written" } }
      : {}),
    ...presentation.options,
  };
}

/** Errors name the library's call: here they name the verb, as it was typed. */
function throwNamed(error: unknown, call: string, name: string): never {
  if (!(error instanceof SkeinError) || error.field === undefined || call === name) throw error;
  const { code, hint, where, field, detail, message } = error;
  const renamed = message.replace(`${call}: `, () => `${name}: `);
  throw new SkeinError(code, renamed, { hint, where, field, detail, cause: error });
}

/** Whether the first argument is a session. */
const isOfSession = ({ path }: Operation): boolean => path.includes("{id}");

type Params = Record<string, unknown>;

async function run(plain: Plain, call: VerbCall): Promise<number | void> {
  const { operation, presentation } = plain;
  const args = call.args as unknown as Readonly<Record<string, Word>>;
  const params = await readParameters(plain, args, call.options);
  const engine: VerbCall["engine"] = (options) =>
    call.engine(presentation.creates ? { create: true } : options);
  const begun = { ...call, args, engine, params, given: call.options };
  await presentation.prepare?.(begun as never);
  await readFiles(plain, params);
  const found = isOfSession(operation) ? await findSession(plain, String(args["ID"]), params, call) : null;
  const use = { ...begun, found } as unknown as VerbUse<OperationId, Options>;
  const result = await withProgress(plain, use, call);
  if (presentation.print !== undefined) return write(call.out, await presentation.print(result, use), result);
  const text =
    presentation.done?.(use) ?? plain.done.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
  if (found !== null && isWritten(result)) return answerChange(call.out, found, result, text);
  if (result instanceof Session) return call.out.answer({ id: result.id }, () => [result.id]);
  return write(call.out, { lines: linesOf(result, text) }, result);
}

/** The given parameters. Positions are resolved later, by the session. */
async function readParameters(
  { parameters, presentation }: Plain,
  args: Readonly<Record<string, Word>>,
  options: Readonly<Record<string, Word>>,
): Promise<Params> {
  const params: Params = {};
  const isRead = presentation.readsInput?.({ given: options }) !== false;
  for (const parameter of parameters()) {
    const given = givenFor(parameter, args, options);
    const { arg, form, path } = parameter;
    const readsInput = arg !== null && (isRead ? form === "any" || form === "words" : false);
    if (given === undefined && !readsInput) continue;
    const value = await readParameter(parameter, given, options["text"] === true);
    const [field = "", inner] = path;
    params[field] =
      inner === undefined ? value : { ...(params[field] as object | undefined), [inner]: value };
  }
  return params;
}

/** The contents of files, which are read after the other parameters were validated. */
async function readFiles({ parameters }: Plain, params: Params): Promise<void> {
  for (const parameter of parameters()) {
    const [field = ""] = parameter.path;
    const file = params[field];
    if (parameter.form === "file" && typeof file === "string")
      params[field] = await readFileOf(parameter, file);
  }
}

/** The session, by `ID`, or by `ID@SEQ` where the call takes a position. */
async function findSession(
  { operation, parameters }: Plain,
  id: string,
  params: Params,
  call: VerbCall,
): Promise<Session> {
  const position = parameters().find(({ form }) => form === "position");
  if (position === undefined) {
    const session = await call.session(id);
    for (const { form, path } of parameters()) {
      const place = params[path[0] ?? ""];
      if (form === "place" && (typeof place === "string" || typeof place === "number"))
        params[path[0] ?? ""] = await zonedPlace(session, place);
    }
    return session;
  }
  const [field = ""] = position.path;
  const given = params[field] as string | number | undefined;
  const { session, seq } = await placeOf(operation.call, id, given, call);
  if (seq !== null) params[field] = seq;
  return session;
}

async function withProgress(
  plain: Plain,
  use: VerbUse<OperationId, Options>,
  call: VerbCall,
): Promise<unknown> {
  const { operation, presentation } = plain;
  if (presentation.progress === undefined && presentation.call !== undefined) return presentation.call(use);
  const progress = call.out.progress();
  const { progress: text } = presentation;
  const more = {
    ...(text === undefined ? {} : { progress: (at: Parameters<typeof text>[0]) => progress.show(text(at)) }),
    ...("signal" in operation.local && operation.scope !== "read" ? { signal: call.untilStopped() } : {}),
    ...(operation.keyed ? present({ key: (call.options as Readonly<Record<string, Word>>)["key"] }) : {}),
  };
  try {
    return await invoke(operation, use, more);
  } finally {
    progress.end();
  }
}

async function invoke(
  operation: Operation,
  use: VerbUse<OperationId, Options>,
  more: object,
): Promise<unknown> {
  const { found } = use;
  const target = (operation.of === "engine" ? await use.engine() : found) as unknown as Readonly<
    Record<string, (...passed: readonly unknown[]) => Promise<unknown>>
  >;
  const own = operation.of === "engine" && found !== null ? [found.id] : [];
  return target[operation.call]?.(...own, ...argumentsOf(operation, use.params, more));
}

async function write(out: Screen, shown: PresentedResult, result: unknown): Promise<number | void> {
  const { lines, notes = [], code } = shown;
  if (out.json) {
    const value = shown.json ?? result ?? { done: true };
    if (Array.isArray(value)) for (const one of value) await out.emit(one as object);
    else await out.emit(value);
  } else for (const line of lines) await out.line(line);
  for (const note of notes) out.note(note);
  return code;
}

const isWritten = (result: unknown): result is AppendResult =>
  typeof (result as Partial<AppendResult> | undefined)?.headSeq === "number";

const linesOf = (result: unknown, done: string): string[] => {
  if (result === undefined) return [done];
  if (Array.isArray(result)) return result.map(jsonText);
  return Object.entries(result as object).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : jsonText(value)}`,
  );
};

/** The verb, or the action of a verb, that is derived from each call. */
export const verbsByCall: ReadonlyMap<OperationId, Verb> = new Map(
  operationIds.flatMap((id) => {
    const { verb: description } = operationOf(id);
    return description === undefined ? [] : [[id, plainVerb(id, description)]];
  }),
);

/** The plain verbs by name, each with the title of its group in the overview. */
export const plainVerbs: ReadonlyMap<string, { readonly group: string; readonly verb: Verb }> = collect();

function collect(): Map<string, { readonly group: string; readonly verb: Verb }> {
  const groups = new Map<string, string>();
  const verbs = new Map<string, Verb[]>();
  for (const [id, made] of verbsByCall) {
    const { verb: description } = operationOf(id);
    const [name = ""] = made.name.split(" ");
    const isMain = description !== undefined && "group" in description;
    if (isMain) groups.set(name, description.group);
    const before = verbs.get(name) ?? [];
    verbs.set(name, isMain ? [made, ...before] : [...before, made]);
  }
  for (const action of actions) verbs.get(action.name.split(" ")[0] ?? "")?.push(action);
  return new Map(
    [...verbs].map(([name, all]) => {
      const [first] = all;
      const made = first?.name === name ? first : joinActions(name, all);
      return [name, { group: groups.get(name) ?? "", verb: made }];
    }),
  );
}
