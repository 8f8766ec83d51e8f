/** Opens a session: one objective, and its options. Creates the store if it is missing. */
import type { OpenOptions, AfterSessions } from "../../core/session/commands.ts";
import { SkeinError } from "../../core/error.ts";
import type { InstructionName } from "../../core/session/instruction-names.ts";
import { makeWorkspaceId } from "../../core/ids.ts";
import { unsafeDefault } from "../../core/tool/permission.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { realWorld } from "../../runtime/world.ts";
import { undefinedAgent } from "../format/agent-note.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { carryLines } from "../format/carry-lines.ts";
import { missingPaths, parseBinding } from "../format/binding-word.ts";
import { labelsOf, present } from "../command/input.ts";
import { checkModelName } from "../format/model-name.ts";
import { storeExists } from "../open/open-engine.ts";
import type { Screen } from "../command/screen.ts";
import { parseWake } from "../format/trigger-word.ts";
import { verb, type VerbCall } from "../command/verb.ts";

export const open = verb({
  name: "open",
  line: "Open a session for one objective.",
  args: ["OBJECTIVE?"],
  options: {
    objective: { type: "text", what: "the objective, in a sentence; the same as OBJECTIVE" },
    name: { type: "text", what: "a short name for lists" },
    agent: {
      type: "text",
      value: "NAME[@VERSION]",
      what: "the agent; by default its newest version",
    },
    model: { type: "text", value: "PROVIDER/MODEL", what: "the model" },
    executor: {
      type: "text",
      value: "acp:NAME",
      what: "another agent that runs the turns: claude-code, codex, gemini, opencode, or a configured one",
    },
    instructions: { type: "text", what: "instructions for the model" },
    bind: {
      type: "list",
      value: "KIND:PATH[:write]",
      what: "a resource it may use, such as directory:src:write, shell:sandbox or file:rates.json",
    },
    file: { type: "list", value: "PATH", what: "a text file that it starts with" },
    "instruction-file": {
      type: "list",
      value: "NAME",
      what: "an instruction file to load from bound directories, such as CLAUDE.md; none for none",
    },
    constraint: { type: "list", value: "TEXT", what: "a constraint for the model" },
    label: { type: "list", value: "KEY=VALUE", what: "a label" },
    priority: { type: "count", value: "0-9", what: "0 is the most urgent; by default 5" },
    "expires-after": { type: "span", value: "SPAN", what: "expires after this time without activity" },
    from: {
      type: "text",
      value: "ID",
      what: "the session it continues: it begins with its handoff, for the same objective",
      once: "a session carries on the work of one; skein merge takes over what another knows",
    },
    project: { type: "text", value: "ID", what: "the project it belongs to" },
    wake: {
      type: "list",
      value: "KIND:WHAT",
      what: 'what wakes it, such as every:10m, "cron@Europe/Berlin:0 9 1 * *" or file:rates.json',
    },
    after: {
      type: "list",
      value: "ID",
      what: "a session to wait for: it sleeps until that one has ended, and gets its result",
    },
    give: {
      type: "text",
      value: "WHAT",
      what: "the result it gets of those: handoff, facts or nothing; by default handoff",
    },
    yes: { type: "flag", short: "y", what: "allow unsafe tools, such as shell, without asking" },
    accept: {
      type: "list",
      value: "CHECK",
      what: 'what must pass before it is completed, such as "command: npm test"',
    },
    "no-memory": { type: "flag", what: "carry no memory" },
    ...budgetOptions,
  },
  about: [
    "The store is created if it is missing. The session starts with the instructions of a bound directory, " +
      "and of those above it in the same repository: in each the first of AGENTS.md, CLAUDE.md, GEMINI.md, " +
      ".cursor/rules, .cursorrules and .github/copilot-instructions.md, or those of --instruction-file.",
    "With --from the session begins with the handoff of the other: decisions, facts, open tasks, " +
      "files, failures, each with its position. It works as the same agent, with the same model, " +
      "bindings, permissions, labels, priority, initial files and the rest of the budget, unless you " +
      "give others. The earlier session stays as it is and keeps its triggers; what does not carry " +
      "over is listed.",
    "Tools that are not safe to repeat, such as shell, ask before they run: the session is " +
      'suspended until "skein answer". --yes allows them without asking, and rules of the agent or ' +
      '"skein grant" decide for single tools. Either way the rule is in the log. A sandboxed shell ' +
      "without the network does not ask.",
  ],
  examples: [
    'skein open "Fix login"  # a session in ./skein.db; prints its id',
    'ID=$(skein open "Fix login")  # for scripts',
    'skein open --objective "Fix login" --json  # for programs: an object with "id"',
    'skein open "Review the change" --agent reviewer@2 --bind directory:. --bind shell  ' +
      "# with tools for files and command lines",
    'skein open "November payroll" --agent payroll --label team=hr --usd 2  # with a budget',
    'skein open "Write the report" --after 4x8kz1 --after 9m2ktv  ' +
      "# wait for two others, and begin with what they leave",
    "skein open --from 4x8kz1  # continue the work of another session",
  ],
  async run({ args, options, out, engine, session: find, place, nowMs }) {
    const { name, agent, instructions, priority, project } = options;
    const model = options.executor === undefined ? options.model : await executorModelOf(options);
    if (args.OBJECTIVE !== undefined && options.objective !== undefined) {
      throw new SkeinError("invalid", "open: OBJECTIVE is given twice", {
        hint: "use OBJECTIVE or --objective, not both",
      });
    }
    const objective = args.OBJECTIVE ?? options.objective;
    if (objective === undefined && options.from === undefined) {
      throw new SkeinError("invalid", "open: OBJECTIVE is required", {
        hint: 'state the goal in a sentence: skein open "Fix login"',
      });
    }
    await checkModelName(model, out);
    const labels = labelsOf("--label", options.label);
    const asked: OpenOptions = {
      ...present({ objective, name, agent, model, instructions, priority, project }),
      ...present({ budget: budgetOf(options) }),
      ...present({ expiresAfterIdleMs: options["expires-after"] }),
      ...(options.bind.length === 0 ? {} : { bind: options.bind.map(parseBinding) }),
      ...(options.file.length === 0 ? {} : { files: options.file }),
      ...(options["instruction-file"].length === 0
        ? {}
        : { instructionFiles: instructionFilesOf(options["instruction-file"]) }),
      ...(options.constraint.length === 0 ? {} : { constraints: options.constraint }),
      ...(options.label.length === 0 ? {} : { labels }),
      ...(options.after.length === 0 && options.give === undefined ? {} : { after: afterOf(options) }),
      ...(options.accept.length === 0 ? {} : { accept: options.accept }),
      ...(options["no-memory"] ? { memory: false } : {}),
      ...withExecutor(await defaultRule(options, find), await isExecutorAllowed(options, model, out), model),
      ...(options.wake.length === 0 ? {} : { wake: options.wake.map((word) => parseWake(word, nowMs)) }),
    };
    const fresh = !(await storeExists(place));
    const session = await openFrom(options.from, asked, { engine, place });
    const { seq: headSeq } = await session.head();
    // The id alone, so that ID=$(skein open …) is one.
    const text = objective ?? (await session.state()).objective;
    const { moved, left } = session.carriedOver ?? {};
    const answer = { id: session.id, headSeq, objective: text, ...present({ moved, left }) };
    await out.answer(answer, () => [session.id]);
    for (const line of carryLines(session.carriedOver, out)) out.note(line);
    const where = fresh ? ` in a new store: ${place}` : "";
    if (fresh || out.columns !== null)
      out.note(out.dim(`opened${where}; any unique suffix of the id names the session`));
    for (const note of missingPaths(asked.bind ?? [])) out.note(note);
    await noteAgent(out, session);
  },
});

