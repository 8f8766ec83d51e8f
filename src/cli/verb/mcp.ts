/** Serves one MCP client over standard input and output. */
import { errorText } from "../../core/first-error.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const mcp = verb({
  name: "mcp",
  line: "Give another agent this store over MCP: history, memory, handoffs and turns.",
  args: [],
  options: {
    "read-only": { type: "flag", what: "only tools, resources and prompts that read" },
    approve: { type: "flag", what: "let the client allow tool calls that wait for an approval" },
  },
  about: [
    "An MCP client (Claude Code, Cursor, VS Code, Zed and others) starts this command and talks to it on " +
      "standard input and output; both eras of the protocol work. Logs go to standard error. docs/mcp.md " +
      "has the settings of each client.",
    "It acts as you on the store (--store, SKEIN_STORE, or ./skein.db in the folder where the client " +
      "starts it; give it an absolute path). Killing it loses nothing: a turn in progress continues with " +
      'the next session_ask, "skein run", or a worker.',
    'Over HTTP "skein serve" has the same at /mcp, with a token.',
  ],
  examples: [
    "skein mcp --store ~/.skein.db  # in Claude Code: claude mcp add skein -- skein mcp --store ~/.skein.db",
    "skein mcp --read-only  # search and read, change nothing",
  ],
  async run({ options, out, engine, untilStopped }) {
    const { serveMcp } = await import("../../adapter/mcp/stdio.ts");
    await serveMcp({
      engine: await engine({ create: !options["read-only"] }),
      scopes: options["read-only"]
        ? ["read"]
        : ["read", "write", ...(options.approve ? ["operate" as const] : [])],
      trouble: (error) => out.note(`skein mcp: ${oneLine(errorText(error))}`),
      stopped: untilStopped({ isRegularEnd: true }),
    });
  },
});
