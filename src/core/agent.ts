/**
 * Agents: named, versioned roles. A definition says who the agent is and how its sessions run; what it leaves
 * out comes from `agentDefaults`. Versions are events of the workspace's log (runtime/agents.ts), files are
 * read in runtime/agent-file.ts; here a definition is checked.
 */
import { z } from "zod";
import { AgentName, Count, Json, Key, Millis, ModelName, Reason, ToolPattern } from "./catalogue/entry.ts";
import type { Digest } from "./chain.ts";
import { nearest, SkeinError } from "./error.ts";
import { quote } from "./ids.ts";
import { checkJson } from "./json.ts";
import { limit } from "./limit.ts";
import { zoneDefaults, type ZoneThresholds } from "./zone.ts";

const Instructions = z
  .string()
  .max(limit.instructionsCharsMax, `instructions have at most ${limit.instructionsCharsMax} characters`)
  .regex(/\S/, "instructions cannot be empty");
const Share = z.number().min(0, "a share is from 0 to 1").max(1, "a share is from 0 to 1");
const Threshold = z.strictObject({
  share: Share.nullable().exactOptional(),
  tokens: Count.nullable().exactOptional(),
  turns: Count.nullable().exactOptional(),
  ageMs: Millis.nullable().exactOptional(),
});
const Rule = z.strictObject({
  tool: ToolPattern,
  rule: z.enum(["allow", "ask", "deny"]),
  pattern: Json.exactOptional(),
  reason: Reason.exactOptional(),
  name: Key.exactOptional(),
});
const Bind = z.strictObject({
  kind: z.enum(["file", "directory", "database", "mcp", "shell", "tool"]),
  name: Key.exactOptional(),
  mode: z.enum(["read", "write"]).exactOptional(),
  path: z.string().exactOptional(),
  url: z.string().exactOptional(),
  command: z.array(z.string()).readonly().exactOptional(),
  secrets: z.array(z.string()).readonly().exactOptional(),
  options: Json.exactOptional(),
});
/** A binding replaces one of the same name; in one definition that can only be a mistake. */
const Binds = z
  .array(Bind)
  .max(limit.bindingsMax)
  .superRefine((list, { addIssue }) => {
    const names = list.map(({ name, path, url, kind }) => name ?? path ?? url ?? kind);
    const twice = names.findIndex((name, place) => names.indexOf(name) < place);
    if (twice === -1) return;
    const message = `the one before has the name ${quote(names[twice])} too; give it a name of its own`;
    addIssue({ code: "custom", path: [twice], message });
  });
const Limits = z.strictObject({
  usd: z.number().nonnegative().max(9_000_000).exactOptional(),
  tokens: Count.exactOptional(),
  steps: Count.exactOptional(),
  turns: Count.exactOptional(),
  toolCalls: Count.exactOptional(),
  wallMs: Millis.exactOptional(),
});

export const AgentDefinition = z.strictObject({
  name: AgentName,
  description: z.string().max(limit.reasonCharsMax).exactOptional(),
  instructions: Instructions,
  /** `provider/model`. */
  model: ModelName.exactOptional(),
  /** Names of tools, with `*` for any run of characters. Absent: all that are bound. */
  tools: z.array(ToolPattern).max(limit.permissionsMax).readonly().exactOptional(),
  permissions: z.array(Rule).max(limit.permissionsMax).readonly().exactOptional(),
  bind: Binds.readonly().exactOptional(),
  /** Of each session, unless it is opened with one of its own. */
  budget: Limits.exactOptional(),
  temperature: z.number().min(0).max(2).exactOptional(),
  reasoning: z.enum(["none", "low", "medium", "high"]).exactOptional(),
  /** Of one answer. */
  outputTokensMax: z.int().positive().exactOptional(),
  /** Of one turn. */
  stepsMax: z.int().positive().exactOptional(),
  zones: z
    .strictObject({ strained: Threshold.exactOptional(), full: Threshold.exactOptional() })
    .exactOptional(),
  compaction: z
    .strictObject({
      strategy: z.enum(["prune", "summarize", "extract"]).exactOptional(),
      /** Of the window; from here on the session compacts itself. */
      atShare: Share.exactOptional(),
      /** Who summarizes; by default the session's own model. */
      model: ModelName.exactOptional(),
      auto: z.boolean().exactOptional(),
    })
    .exactOptional(),
  /** After a call whose outcome is unknown: suspend to ask, or tell the model and go on. */
  onUnknown: z.enum(["ask", "tell"]).exactOptional(),
});
export type AgentDefinition = Readonly<z.infer<typeof AgentDefinition>>;

/** What holds where an agent, or a session without one, says nothing. */
export const agentDefaults = {
  onUnknown: "ask",
  stepsMax: 100,
  /** The model's own limit and its window may allow less. */
  outputTokensMax: 16_384,
  zones: zoneDefaults,
  compaction: { strategy: "summarize", atShare: 0.8, auto: true },
} as const;

export interface AgentRules {
  readonly onUnknown: "ask" | "tell";
  readonly stepsMax: number;
  readonly outputTokensMax: number;
  readonly zones: ZoneThresholds;
  readonly compaction: {
    readonly strategy: "prune" | "summarize" | "extract";
    readonly atShare: number;
    readonly auto: boolean;
    readonly model?: string;
  };
}

