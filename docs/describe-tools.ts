/** docs/built-in-tools.md: the built-in tools with their arguments, from the schemas that a model gets. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { realWorld } from "../src/runtime/world.ts";
import type { StoredBinding, Tool } from "../src/tool/port.ts";
import { controlTools } from "../src/tool/session-control.ts";
import { makeToolSource } from "../src/tool/source.ts";
import { cell, kindOf, type Schema } from "./describe-calls.ts";

const intro = `# Built-in tools

After this page you can look up what a model may call in a session, with the arguments and the effect of each
tool. [Tools](tools.md) explains effects, bindings and tools of your own; \`skein tools ID\` lists the tools of
one session. The descriptions are the ones that the model reads. Generated from the schemas in \`src/tool\` by
\`npm run docs\`.

Results go back to the model as text. An output over 32,768 characters is stored whole; the model sees its
beginning and end, and reads on with \`recall\`.
`;

const groups: readonly {
  readonly title: string;
  readonly lead: string;
  readonly kind: StoredBinding["kind"] | null;
}[] = [
  {
    title: "Session tools",
    lead:
      "Every session has these, unless the agent's `tools` leaves them out. They change the session's own " +
      "log, in one append with the result, so a crash cannot cut them off.",
    kind: null,
  },
  {
    title: "Tools that direct the session",
    lead:
      "A session has these only if you bind them, each by its name: `skein open --bind tool:rewind`, or `bind: " +
      "[{ kind: tool, name: rewind }]` of an agent. [Permission rules](permissions.md) hold for them by their " +
      "names. Forks and children that the session makes inherit the bindings. A tool of your own with one of " +
      "these names takes its place.",
    kind: "tool",
  },
  {
    title: "Files",
    lead:
      "For bindings of the kinds `file` and `directory`. `write_file` and `edit_file` exist if at least one " +
      "of them is bound with the mode `write`.",
    kind: "directory",
  },
  {
    title: "Shell",
    lead:
      "For bindings of the kind `shell`; the tool has the name of the binding. In a " +
      "[sandbox](tools.md#sandbox) it is allowed without approval by default.",
    kind: "shell",
  },
  {
    title: "Databases",
    lead:
      "For bindings of the kind `database`. If all of them are bound with the mode `read`, the effect is " +
      "`read`.",
    kind: "database",
  },
];

const after = `## MCP servers

A binding of the kind \`mcp\` brings the tools that the server lists, as \`SERVER_TOOL\`; see
[Bindings](tools.md#bindings). The annotations of the server decide about the effect: \`readOnlyHint\` is \`read\`,
\`idempotentHint\` is \`idempotent\`; a tool without either is \`unsafe\`.
`;

export async function describeTools(): Promise<string> {
  const parts: string[] = [];
  for (const { title, lead, kind } of groups) {
    parts.push(`## ${title}\n\n${lead}\n`);
    for (const tool of await toolsOf(kind)) parts.push(describeTool(tool));
  }
  return [intro, ...parts, after].join("\n");
}

/** The tools of a binding of this kind, without those of every session; null: only those. */
async function toolsOf(kind: StoredBinding["kind"] | null): Promise<readonly Tool[]> {
  if (kind === "tool") return controlTools;
  const folder = mkdtempSync(join(tmpdir(), "skein-describe-tools-"));
  try {
    const path = join(folder, kind === "database" ? "rates.db" : "notes");
    if (kind === "database") new DatabaseSync(path).close();
    else mkdirSync(path);
    const name = kind === "shell" ? "shell" : "notes";
    const bound = kind === null ? [] : [{ name, kind, mode: "write", path } as const];
    const source = makeToolSource({ world: { ...realWorld(), secret: () => undefined } });
    const { signal } = new AbortController();
    await using box = await source.open(bound, { signal, session: "ses_docs" });
    return box.tools
      .filter((tool) => kind === null || tool.effect !== "session")
      .map((tool) => ({ ...tool, description: tool.description.replaceAll(path, "the bound directory") }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What is bound differs from session to session. */
const boundNow = / Bound: [^.]*\.$/;

function describeTool({ name, effect, description, input }: Tool): string {
  const { properties = {}, required = [] } = input as Schema;
  const rows = Object.entries(properties).map(
    ([argument, schema]) =>
      `| \`${argument}\` | ${kindOf(schema)} | ${required.includes(argument) ? "yes" : ""} | ` +
      `${cell(textOf(schema))} |`,
  );
  return [
    `### ${name}`,
    "",
    description.replace(boundNow, ""),
    "",
    `Effect: \`${effect}\``,
    "",
    "| argument | type | required | description |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function textOf({ description = "", default: usual }: Schema): string {
  if (usual === undefined) return description;
  const shown = `by default ${JSON.stringify(usual)}`;
  return description === "" ? shown : `${description}; ${shown}`;
}
