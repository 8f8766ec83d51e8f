/** Agents of the workspace: list, add from a file, show. */
import { present } from "../command/input.ts";
import { grid, plain } from "../command/presentation.ts";
import { verb } from "../command/verb.ts";
import { readDocument } from "../format/document.ts";
import { ago } from "../format/moment.ts";
import { manyLines, oneLine } from "../format/text.ts";

export const agentPlain = [
  plain("engine.agents", {
    print: (all, { out, nowMs }) => ({
      lines:
        all.length === 0
          ? []
          : grid(
              out,
              ["AGENT", "MODEL", "ADDED", "WHAT IT IS FOR"],
              all.map(({ name, version, model, at, description }) => [
                `${name}@${version}`,
                oneLine(model ?? "the default"),
                ago(at, nowMs),
                oneLine(description ?? ""),
              ]),
            ),
      notes: all.length === 0 ? ['no agents yet; "skein agents add FILE" adds one'] : [],
    }),
  }),
];

export const agentActions = [
  verb({
    name: "agents add",
    line: "Add a version of an agent from a file.",
    args: ["FILE"],
    options: { name: { type: "text", what: "the agent's name, when the file does not say it" } },
    examples: [],
    /** The file is validated before anything is opened, so that a bad one leaves nothing behind. */
    async run({ args: { FILE: path }, options: { name }, out, engine }) {
      const { parseAgent } = await import("../../runtime/workspace/agent-file.ts");
      const definition = parseAgent(readDocument("agent", path), { path, ...present({ name }) });
      const opened = await engine({ create: true });
      const before = (await opened.agents()).find((one) => one.name === definition.name)?.version ?? 0;
      const { version, digest } = await opened.addAgent(definition);
      const added = version > before;
      const title = `${definition.name}@${version}`;
      await out.answer({ name: definition.name, version, digest, added }, () => [
        added ? `added ${title}` : `${title} is the same; nothing was added`,
      ]);
    },
  }),
  verb({
    name: "agents show",
    line: "Show an agent with its definition.",
    args: ["NAME[@VERSION]"],
    options: {},
    examples: [],
    async run({ args, out, engine }) {
      const what = args["NAME[@VERSION]"];
      const [, name = what, version] = /^(.*)@(\d{1,9})$/.exec(what) ?? [];
      const found = await (
        await engine()
      ).agent(name, present({ version: version === undefined ? undefined : Number(version) }));
      const { instructions, name: _, ...fields } = found.definition;
      const text = (value: unknown): string =>
        oneLine(typeof value === "string" ? value : JSON.stringify(value));
      await out.answer(found, () => [
        out.bold(`${found.name}@${found.version}`),
        ...Object.entries(fields).map(([field, value]) => `${out.dim(field.padEnd(16))}${text(value)}`),
        "",
        ...manyLines(instructions),
      ]);
    },
  }),
];
