/** Serves an editor as an agent, over the Agent Client Protocol on standard input and output. */
import { spawnSync } from "node:child_process";
import { unsafeDefault } from "../../core/tool/permission.ts";
import { realWorld } from "../../runtime/world.ts";
import { SkeinError } from "../../core/error.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { labelsOf, present } from "../command/input.ts";
import { parseBinding } from "../format/binding-word.ts";
import { checkModelName } from "../format/model-name.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const acp = verb({
  name: "acp",
  line: "Serve an editor as its agent, over the Agent Client Protocol (ACP).",
  args: [],
  options: {
    agent: { type: "text", value: "NAME[@VERSION]", what: "the agent of new sessions" },
    model: { type: "text", value: "PROVIDER/MODEL", what: "the model of new sessions" },
    instructions: { type: "text", what: "instructions for the model" },
    bind: {
      type: "list",
      value: "KIND:PATH[:write]",
      what: "a further resource, besides the editor's folder",
    },
    label: { type: "list", value: "KEY=VALUE", what: "a label of new sessions" },
    shell: {
      type: "text",
      choices: ["sandbox", "ask", "none"],
      value: "HOW",
      what: "sandbox, ask (no sandbox, each command asks) or none; default: sandbox where it works",
    },
    yes: { type: "flag", short: "y", what: "allow unsafe tools without asking" },
    ...budgetOptions,
  },
  about: [
    "An editor starts this command and talks to it on standard input and output: Zed, JetBrains IDEs, " +
      "Neovim and others. Logs go to standard error. The editor's folder becomes a directory binding " +
      "with a shell; tools that are not safe to repeat ask in the editor. docs/acp.md has the settings.",
    "Sessions are in the store (--store, SKEIN_STORE, or ./skein.db in the folder where the editor starts " +
      "it). Killing the process loses nothing: the editor loads the session again, and it continues.",
  ],
  examples: [
    "skein acp --store ~/.skein.db  # what the editor's settings name",
    "skein acp --model anthropic/claude-sonnet-5-5 --usd 5  # with a model and a budget for each session",
  ],
  async run({ options, out, engine, untilStopped }) {
    const { agent, model, instructions } = options;
    await checkModelName(model);
    const { serveAcp } = await import("../../adapter/acp/agent.ts");
    const stopped = untilStopped({ isRegularEnd: true });
    stopped.addEventListener("abort", () => process.stdin.destroy(), { once: true });
    const note = (text: string): void => out.note(`skein acp: ${oneLine(text)}`);
    await serveAcp({
      engine: () => engine({ create: true }),
      input: standardInput(),
      write: (line) => out.text(line),
      shell: options.shell === undefined ? shellHere(note) : (options.shell as "sandbox" | "ask" | "none"),
      setSecret,
      open: {
        ...present({ agent, model, instructions, budget: budgetOf(options) }),
        ...(options.bind.length === 0 ? {} : { bind: options.bind.map(parseBinding) }),
        ...(options.label.length === 0 ? {} : { labels: labelsOf("--label", options.label) }),
        ...(options.yes ? { grant: [unsafeDefault("allow", "opened with --yes")] } : {}),
      },
      models: async () => {
        const { loadModels } = await import("../open/config.ts");
        const { byDefault, list } = await loadModels(realWorld());
        return { byDefault: model ?? byDefault, list: list().filter(({ ready }) => ready) };
      },
      note,
    });
  },
});

async function* standardInput(): AsyncGenerator<Uint8Array> {
  try {
    yield* process.stdin as AsyncIterable<Uint8Array>;
  } catch (error) {
    // The process was stopped, or the editor is gone.
    if (!process.stdin.destroyed) throw error;
  }
}

/** A sandbox where it works; otherwise the note warns the editor's user. */
function shellHere(note: (text: string) => void): "sandbox" | "ask" {
  const tried = spawnSync("bwrap", ["--unshare-user", "--ro-bind", "/", "/", "true"], { stdio: "ignore" });
  if (tried.status === 0) return "sandbox";
  note("bubblewrap does not work here: commands run without a sandbox, and each asks first");
  return "ask";
}

/** Secrets of MCP servers live in this process. Two different values of one name would be mixed up. */
function setSecret(name: string, value: string): void {
  const before = process.env[name];
  if (before === undefined || before === value) process.env[name] = value;
  else
    throw new SkeinError("conflict", `mcpServers: ${name} has another value in this process`, {
      hint: "start a second skein acp with that value, or rename the variable",
    });
}
