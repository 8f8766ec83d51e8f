/** Names of types that the descriptions of calls share: Event, Budget, Trigger. */
import * as z from "zod";
import * as answer from "../../src/call/answer.ts";
import * as field from "../../src/call/field.ts";
import { ContentBlock } from "../../src/core/schema.ts";
import { identityOf, type Schema } from "./schema.ts";

/** The names of shared schemas, by direction and identity. */
export type TypeNames = ReadonlyMap<string, string>;

const schemaIn = (value: unknown): z.ZodType | null => {
  const made: unknown =
    typeof value === "function" && value.length === 0 ? (value as () => unknown)() : value;
  return made instanceof z.ZodType ? made : null;
};

const isNamed = ({ properties, anyOf, oneOf }: Schema): boolean =>
  properties !== undefined || anyOf !== undefined || oneOf !== undefined;

/** From the exported schemas of results and of parameters, under their own names. */
export function collectNames(): TypeNames {
  const names = new Map<string, string>();
  for (const [io, exported] of [
    ["output", answer],
    ["input", { ...field, ContentBlock, Permission: field.Permission, Wake: field.Wake }],
  ] as const) {
    for (const [name, value] of Object.entries(exported)) {
      const schema = /^[A-Z]/.test(name) ? schemaIn(value) : null;
      if (schema === null) continue;
      const json = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Schema;
      const key = `${io} ${identityOf(json)}`;
      if (isNamed(json) && !names.has(key)) names.set(key, name);
    }
  }
  return names;
}
