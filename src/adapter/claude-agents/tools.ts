/** Tools of an agent as the API has them: custom tools, the agent toolset, MCP servers. */
import type { Binding, Permission } from "../../core/tool/commands.ts";
import { toolsetNames } from "./project.ts";
import { fieldsOf, invalid, isFields, listOf, textOf, type Fields } from "./values.ts";

const toolsetType = "agent_toolset_20260401";

interface ToolsetTool {
  readonly description: string;
  readonly fields: Fields;
  readonly required: readonly string[];
}

const text = { type: "string" } as const;

/** What the toolset's tools are offered as, when a program of the client executes them: with its inputs. */
const toolset: Readonly<Record<string, ToolsetTool>> = {
  bash: {
    description: "Runs a command in a persistent shell.",
    fields: { command: text, restart: { type: "boolean" }, timeout_ms: { type: "integer" } },
    required: [],
  },
  read: {
    description: "Reads a text file.",
    fields: { file_path: text, view_range: { type: "array", items: { type: "integer" } } },
    required: ["file_path"],
  },
  write: {
    description: "Writes a text file, with the directories above it.",
    fields: { file_path: text, content: text },
    required: ["file_path", "content"],
  },
  edit: {
    description: "Replaces a text in a file.",
    fields: { file_path: text, old_string: text, new_string: text, replace_all: { type: "boolean" } },
    required: ["file_path", "old_string", "new_string"],
  },
  glob: {
    description: "Finds files by a pattern.",
    fields: { pattern: text, path: text },
    required: ["pattern"],
  },
  grep: {
    description: "Searches files by a regular expression.",
    fields: { pattern: text, path: text },
    required: ["pattern"],
  },
};

/** Skein's own tools that do the same, in a cloud environment. */
const ownTools: Readonly<Record<string, string>> = {
  bash: "shell",
  read: "read_file",
  write: "write_file",
  edit: "edit_file",
  glob: "find_files",
  grep: "grep_files",
};

/** Validates the tools of an agent. */
export function checkTools(tools: unknown): readonly Fields[] {
  if (tools === undefined || tools === null) return [];
  const checked = listOf(tools, "tools").map((tool, place) => {
    const where = `tools[${place}]`;
    const fields = fieldsOf(tool, where);
    if (fields["type"] === "custom") return checkCustom(fields, where);
    if (fields["type"] === toolsetType) return { configs: [], default_config: {}, ...fields };
    if (fields["type"] === "mcp_toolset") return fields;
    throw invalid(`${where}.type: expected "custom", "${toolsetType}" or "mcp_toolset"`);
  });
  const names = checked.flatMap(({ type, name }) => (type === "custom" ? [String(name)] : []));
  const twice = names.find((name, place) => names.indexOf(name) < place);
  if (twice !== undefined) throw invalid(`tools: two custom tools have the name ${twice}`);
  return checked;
}

function checkCustom(tool: Fields, where: string): Fields {
  const name = textOf(tool["name"], `${where}.name`, 128);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) throw invalid(`${where}.name: expected letters, digits, _ and -`);
  if (toolsetNames.includes(name)) throw invalid(`${where}.name: ${name} is a tool of the agent toolset`);
  textOf(tool["description"], `${where}.description`, 20_000);
  const schema = tool["input_schema"];
  if (!isFields(schema) || schema["type"] !== "object")
    throw invalid(`${where}.input_schema: expected a JSON Schema with "type": "object"`);
  return tool;
}

const external = (name: string, description: string, input: unknown): Binding => ({
  kind: "tool",
  name,
  options: { external: true, description, input },
});

/** Bindings of an agent: its custom tools, which the client executes. */
export const customBindings = (tools: readonly Fields[]): Binding[] =>
  tools
    .filter(({ type }) => type === "custom")
    .map(({ name, description, input_schema: input }) => external(String(name), String(description), input));

/** Bindings of a session in a self-hosted environment: the toolset, which a worker executes. */
export const toolsetBindings = (tools: readonly Fields[]): Binding[] =>
  tools
    .filter(({ type }) => type === toolsetType)
    .flatMap((tool) =>
      Object.entries(toolset)
        .filter(([name]) => settingOf(tool, name).enabled)
        .map(([name, { description, fields, required }]) =>
          external(name, description, { type: "object", properties: fields, required }),
        ),
    );

/** Rules for the toolset, under its own names and those of Skein's tools. */
export const permissionsOf = (tools: readonly Fields[]): Permission[] =>
  tools
    .filter(({ type }) => type === toolsetType)
    .flatMap((tool) =>
      toolsetNames.flatMap((name) => {
        const { enabled, policy } = settingOf(tool, name);
        const rule = enabled ? rules[String(policy)] : "deny";
        const names = [name, ...(ownTools[name] === undefined ? [] : [ownTools[name]])];
        return rule === undefined ? [] : names.map((one) => ({ tool: one, rule }));
      }),
    );

const rules: Readonly<Record<string, "allow" | "ask">> = { always_allow: "allow", always_ask: "ask" };

/** Of one tool: its own configuration, else the default one. */
function settingOf(tool: Fields, name: string): { readonly enabled: boolean; readonly policy: unknown } {
  const configs = Array.isArray(tool["configs"]) ? (tool["configs"] as readonly unknown[]) : [];
  const own = configs.find((config) => isFields(config) && config["name"] === name);
  const [first, second] = [own, tool["default_config"]].map((one) => (isFields(one) ? one : {}));
  const enabled = (first?.["enabled"] ?? second?.["enabled"] ?? true) !== false;
  const given = first?.["permission_policy"] ?? second?.["permission_policy"];
  return { enabled, policy: isFields(given) ? given["type"] : given };
}
