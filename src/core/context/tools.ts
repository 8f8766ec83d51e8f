/** Tools as every provider takes them: their names, their schemas, and stand-ins for those that are gone. */
import type { SessionLogEvent } from "../event.ts";
import type { ToolDefinition } from "./part.ts";
import { field, isObject } from "./source.ts";

/** More than this no provider takes. */
const toolsMax = 128;
const fitName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const fitProperty = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * The name under which a tool is offered. Most names are fit for every provider and stay; from the others a
 * fit one is made that is always the same, and differs from that of any other tool.
 */
export function toolNameFor(name: string): string {
  if (fitName.test(name)) return name;
  const letters = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const fit = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`;
  return `${fit.slice(0, 55)}_${mark(name)}`;
}

/** FNV-1a, 32 bits: enough to tell names apart that look the same once they are made fit. */
function mark(text: string): string {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++) {
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** The definitions of a `tools.bound`; stand-ins where they are gone and names are left. */
export function toolDefinitions(event: SessionLogEvent | undefined): readonly ToolDefinition[] {
  if (event?.type !== "tools.bound") return [];
  const content: unknown = event.content;
  const given = field(content, "definitions");
  const found = Array.isArray(given)
    ? (given as unknown[]).flatMap(definition)
    : standIns(event.body.tools ?? []);
  return unique(found).slice(0, toolsMax);
}

/** A request with calls must offer tools, so those that were called are named, and no more than named. */
export const standIns = (names: Iterable<string>): readonly ToolDefinition[] =>
  unique(
    [...names].map((name) => ({
      name: toolNameFor(name),
      description: "Not available any more.",
      input: { type: "object", properties: {} },
    })),
  ).slice(0, toolsMax);

function definition(given: unknown): ToolDefinition[] {
  const name = field(given, "name");
  if (typeof name !== "string") return [];
  const description = field(given, "description");
  return [
    {
      name: toolNameFor(name),
      description: typeof description === "string" ? description.toWellFormed() : "",
      input: objectSchema(field(given, "input")),
    },
  ];
}

/** The first of each name. */
function unique(definitions: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const byName = new Map<string, ToolDefinition>();
  for (const one of definitions) if (!byName.has(one.name)) byName.set(one.name, one);
  return [...byName.values()];
}

/** What providers refuse at the top of a schema. Without it a model may ask amiss, and is told so. */
const refused = new Set(["oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"]);

function objectSchema(given: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(given)) return { type: "object", properties: {} };
  const kept = Object.fromEntries(Object.entries(given).filter(([key]) => !refused.has(key)));
  const properties = Object.entries(isObject(given["properties"]) ? given["properties"] : {});
  const fit = Object.fromEntries(properties.filter(([key]) => fitProperty.test(key)));
  const required = Array.isArray(given["required"])
    ? { required: (given["required"] as unknown[]).filter((key) => typeof key === "string" && key in fit) }
    : {};
  return { ...kept, type: "object", properties: fit, ...required };
}
