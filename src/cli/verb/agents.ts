/** Agents of the workspace: adds versions, lists and shows them. */
import { existsSync, readFileSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { oneOf } from "../command/args.ts";
import { ago } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { manyLines, oneLine } from "../format/text.ts";
import { databaseOf } from "../../tool/live-database.ts";
import { verb, type Call } from "../command/verb.ts";

const actions = ["add", "list", "show"] as const;

export const agents = verb({
  name: "agents",
  line: "Add a version of an agent from a file, list agents, or show one.",
  args: ["ACTION?", "WHAT?"],
  options: { name: { type: "text", what: "with add: the agent's name, when the file does not say it" } },
  about: [
    "ACTION is add FILE, list (the default) or show NAME[@VERSION]. The file is Markdown with YAML front " +
      "matter, whose body is the instructions, or JSON; examples are in examples/agents. A definition that " +
      "is the newest version already is no new one. A session keeps the version it was opened with. Adding " +
      "makes the store if it is not there.",
  ],
  examples: [
    "skein agents add reviewer.md  # a first or a further version",
    "skein agents  # the newest version of each",
    "skein agents show reviewer@2  # one version, with its definition",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const { WHAT } = call.args;
    if (action === "list") {
      if (WHAT === undefined) return list(call);
      throw new SkeinError("invalid", `agents: ${quote(WHAT)} is one argument too many`, {
        hint: `to see one: skein agents show ${WHAT}`,
      });
    }
    if (WHAT === undefined) {
      throw new SkeinError("invalid", `agents: what is to be ${action === "add" ? "added" : "shown"}?`, {
        hint: action === "add" ? "give a file: skein agents add reviewer.md" : "give a name, or name@2",
      });
    }
    return action === "add" ? add(call, WHAT, call.options.name) : show(call, WHAT);
  },
});

type Here = Pick<Call, "out" | "engine" | "nowMs">;

/** The file is read and checked before anything is opened, so that a bad one leaves nothing behind. */
async function add({ out, engine }: Here, path: string, name: string | undefined): Promise<void> {
  const { parseAgent } = await import("../../runtime/workspace/agent-file.ts");
  const definition = parseAgent(readAgent(path), { path, ...(name === undefined ? {} : { name }) });
  const opened = await engine({ create: true });
  const before = (await opened.agents()).find((one) => one.name === definition.name)?.version ?? 0;
  const { version, digest } = await opened.addAgent(definition);
  const added = version > before;
  await out.answer({ name: definition.name, version, digest, added }, () => [
    added
      ? `added ${definition.name}@${version}`
      : `${definition.name}@${version} is the same; nothing was added`,
  ]);
}

function readAgent(path: string): string {
  try {
    // Closing a file of an open database would drop the locks that this process holds on it.
    if (existsSync(`${databaseOf(path)}-shm`)) throw new Error("it belongs to a database that is open");
    const bytes = readFileSync(path);
    if (bytes.length <= limit.documentBytesMax) return bytes.toString("utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `the agent file ${quote(path)} cannot be read`, {
      hint: "give the path of a Markdown or JSON file",
      cause,
    });
  }
  throw new SkeinError("invalid", `${quote(path)} is too long for an agent file`, {
    hint: `at most ${limit.documentBytesMax} bytes`,
  });
}

async function list({ out, engine, nowMs }: Here): Promise<void> {
  const all = await (await engine()).agents();
  if (out.json) {
    for (const one of all) await out.emit(one);
    return;
  }
  if (all.length === 0) {
    out.note('no agents yet; "skein agents add FILE" adds one');
    return;
  }
  const columns = [{ title: "AGENT" }, { title: "MODEL" }, { title: "ADDED" }, { title: "WHAT IT IS FOR" }];
  const rows = all.map(({ name, version, model, at, description }) => [
    `${name}@${version}`,
    oneLine(model ?? "the default"),
    ago(at, nowMs),
    oneLine(description ?? ""),
  ]);
  for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

async function show({ out, engine }: Here, what: string): Promise<void> {
  const [, name = what, version] = /^(.*)@(\d{1,9})$/.exec(what) ?? [];
  const found = await (await engine()).agent(name, version === undefined ? {} : { version: Number(version) });
  const { instructions, name: _, ...fields } = found.definition;
  await out.answer(found, () => [
    out.bold(`${found.name}@${found.version}`),
    ...Object.entries(fields).map(
      ([field, value]) =>
        `${out.dim(field.padEnd(16))}${oneLine(typeof value === "string" ? value : JSON.stringify(value))}`,
    ),
    "",
    ...manyLines(instructions),
  ]);
}
