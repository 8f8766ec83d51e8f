/** Binds a resource to a session. */
import type { Binding } from "../../core/tool/commands.ts";
import { oneOf } from "../command/args.ts";
import { bindingKinds as kinds, checkServer } from "../format/binding-word.ts";
import { answerChange } from "../command/change-verb.ts";
import { jsonOf, present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const bind = verb({
  name: "bind",
  line: "Let a session use a resource: a file, directory, database, MCP server, shell or tool.",
  args: ["ID", "KIND"],
  options: {
    path: { type: "text", what: "of a file, a directory, an SQLite file, or where a shell works" },
    url: { type: "text", what: "of a PostgreSQL database or MCP server" },
    command: { type: "list", value: "WORD", what: "the command that starts an MCP server, word by word" },
    name: { type: "text", what: "by default the path, the URL or the kind" },
    mode: { type: "text", choices: ["read", "write"], what: "by default read" },
    secret: { type: "list", value: "NAME", what: "the name of a secret it needs, never its value" },
    sandbox: { type: "flag", what: "run the commands of a shell in a sandbox (bubblewrap)" },
    network: { type: "flag", what: "let a sandboxed shell use the network" },
    options: { type: "text", value: "JSON", what: "whatever else the resource needs" },
  },
  about: [
    `KIND is ${kinds.join(", ")}. A relative path means what it means here, also when the session is run ` +
      "elsewhere. A shell needs nothing else; it works in --path, or where the session is run. An MCP " +
      "server is started by --command or found at --url. A tool is one that the program which runs the " +
      "session brings, by --name.",
    "With --sandbox a shell sees the files and directories that are bound to the session, for reading or " +
      "writing as they are bound, a /tmp of its own and no network. --path is then bound by --mode.",
    "The tools of a binding are there from the next run on; files and databases can be written only with " +
      '--mode write, and "skein tools ID" lists them.',
  ],
  examples: [
    "skein bind 4x8kz1 file --path rates.json  # a file, to read",
    "skein bind 4x8kz1 directory --path ./src --mode write --name code  # a directory, to write",
    "skein bind 4x8kz1 shell --path .  # command lines, in this directory",
    "skein bind 4x8kz1 shell --sandbox --path . --mode write  " +
      "# the same in a sandbox, which may write in this directory",
    "skein bind 4x8kz1 mcp --name time --command npx --command time-server  " +
      "# an MCP server over its standard input and output",
    "skein bind 4x8kz1 database --url postgres://db/hr --secret HR_PASSWORD  # with a secret's name",
  ],
  async run({ args, options, out, session }) {
    const { path, url, name, command, secret } = options;
    const kind = oneOf("KIND", args.KIND, kinds);
    const binding: Binding = {
      kind,
      ...present({ path, url, name, mode: options.mode as "read" | "write" | undefined }),
      ...(command.length === 0 ? {} : { command }),
      ...(options.sandbox && { sandbox: true }),
      ...(options.network && { network: true }),
      ...(secret.length === 0 ? {} : { secrets: secret }),
      ...(options.options === undefined ? {} : { options: jsonOf("--options", options.options) }),
    };
    checkServer(binding);
    const found = await session(args.ID);
    const written = await found.bind(binding);
    await answerChange(out, found, written, "bound");
  },
});
