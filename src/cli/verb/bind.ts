/** Binds a resource to a session. */
import type { Binding } from "../../core/command.ts";
import { oneOf } from "../args.ts";
import { answerChange } from "../change.ts";
import { jsonOf, present } from "../input.ts";
import { verb } from "../verb.ts";

const kinds = [
  "file",
  "directory",
  "database",
  "mcp",
  "shell",
  "tool",
] as const satisfies readonly Binding["kind"][];

export const bind = verb({
  name: "bind",
  line: "Let a session use a resource: a file, directory, database, MCP server, shell or tool.",
  args: ["ID", "KIND"],
  options: {
    path: { type: "text", what: "of a file or directory" },
    url: { type: "text", what: "of a database or MCP server" },
    command: { type: "list", value: "WORD", what: "the command that starts an MCP server, word by word" },
    name: { type: "text", what: "by default the path, the URL or the kind" },
    mode: { type: "text", choices: ["read", "write"], what: "by default read" },
    secret: { type: "list", value: "NAME", what: "the name of a secret it needs, never its value" },
    options: { type: "text", value: "JSON", what: "whatever else the resource needs" },
  },
  about: [`KIND is ${kinds.join(", ")}.`],
  examples: [
    { command: "skein bind 4x8kz1 file --path rates.json", what: "a file, to read" },
    {
      command: "skein bind 4x8kz1 directory --path ./src --mode write --name code",
      what: "a directory, to write",
    },
    {
      command: "skein bind 4x8kz1 database --url postgres://db/hr --secret HR_PASSWORD",
      what: "with a secret's name",
    },
  ],
  async run({ args, options, out, session }) {
    const { path, url, name, command, secret } = options;
    const kind = oneOf("KIND", args.KIND, kinds);
    const found = await session(args.ID);
    const written = await found.bind({
      kind,
      ...present({ path, url, name, mode: options.mode as "read" | "write" | undefined }),
      ...(command.length === 0 ? {} : { command }),
      ...(secret.length === 0 ? {} : { secrets: secret }),
      ...(options.options === undefined ? {} : { options: jsonOf("--options", options.options) }),
    });
    await answerChange(out, found, written, "bound");
  },
});
