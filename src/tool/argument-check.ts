/**
 * Checks the arguments of a call against a JSON Schema that this program did not write: of a binding or of an
 * MCP server. A pattern in it may take exponential time, so the check has a time limit.
 */
import type { JsonSchemaType } from "@modelcontextprotocol/sdk/validation";
import { limit } from "../core/limit.ts";
import { inTime } from "../platform/run-with-timeout.ts";
import type { InputCheck } from "./port.ts";

/** Checks values of one schema. A schema that cannot be compiled checks nothing: its owner must check. */
export async function makeArgumentCheck(): Promise<(schema: unknown, input: unknown) => InputCheck> {
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/sdk/validation/ajv");
  const validator = new AjvJsonSchemaValidator();
  return (schema, input) => {
    if (typeof input !== "object" || input === null || Array.isArray(input))
      return { ok: false, message: "arguments: expected an object" };
    try {
      const check = () => validator.getValidator(schema as JsonSchemaType)(input);
      const checked = inTime(check, limit.contractMs);
      if (checked === null) {
        const reason = `the tool's schema took longer than ${limit.contractMs} ms to check them`;
        return { ok: false, message: `invalid arguments: ${reason}` };
      }
      if (!checked.valid) return { ok: false, message: `invalid arguments: ${checked.errorMessage}` };
    } catch {
      return { ok: true, value: input };
    }
    return { ok: true, value: input };
  };
}
