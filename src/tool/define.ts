/** `defineTool`: a tool from a name, a schema and a function, with a schema of any library. */
import { externalTimeoutMs } from "../core/tool/external-options.ts";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod";
import type { SessionAct } from "../core/tool/session-action.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { errorText } from "../core/first-error.ts";
import type { InputCheck, ExactCommand, OuterTool, ToolProbe, SessionTool, ToolCall } from "./port.ts";

const toolLimit = {
  /** Accepted by every provider. */
  nameCharsMax: 64,
  timeoutMsMax: 86_400_000,
  /** Validation errors reported to the model for one input. */
  issuesMax: 20,
} as const;

const timeoutMsDefault = 120_000;

/** A tool's verdict on an interrupted call. Anything else counts as unknown. */
export type ProbeAnswer = "done" | "not done" | "unknown" | { readonly done: unknown };

/** Options of `defineTool`. */
export interface ToolOptions<S extends StandardSchemaV1> {
  readonly name: string;
  /** For the model: what it does, when to use it, what it returns. */
  readonly description: string;
  /** The arguments, an object: zod, or any library with Standard Schema. */
  readonly input: S;
  /** JSON Schema of the arguments, for schemas that cannot produce it. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** The schema of the result, to validate it: an invalid result is an error to the model. */
  readonly output?: StandardSchemaV1;
  /** Default: `unsafe`, which never runs again automatically after a crash. */
  readonly effect?: "read" | "idempotent" | "unsafe";
  /** Absent: an external tool. The session waits, and `session.settle` brings the outcome of a call. */
  run?(input: StandardSchemaV1.InferOutput<S>, call: ToolCall): unknown;
  probe?(
    key: string,
    call: { readonly input: StandardSchemaV1.InferOutput<S>; readonly signal: AbortSignal },
  ): ProbeAnswer | Promise<ProbeAnswer>;
  /**
   * The only files that a call may change, absolute; see file versions. Absent: any, unless it only reads.
   */
  touches?(input: StandardSchemaV1.InferOutput<S>): readonly string[] | Promise<readonly string[]>;
  /** The exact command of a call; see `OuterTool`. */
  command?(input: StandardSchemaV1.InferOutput<S>): ExactCommand;
  /** Default: two minutes; a day for an external tool. */
  readonly timeoutMs?: number;
}

const known = [
  "name",
  "description",
  "input",
  "inputSchema",
  "output",
  "effect",
  "run",
  "probe",
  "touches",
  "command",
  "timeoutMs",
];

/**
 * Defines a tool from a schema and a function.
 *
 * @example
 *   const price = defineTool({
 *     name: "price",
 *     description: "Returns the price of an article.",
 *     effect: "read",
 *     input: z.object({ article: z.string() }),
 *     run: async ({ article }) => prices.get(article) ?? "unknown",
 *   });
 */
export function defineTool<S extends StandardSchemaV1>(options: ToolOptions<S>): OuterTool {
  checkOptions("defineTool", options, known);
  const { run, probe, touches, command, effect = "unsafe" } = options;
  const [timeoutMsUsual, timeoutMsMax] =
    run === undefined
      ? [externalTimeoutMs.byDefault, externalTimeoutMs.max]
      : [timeoutMsDefault, toolLimit.timeoutMsMax];
  const { timeoutMs = timeoutMsUsual } = options;
  const tool = describe(options);
  const where = `tool "${tool.name}"`;
  if (!["read", "idempotent", "unsafe"].includes(effect)) {
    throw new SkeinError(
      "invalid",
      `${where}: effect: expected "read", "idempotent" or "unsafe", got "${effect}"`,
      {
        hint: 'one of "read", "idempotent", "unsafe"',
      },
    );
  }
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > timeoutMsMax) {
    throw new SkeinError("invalid", `${where}: timeoutMs: expected a positive integer, got ${timeoutMs}`, {
      hint: `milliseconds, from 1 to ${timeoutMsMax}`,
    });
  }
  if (isNoFunction(run) || isNoFunction(probe) || isNoFunction(touches) || isNoFunction(command))
    throw new SkeinError("invalid", `${where}: run, probe, touches and command: expected functions`);
  if (run === undefined) {
    const extra = ["probe", "touches", "command", "output"].find((name) => name in options);
    if (extra === undefined) return externalTool({ ...tool, effect, timeoutMs });
    throw new SkeinError("invalid", `${where}: ${extra}: not allowed in a tool without run`, {
      hint: `add run, or omit ${extra}`,
    });
  }
  return {
    ...tool,
    effect,
    timeoutMs,
    run: async (input, call) => {
      const given: unknown = await run(input, call);
      return options.output === undefined ? given : checkOutput(options.output, given);
    },
    ...(probe && {
      probe: (key, call) => probed(async () => probe(key, call)),
    }),
    ...(command && { command: (input: unknown) => command(input) }),
    ...(touches && {
      touches: async (input) => touches(input),
    }),
  };
}