async function executorModelOf(given: {
  readonly executor?: string | undefined;
  readonly model?: string | undefined;
}): Promise<string> {
  const { executorWord } = await import("../open/executors.ts");
  if (given.model === undefined) return executorWord(given.executor ?? "");
  throw new SkeinError("invalid", "open: specify --model or --executor, not both", {
    hint: "an executor has its own model",
  });
}

/** On a terminal a person is asked; --yes allows it with all other unsafe tools. */
async function isExecutorAllowed(
  { executor, yes }: { readonly executor?: string | undefined; readonly yes: boolean },
  model: string | undefined,
  out: Screen,
): Promise<boolean> {
  if (executor === undefined || model === undefined || yes || out.json || out.columns === null) return false;
  const { loadModels } = await import("../open/config.ts");
  const models = await loadModels(realWorld());
  const { executor: found } = await models.model(model);
  const { confirm } = await import("../chat/typed-lines.ts");
  return confirm(`Run "${found?.command ?? model}" with your rights, outside of Skein's sandbox?`);
}

const withExecutor = (
  { grant = [] }: Pick<OpenOptions, "grant">,
  isAllowed: boolean,
  model: string | undefined,
): Pick<OpenOptions, "grant"> => {
  const allow = { rule: "allow", reason: "allowed at the opening" } as const;
  const all = [...grant, ...(isAllowed && model !== undefined ? [{ tool: model, ...allow }] : [])];
  return all.length === 0 ? {} : { grant: all };
};

