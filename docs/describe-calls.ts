/** docs/calls.md: the reference of all calls, derived from their descriptions. */
import * as z from "zod";
import { operationIds, operationOf, type OperationId } from "../src/call/operations.ts";
import type { Verb } from "../src/cli/command/verb.ts";
import type { Operation } from "../src/call/operation.ts";
import { commands } from "../src/call/local.ts";
import { verbsByCall } from "../src/cli/command/call-verb.ts";
import { shownArg } from "../src/cli/command/args.ts";
import { loadVerb } from "../src/cli/command/verbs.ts";

export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly default?: unknown;
}

const intro = `# Calls

Every call, under the same name in the library, over HTTP, in the client and in the palette of the console; a
verb of the command line where one is given. The library has tickets and transcripts as functions of subpaths.
\`/openapi.json\` of a server has the same with all schemas. Generated from \`src/call\` by \`npm run docs\`.
`;

/** Methods of the client whose counterpart in the library is a function of a subpath. */
const functions: Readonly<Record<string, string>> = {
  "engine.runTickets": "`runPlan(engine, plan, options)` of `skein/tickets`",
  "engine.tickets": "`listTickets(engine, plan)` of `skein/tickets`",
  "engine.findTranscripts": "`findTranscripts(tool, folder)` of `skein/transcripts`",
  "engine.previewTranscript": "`readTranscript(folder, found)` of `skein/transcripts`",
  "engine.importTranscripts": "`importTranscripts(engine, options)` of `skein/transcripts`",
  "engine.uploadTranscript": "`importTranscripts(engine, { tool, path, machine })` of `skein/transcripts`",
};

export async function describeCalls(): Promise<string> {
  const part = async (title: string, of: Operation["of"]): Promise<string> => {
    const calls = operationIds.filter((id) => operationOf(id).of === of);
    return `## ${title}\n\n${(await Promise.all(calls.map(describeCall))).join("\n")}`;
  };
  return [intro, await part("Engine", "engine"), await part("Session", "session")].join("\n");
}

/** The command lines that make the call. */
async function commandLines(id: OperationId): Promise<string[]> {
  const derived = verbsByCall.get(id);
  const own = await Promise.all((commands[id] ?? []).map(commandLine));
  const shown = derived === undefined ? own : [usageOf(derived), ...own];
  return shown.length === 0 ? [] : [`- Command line: ${shown.map((line) => `\`${line}\``).join(", ")}`];
}

/** A verb with its arguments; a longer line is the usage of an action, as it is. */
async function commandLine(line: string): Promise<string> {
  const verb = await loadVerb(line);
  return verb === undefined ? `skein ${line}` : (verb.usages?.[0] ?? usageOf(verb));
}

const usageOf = ({ name, args }: Verb): string => ["skein", name, ...args.map(shownArg)].join(" ");

function libraryLines(id: OperationId, method: string): string[] {
  const elsewhere = functions[id];
  return elsewhere === undefined
    ? [`- Library: \`${method}\``]
    : [`- Client: \`${method}\``, `- Library: ${elsewhere}`];
}

async function describeCall(id: OperationId): Promise<string> {
  const operation = operationOf(id);
  const { args, call, also, local, keyed, method, params, path, scope, summary } = operation;
  const { properties = {}, required = [] } = z.toJSONSchema(params, {
    io: "input",
    unrepresentable: "any",
  }) as Schema;
  const names = Object.keys(properties);
  const options = [...names.filter((name) => !args.includes(name)), ...Object.keys(local)];
  const given = [
    ...(operation.of === "engine" && path.includes("{id}") ? ["id"] : []),
    ...(operation.takes === "bytes" ? ["bytes"] : []),
    ...args,
    ...(options.length > 0 || keyed ? ["options"] : []),
  ];
  const scopes = also.map(({ scope: more, what }) => `${what.replace(/,$/, "")}: \`${more}\``);
  const rows = names.map(
    (name) =>
      `| \`${name}\` | ${kindOf(properties[name] ?? {})} | ${required.includes(name) ? "yes" : ""} | ` +
      `${cell(properties[name]?.description ?? "")} |`,
  );
  return [
    `### ${id}`,
    "",
    summary,
    "",
    ...libraryLines(id, `${operation.of}.${call}(${given.join(", ")})`),
    `- HTTP: \`${method} ${path}\`, scope \`${scope}\`${scopes.map((one) => `; ${one}`).join("")}`,
    ...(await commandLines(id)),
    ...(Object.keys(local).length === 0
      ? []
      : [`- In the caller's process only: ${shown(Object.keys(local))}`]),
    ...(keyed ? ["- Takes `key`, an idempotency key; over HTTP the header `Idempotency-Key`."] : []),
    "",
    ...(rows.length === 0
      ? []
      : ["| parameter | type | required | description |", "|---|---|---|---|", ...rows, ""]),
  ].join("\n");
}

const shown = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
export const cell = (text: string): string => text.replaceAll("|", "\\|");

const jsonTypes = ["string", "number", "boolean", "object", "array"];

export function kindOf(schema: Schema): string {
  const { type, items, maxLength, minimum, maximum, exclusiveMinimum } = schema;
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${String(one)}\``).join(", ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined && jsonTypes.every((one) => forms.some((form) => form.type === one)))
    return "any JSON";
  if (forms !== undefined) return [...new Set(forms.map(kindOf))].join(" or ");
  if (type === "array") return `list of ${items === undefined ? "anything" : kindOf(items)}`;
  if (type === "string")
    return maxLength === undefined ? "string" : `string, at most ${maxLength} characters`;
  if (type === "integer" || type === "number") {
    const above = exclusiveMinimum === undefined ? "" : ` above ${exclusiveMinimum}`;
    const least = minimum === undefined || minimum < -1e15 ? above : ` from ${minimum}`;
    return `${type}${least}${maximum === undefined || maximum > 1e15 ? "" : ` to ${maximum}`}`;
  }
  return typeof type === "string" ? type : "any JSON";
}
