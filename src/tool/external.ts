/**
 * External tools that a binding describes: a tool binding with `options.external`. The model is offered the
 * tool; a call waits until `session.settle` brings its outcome.
 */
import { SkeinError } from "../core/error.ts";
import { externalTool, externalTimeoutMs } from "./define.ts";
import type { InputCheck, OuterTool } from "./port.ts";

interface ExternalOptions {
  readonly external: true;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly effect?: OuterTool["effect"];
  readonly timeoutMs?: number;
}

/** The external tool that the options of a binding describe. */
export async function boundExternalTool(name: string, options: object): Promise<OuterTool> {
  const wrong = externalComplaint(options);
  if (wrong !== null) {
    throw new SkeinError("invalid", `tool "${name}": options: ${wrong}`, {
      hint: "unbind it, and bind it with external, description and input (a JSON Schema of an object)",
    });
  }
  const {
    description,
    input,
    effect = "unsafe",
    timeoutMs = externalTimeoutMs.byDefault,
  } = options as ExternalOptions;
  return externalTool({ name, description, input, effect, timeoutMs, check: await checkBy(input) });
}

/** The mistake in the options of an external tool; null if there is none. */
function externalComplaint(options: object): string | null {
  const { external, description, input, effect, timeoutMs } = options as Record<string, unknown>;
  if (external !== true) return "external: expected true";
  if (typeof description !== "string" || description.trim() === "") return "description: missing";
  if (typeof input !== "object" || input === null || (input as { type?: unknown }).type !== "object")
    return 'input: expected a JSON Schema with "type": "object"';
  if (effect !== undefined && !(["read", "idempotent", "unsafe"] as unknown[]).includes(effect))
    return 'effect: expected "read", "idempotent" or "unsafe"';
  const isTime = timeoutMs === undefined || (Number.isSafeInteger(timeoutMs) && Number(timeoutMs) >= 1);
  return isTime && Number(timeoutMs ?? 1) <= externalTimeoutMs.max
    ? null
    : `timeoutMs: expected an integer from 1 to ${externalTimeoutMs.max}`;
}

/** A schema that cannot be compiled checks nothing; then the program that executes the call must check. */
async function checkBy(schema: ExternalOptions["input"]): Promise<OuterTool["check"]> {
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/sdk/validation/ajv");
  const validator = new AjvJsonSchemaValidator();
  return (input): Promise<InputCheck> => {
    if (typeof input !== "object" || input === null || Array.isArray(input))
      return Promise.resolve({ ok: false, message: "arguments: expected an object" });
    try {
      const { valid, errorMessage = "" } = validator.getValidator(schema)(input);
      if (!valid) return Promise.resolve({ ok: false, message: `invalid arguments: ${errorMessage}` });
    } catch {
      return Promise.resolve({ ok: true, value: input });
    }
    return Promise.resolve({ ok: true, value: input });
  };
}
