/** Values made from a JSON Schema: such as fit it. */
import fc from "fast-check";

export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly propertyNames?: Schema;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

const depthMax = 4;

export function fitting(schema: Schema, root: Schema = schema, depth = 0): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return fitting(referred(root, schema.$ref), root, depth + 1);
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const several = schema.anyOf ?? schema.oneOf;
  if (several !== undefined) {
    const some = depth >= depthMax ? several.slice(0, 1) : several;
    return fc.oneof(...some.map((one) => fitting(one, root, depth + 1)));
  }
  switch (schema.type) {
    case "string":
      return text(schema);
    case "integer":
      return fc.integer({ min: schema.minimum ?? -1_000, max: Math.min(schema.maximum ?? 1_000, 2 ** 31) });
    case "number":
      return fc.double({
        min: schema.minimum ?? -1e6,
        max: Math.min(schema.maximum ?? 1e6, 1e9),
        noNaN: true,
      });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return list(schema, root, depth);
    case "object":
      return object(schema, root, depth);
    case undefined:
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function referred(root: Schema, reference: string): Schema {
  const name = reference.replace("#/$defs/", "");
  const found = root.$defs?.[name];
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}

function text({ pattern, minLength = 0, maxLength = Infinity }: Schema): fc.Arbitrary<string> {
  if (pattern === undefined) {
    const most = Math.max(minLength, Math.min(maxLength, 20));
    return fc
      .string({ minLength, maxLength: most, unit: "grapheme" })
      .map((some) => some.slice(0, maxLength));
  }
  const matching = fc.stringMatching(new RegExp(pattern, "u"));
  return matching.filter(({ length }) => length >= minLength && length <= maxLength);
}

function list(schema: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> {
  const { prefixItems, items = {}, minItems = 0, maxItems = 3 } = schema;
  if (prefixItems !== undefined) return fc.tuple(...prefixItems.map((one) => fitting(one, root, depth + 1)));
  const most = depth >= depthMax ? minItems : Math.max(minItems, Math.min(maxItems, 3));
  return fc.array(fitting(items, root, depth + 1), { minLength: minItems, maxLength: most });
}

function object(schema: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  if (Object.keys(properties).length === 0 && typeof additionalProperties === "object") {
    const names = fitting(propertyNames ?? { type: "string", minLength: 1 }, root, depth + 1);
    const values = fitting(additionalProperties, root, depth + 1);
    return fc.dictionary(names as fc.Arbitrary<string>, values, { maxKeys: 2, noNullPrototype: true });
  }
  const wanted = Object.entries(properties).filter(([name]) => depth < depthMax || required.includes(name));
  const model = Object.fromEntries(wanted.map(([name, one]) => [name, fitting(one, root, depth + 1)]));
  return fc.record(model, { requiredKeys: required.filter((name) => name in model), noNullPrototype: true });
}