/**
 * Unsafe tools ask, unless --yes says otherwise. A successor keeps the default of its predecessor, if it has
 * one.
 */
async function defaultRule(
  { yes, from }: { readonly yes: boolean; readonly from: string | undefined },
  find: (id: string) => Promise<Session>,
): Promise<Pick<OpenOptions, "grant">> {
  if (yes) return { grant: [unsafeDefault("allow", "opened with --yes")] };
  const rules =
    from === undefined ? [] : [...(await (await find(from)).fold()).standing.permissions.values()];
  if (rules.some(({ effect }) => effect !== undefined)) return {};
  return { grant: [unsafeDefault("ask", "unsafe tools ask by default")] };
}

function afterOf(asked: {
  readonly after: readonly string[];
  readonly give: string | undefined;
}): AfterSessions {
  const { after, give } = asked;
  if (give === undefined) return { sessions: after };
  if (give === "handoff" || give === "facts" || give === "nothing") return { sessions: after, give };
  throw new SkeinError("invalid", `--give: expected handoff, facts or nothing, got ${JSON.stringify(give)}`, {
    hint: "for example --give facts",
  });
}

/** Says so when the session's agent is only a name. */
export async function noteAgent(out: Screen, session: Session): Promise<void> {
  const { agent } = (await session.fold()).standing;
  if (agent === null || agent.version !== 0) return;
  out.note(undefinedAgent(agent.name));
}

async function openFrom(
  ending: string | undefined,
  asked: OpenOptions,
  { engine, place }: Pick<VerbCall, "engine" | "place">,
): Promise<Session> {
  // A new store has no session to continue.
  if (ending !== undefined) return (await engine()).open({ ...asked, from: ending });
  const { objective = "", ...rest } = asked;
  // A new store has no session to wait for either.
  if (!(await storeExists(place))) await rehearse({ ...rest, objective });
  return (await engine({ create: true })).open({ ...rest, objective });
}

/** Opens the session in memory first, so that a refusal does not leave an empty store behind. */
async function rehearse(asked: OpenOptions & { readonly objective: string }): Promise<void> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const { memoryStore } = await import("../../store/memory/store.ts");
  const { Engine } = await import("../../runtime/engine/engine.ts");
  await using engine = new Engine({ store: memoryStore({ world, workspace }), world });
  await engine.open(asked);
}

/** `none` for none; names are checked with the other options. */
const instructionFilesOf = (names: readonly string[]): readonly InstructionName[] =>
  names.join() === "none" ? [] : (names as readonly InstructionName[]);
