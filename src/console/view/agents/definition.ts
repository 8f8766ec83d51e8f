/** The definition of an agent in a form: three texts, and the rest as JSON. */
import type { RemoteEngine } from "../../../client/connect.ts";

export type Definition = Parameters<RemoteEngine["addAgent"]>[0];

export interface AgentForm {
  readonly name: string;
  readonly description: string;
  readonly model: string;
  readonly instructions: string;
  /** All other fields, as JSON. */
  readonly rest: string;
}

export const emptyForm: AgentForm = { name: "", description: "", model: "", instructions: "", rest: "{}" };

/** Fields with a dedicated input in the form. */
const own = ["name", "description", "model", "instructions"] as const;

export const restOf = (definition: Definition): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(definition).filter(([field]) => !own.some((one) => one === field)));

export function formOf(definition: Definition): AgentForm {
  const { name, description = "", model = "", instructions } = definition;
  return { name, description, model, instructions, rest: JSON.stringify(restOf(definition), null, 2) };
}

/** Throws if the rest is not a JSON object. The server validates its fields. */
export function definitionOf({ name, description, model, instructions, rest }: AgentForm): Definition {
  const more = jsonObject(rest.trim() === "" ? "{}" : rest);
  const twice = own.find((field) => field in more);
  if (twice !== undefined) throw new Error(`Settings: ${twice} has a separate field.`);
  return {
    ...more,
    name: name.trim(),
    instructions,
    ...(description.trim() === "" ? {} : { description: description.trim() }),
    ...(model.trim() === "" ? {} : { model: model.trim() }),
  };
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`Settings: expected JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('Settings: expected a JSON object such as { "stepsMax": 20 }.');
  return value as Readonly<Record<string, unknown>>;
}