/** How a session of this agent runs, with the defaults filled in; null for a session without an agent. */
export function agentRules(definition: AgentDefinition | null): AgentRules {
  const { onUnknown, stepsMax, outputTokensMax, zones, compaction } = definition ?? {};
  return {
    onUnknown: onUnknown ?? agentDefaults.onUnknown,
    stepsMax: stepsMax ?? agentDefaults.stepsMax,
    outputTokensMax: outputTokensMax ?? agentDefaults.outputTokensMax,
    zones: {
      strained: { ...agentDefaults.zones.strained, ...zones?.strained },
      full: { ...agentDefaults.zones.full, ...zones?.full },
    },
    compaction: { ...agentDefaults.compaction, ...compaction },
  };
}

/** Whether the agent may be offered this tool at all; permissions come after. */
export function mayOffer(definition: AgentDefinition | null, tool: string): boolean {
  const patterns = definition?.tools;
  return patterns === undefined || patterns.some((pattern) => matches(pattern, tool));
}

/** Without a regular expression: many stars would make one slow. */
function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const piece of rest) {
    const place = name.indexOf(piece, from);
    if (place === -1) return false;
    from = place + piece.length;
  }
  return from <= name.length - last.length;
}

/** The same definition has the same digest, in whatever order its fields were written. */
export const agentDigest = (digest: Digest, definition: AgentDefinition): string =>
  digest("", JSON.stringify(sorted(definition)));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, inner]) => [key, sorted(inner)]));
}

type Path = readonly PropertyKey[];

export interface AgentOrigin {
  /** What is checked, as people know it: the path of a file. */
  readonly where?: string;
  /** The line where a field stands, if that is known. */
  readonly lineOf?: (path: Path) => number | undefined;
}

/** Holds a definition against the schema. Says where the first mistake is, and how it is spelled right. */
export function checkAgent(
  given: unknown,
  { where = "the agent", lineOf }: AgentOrigin = {},
): AgentDefinition {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SkeinError("invalid", `${where}: a definition is an object, not ${kindOf(given)}`, {
      hint: `its fields: ${Object.keys(AgentDefinition.shape).join(", ")}`,
    });
  }
  const value = withoutUndefined(given);
  checkJson(`${where}: definition`, value);
  const checked = AgentDefinition.safeParse(value);
  if (checked.success) return checked.data;
  // A name that was misspelled is often why another is missing.
  const { issues } = checked.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  if (issue === undefined) throw new SkeinError("invalid", `${where}: not a definition of an agent`);
  const { path, message, hint } = complaint(issue, value);
  const line = lineOf?.(path);
  const place = line === undefined ? where : `${where}, line ${line}`;
  throw new SkeinError("invalid", `${place}: ${message}`, { hint });
}

/** A definition read back from a log. One that a newer program wrote may have fields nobody here knows. */
export function isStoredAgent(value: unknown): value is AgentDefinition {
  const checked = AgentDefinition.safeParse(value);
  return checked.success || checked.error.issues.every(({ code }) => code === "unrecognized_keys");
}

interface Complaint {
  readonly path: Path;
  readonly message: string;
  readonly hint: string | undefined;
}

function complaint(issue: z.core.$ZodIssue, value: unknown): Complaint {
  const { path } = issue;
  const field = quote(written(path));
  const found = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)?.[key], value);
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const message = `there is no field ${quote(written([...path, key]))}`;
    return { path: [...path, key], message, hint: meant(key, fieldsAt(path)) };
  }
  const known = issue.code === "invalid_value" ? issue.values.map(String) : [];
  if (found === undefined) {
    const hint = known.length === 0 ? undefined : `one of ${known.join(", ")}`;
    return { path, message: `${field} is missing`, hint };
  }
  if (known.length > 0) {
    return {
      path,
      message: `${field} cannot be ${quote(found)}`,
      hint: meant(typeof found === "string" ? found : "", known),
    };
  }
  const message =
    issue.code === "invalid_type"
      ? `${field} is ${kindOf(found)}, not ${kinds(issue.expected)}`
      : `${field}: ${issue.message}`;
  return { path, message, hint: undefined };
}

function meant(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? `one of ${known.join(", ")}` : `did you mean "${near}"?`;
}

/** `permissions[0].rule` */
const written = (path: Path): string =>
  path
    .map((key, place) => (typeof key === "number" ? `[${key}]` : `${place === 0 ? "" : "."}${String(key)}`))
    .join("");

function kindOf(value: unknown): string {
  if (value === null) return "empty";
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
function fieldsAt(path: Path): string[] {
  let schema: unknown = AgentDefinition;
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

/** Fields without a value are as good as absent. What is too deep is left for `checkJson` to refuse. */
function withoutUndefined(value: unknown, depth = 1): unknown {
  if (typeof value !== "object" || value === null || depth > limit.jsonDepthMax) return value;
  if (Array.isArray(value)) return value.map((inner) => withoutUndefined(inner, depth + 1));
  const above: unknown = Object.getPrototypeOf(value);
  if (above !== Object.prototype && above !== null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(fields.map(([key, inner]) => [key, withoutUndefined(inner, depth + 1)]));
}
