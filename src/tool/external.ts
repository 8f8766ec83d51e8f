/**
 * External tools that a binding describes: a tool binding with `options.external`. The model is offered the
 * tool; a call waits until `session.settle` brings its outcome.
 */
import { SkeinError } from "../core/error.ts";
import { externalComplaint, externalTimeoutMs } from "../core/tool/external-options.ts";
import { makeArgumentCheck } from "./argument-check.ts";
import { externalTool } from "./define.ts";
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

/** A schema that cannot be compiled checks nothing; then the program that executes the call must check. */
async function checkBy(schema: ExternalOptions["input"]): Promise<OuterTool["check"]> {
  const checkArguments = await makeArgumentCheck();
  return (input): Promise<InputCheck> => Promise.resolve(checkArguments(schema, input));
}