/** A tool whose calls are settled from outside. */
export const externalTool = (tool: Omit<OuterTool, "run" | "external">): OuterTool => ({
  ...tool,
  external: true,
  run: () => Promise.reject(new Error(`invariant: ${tool.name} is external and runs nowhere here`)),
});

const isNoFunction = (given: unknown): boolean => given !== undefined && typeof given !== "function";

/** Its effect has already happened, and the model learns so. */
async function checkOutput(schema: StandardSchemaV1, given: unknown): Promise<unknown> {
  const checked = await schema["~standard"].validate(given);
  if (checked.issues === undefined) return checked.value;
  const [first] = checked.issues;
  throw new SkeinError(
    "invalid",
    `the tool ran, but its result does not match its output schema: ${first?.message ?? ""}`,
  );
}

/** A tool whose run is an action on the session's own log. */
export function defineSessionTool<S extends StandardSchemaV1>(options: {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  act(input: StandardSchemaV1.InferOutput<S>): SessionAct;
}): SessionTool {
  return { ...describe(options), effect: "session", act: (input) => options.act(input) };
}

function describe(options: {
  readonly name: string;
  readonly description: string;
  readonly input: StandardSchemaV1;
  readonly inputSchema?: Readonly<Record<string, unknown>>;
}): Pick<OuterTool, "name" | "description" | "input" | "check"> {
  const { name, description, input } = options;
  checkToolName(name);
  const where = `tool "${name}"`;
  if (typeof description !== "string" || description.trim() === "") {
    throw new SkeinError("invalid", `${where}: description: missing`, {
      hint: "describe what the tool does and when to use it; the model sees only this",
    });
  }
  if (typeof input?.["~standard"]?.validate !== "function") {
    throw new SkeinError("invalid", `${where}: input: expected a schema`, {
      hint: "pass a Zod object or any Standard Schema (`~standard`)",
    });
  }
  const schema = options.inputSchema ?? jsonSchemaOf(where, input);
  if (schema["type"] !== "object") {
    throw new SkeinError("invalid", `${where}: input: expected an object schema`, {
      hint: 'providers accept named arguments only: use a JSON Schema with "type": "object"',
    });
  }
  const { $schema: _, ...rest } = schema;
  return { name, description, input: rest, check: (given) => check(input, given) };
}

/** Names that the log and every provider accept. */
export function checkToolName(name: unknown): asserts name is string {
  if (typeof name === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(name)) return;
  throw new SkeinError("invalid", `tool: name: invalid tool name ${JSON.stringify(name)}`, {
    hint: `expected up to ${toolLimit.nameCharsMax} letters, digits, _ and -, which every provider accepts`,
  });
}

function jsonSchemaOf(where: string, schema: StandardSchemaV1): Record<string, unknown> {
  try {
    if (isZod(schema)) return zodJsonSchema(schema);
    if (givesJsonSchema(schema)) return schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  } catch (cause) {
    throw new SkeinError(
      "invalid",
      `${where}: input: cannot be converted to JSON Schema: ${errorText(cause)}`,
      {
        hint: "use JSON types, or pass `inputSchema`",
        cause,
      },
    );
  }
  const { vendor } = schema["~standard"];
  throw new SkeinError("invalid", `${where}: input: ${vendor} schemas have no JSON Schema export`, {
    hint: "pass the JSON Schema as `inputSchema`, next to `input`",
  });
}

const isZod = (schema: object): schema is z.ZodType => "_zod" in schema;

const givesJsonSchema = (schema: object): schema is StandardJSONSchemaV1 =>
  typeof (schema as Partial<StandardJSONSchemaV1>)["~standard"]?.jsonSchema?.input === "function";

function zodJsonSchema(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, {
    io: "input",
    // Bounds of the exact number range cost tokens and say nothing.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}

async function check(schema: StandardSchemaV1, given: unknown): Promise<InputCheck> {
  try {
    const result = await schema["~standard"].validate(given);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return { ok: false, message: complaint(result.issues) };
  } catch (error) {
    return { ok: false, message: `the arguments cannot be validated: ${errorText(error)}` };
  }
}

function complaint(issues: readonly StandardSchemaV1.Issue[]): string {
  const lines = issues.slice(0, toolLimit.issuesMax).map(({ path = [], message }) => {
    const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return place === "" ? message : `${place}: ${message}`;
  });
  const more = issues.length - lines.length;
  return `invalid arguments: ${lines.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/** A probe that fails or returns nonsense is inconclusive. */
async function probed(ask: () => Promise<ProbeAnswer>): Promise<ToolProbe> {
  const answer = await ask().catch((): ProbeAnswer => "unknown");
  if (answer === "done") return { outcome: "done" };
  if (answer === "not done") return { outcome: "not-done" };
  if (typeof answer === "object" && answer !== null && "done" in answer)
    return { outcome: "done", output: answer.done };
  return { outcome: "unknown" };
}
