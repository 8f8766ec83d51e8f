/** What the checkers of all providers share: reading a body that may be anything, and noting its flaws. */

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : [];
export const isText = (value: unknown): value is string => typeof value === "string";
export const isFilled = (value: unknown): value is string => isText(value) && value.trim() !== "";

/** A list of flaws that grows; `unless` adds one. */
export interface Flaws {
  readonly found: string[];
  unless(condition: boolean, flaw: string): void;
}

export function makeFlaws(): Flaws {
  const found: string[] = [];
  return {
    found,
    unless(condition, flaw) {
      if (!condition) found.push(flaw);
    },
  };
}

export function repeated(values: readonly unknown[]): readonly unknown[] {
  return values.filter((value, place) => values.indexOf(value) !== place);
}

/** Schemas of tools: an object on top, without alternatives there. */
export function checkSchema(flaws: Flaws, where: string, schema: unknown): void {
  const top = fieldsOf(schema);
  flaws.unless(top["type"] === "object", `${where}: the schema's type is not "object"`);
  for (const word of ["oneOf", "anyOf", "allOf", "enum", "not"]) {
    flaws.unless(!(word in top), `${where}: ${word} at the top of a schema`);
  }
}

export function isJsonObject(text: unknown): boolean {
  try {
    return isText(text) && isFields(JSON.parse(text));
  } catch {
    return false;
  }
}
