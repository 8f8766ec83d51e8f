/** Tools in the form that every provider accepts: names, schemas, and placeholders for erased ones. */
import type { SessionLogEvent } from "../event.ts";
import type { ToolDefinition } from "./part.ts";
import { field, isObject } from "./source.ts";

/** The most tools that every provider accepts. */
const toolsMax = 128;
const fitName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const fitProperty = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * The name under which a tool is offered. Most names are valid for every provider and stay; the others get a
 * deterministic valid name, unique per tool.
 */
export function toolNameFor(name: string): string {
  if (fitName.test(name)) return name;
  const letters = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const fit = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`;
  return `${fit.slice(0, 55)}_${mark(name)}`;
}

/** FNV-1a, 32 bits: enough to distinguish names that look the same after cleaning. */
function mark(text: string): string {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++) {
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** The definitions of a `tools.bound`; placeholders where only the names are left. */
export function toolDefinitions(event: SessionLogEvent | undefined): readonly ToolDefinition[] {
  if (event?.type !== "tools.bound") return [];
  const content: unknown = event.content;
  const given = field(content, "definitions");
  const found = Array.isArray(given)
    ? (given as unknown[]).flatMap(definition)
    : standIns(event.body.tools ?? []);
  return unique(found).slice(0, toolsMax);
}

/** A request with calls must offer tools, so the called tools are offered by name only. */
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

/**
 * Keywords that providers reject at the top of a schema. Without them a model may send wrong arguments, and
 * gets an error back.
 */
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
