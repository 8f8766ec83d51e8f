/** Runs a plan: one session for each ticket. A repeated run continues. */
import { readFile } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { makeWorkspaceId, quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import {
  listTickets,
  parsePlan,
  projectPlan,
  runPlan,
  type Plan,
  type RunPlanOptions,
  type TicketRow,
} from "../../tickets/tickets.ts";
import { realWorld } from "../../runtime/world.ts";
import { checkAction, oneOf } from "../command/args.ts";
import { parseBinding } from "../format/binding-word.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { undefinedAgent } from "../format/agent-note.ts";
import { standsStill } from "../command/exit-code.ts";
import { present, readText } from "../command/input.ts";
import { checkModelName } from "../format/model-name.ts";
import { storeExists } from "../open/open-engine.ts";
import { questionLines, questionOf, wayOn } from "../chat/question.ts";
import { makeTicketView, summed, ticketTable } from "../format/ticket-view.ts";
import { mergeOptions, runMerge } from "./tickets-merge.ts";
import { verb, type VerbCall, type OptionValues } from "../command/verb.ts";

const actions = ["run", "status", "merge"] as const;
const options = {
  agent: { type: "text", value: "NAME[@VERSION]", what: "the agent of tickets that name none" },
  model: { type: "text", value: "PROVIDER/MODEL", what: "the model" },
  parallel: {
    type: "count",
    least: 1,
    short: "p",
    value: "N",
    what: "the number of tickets at once; by default 3 with --worktrees, else 1",
  },
  worktrees: { type: "flag", short: "w", what: "each ticket gets a Git worktree and a branch" },
  base: {
    type: "text",
    value: "REF",
    what: "the start of branches, by default what is checked out; merge: the branch that receives them",
  },
  tries: {
    type: "count",
    least: 1,
    value: "N",
    what: "how often a ticket is worked on until its checks pass; by default 3",
  },
  "no-commit": { type: "flag", what: "leave uncommitted changes uncommitted" },
  directory: { type: "text", value: "PATH", what: "where they work; by default here" },
  bind: { type: "list", value: "KIND:PATH[:write]", what: "a further resource, such as shell" },
  project: { type: "text", value: "PROJECT", what: "the plan of a project, in place of PLAN" },
  name: { type: "text", what: "the name of the plan; by default its own, or the file's" },
  retry: { type: "flag", what: "retry failed tickets, and resume those that an error suspended" },
  "dry-run": { type: "flag", what: "only show what would be done" },
  ...mergeOptions,
  ...budgetOptions,
} as const;

export const tickets = verb({
  name: "tickets",
  line: "Run a plan: one session for each ticket, in the order of their dependencies.",
  args: ["ACTION", "PLAN?"],
  usages: [
    "skein tickets run PLAN [options]",
    "skein tickets run --project PROJECT [options]",
    "skein tickets status PLAN",
    "skein tickets merge PLAN --base BRANCH [options]",
  ],
  options,
  about: [
    'PLAN is a file in Markdown, with a ticket for each heading ("## api: ' +
      'Build the API") or item ("- [ ] api: Build the API"), and its dependencies on a separate line ' +
      '("after: schema, login"); or JSON: [{"id", "title", "text", "after"}]. A dash reads it from ' +
      "standard input.",
    "With --project the plan is that of a project (skein project plan), and its sessions belong to the " +
      "project. What sessions add to the plan meanwhile runs too.",
    "Each session has the title as its objective, the text as its instructions, and the handoffs of " +
      "its dependencies; it knows nothing of the others. When its turn has ended, it writes a handoff " +
      "and is closed. A budget is that of each ticket.",
    "A failed ticket stops only those that depend on it. A suspended one, for an approval or a " +
      "budget, is blocked: answer it, and run the plan again. After an interruption the same command " +
      "continues: finished tickets do not run again. Ctrl-C stops before the next steps.",
    "With --worktrees the branches are skein/PLAN/TICKET, in .skein/worktrees; a ticket with " +
      "dependencies begins with their work, merged. The exit code is 0 when all is done, 1 when a " +
      "ticket failed, and 7 when one is blocked.",
    "merge brings the branches of finished tickets to the base, one after the other: it merges in a " +
      "worktree of its own, runs the checks there, and moves the base to exactly the commit that passed. " +
      "The base must not be checked out. With --agent a session works on conflicts and failed checks. " +
      "Run again, it continues.",
  ],
  examples: [
    "skein tickets run plan.md --agent coder --worktrees  # three at once",
    "skein tickets run plan.md --agent coder -w -p 5 --usd 2  # five, for $2 each at most",
    "skein tickets run plan.md --dry-run  # the tickets and their status; runs nothing",
    "skein tickets run --project 7f3k2m --agent coder -w  # the plan that a project keeps",
    "skein tickets merge plan.md --base integration --agent coder  # a base that is not checked out",
    "skein tickets status plan.md --json  # for programs: one ticket a line",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION, actions);
    checkAction("tickets", action, call.options, takes);
    const source = sourceOf(call.args.PLAN, call.options);
    const plan =
      source.project === undefined
        ? await readPlan(source.file, call.options.name)
        : await projectPlan(await call.engine(), source.project);
    const here = {
      ...call,
      source: source.project === undefined ? source.file : `--project ${source.project}`,
    };
    if (action === "merge") return mergeAll(here, plan);
    return action === "status" ? showStatus(here, plan) : runAll(here, plan);
  },
});

const budgets = Object.keys(budgetOptions) as (keyof typeof budgetOptions)[];
const ofMerge = Object.keys(mergeOptions) as (keyof typeof mergeOptions)[];
const takes = {
  run: (Object.keys(options) as (keyof typeof options)[]).filter(
    (name) => !ofMerge.some((one) => one === name),
  ),
  status: ["name", "project"],
  merge: [
    ...ofMerge,
    ...budgets,
    "base",
    "agent",
    "model",
    "tries",
    "directory",
    "bind",
    "name",
    "project",
    "dry-run",
  ],
} as const satisfies Record<(typeof actions)[number], readonly (keyof typeof options)[]>;

type TicketsCall = Pick<VerbCall, "out" | "engine" | "place" | "untilStopped"> & {
  readonly options: OptionValues<typeof options>;
  /** The plan as the command line names it. */
  readonly source: string;
};

/** A file, or a project. */
function sourceOf(
  file: string | undefined,
  { project, name }: Pick<OptionValues<typeof options>, "project" | "name">,
): { readonly file: string; readonly project?: never } | { readonly project: string } {
  if (project === undefined && file !== undefined) return { file };
  if (project !== undefined && file === undefined && name === undefined) return { project };
  throw new SkeinError(
    "invalid",
    project === undefined ? "tickets: PLAN: missing" : "tickets: project: not allowed with PLAN or --name",
    { hint: "skein tickets run plan.md, or skein tickets run --project ID" },
  );
}

async function readPlan(path: string, name: string | undefined): Promise<Plan> {
  const isPiped = path === "-";
  const text = isPiped ? await readText("-") : await readFileText(path);
  return parsePlan(text, { file: isPiped ? "plan" : path, ...present({ name }) });
}

async function readFileText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new SkeinError("not-found", `tickets: ${quote(path)} cannot be read`, {
      hint: "pass the path of a plan, in Markdown or JSON",
      cause,
    });
  });
  if (bytes.length <= limit.contentBytesMax) return bytes.toString("utf8");
  throw new SkeinError("invalid", `${path}: longer than ${limit.contentBytesMax} bytes`);
}

async function showStatus({ out, engine }: TicketsCall, plan: Plan): Promise<void> {
  const opened = await engine();
  await summary({ out }, await listTickets(opened, plan));
}

async function mergeAll(
  { options: given, out, engine, untilStopped }: TicketsCall,
  plan: Plan,
): Promise<number> {
  const { base, method, accept, unchecked, agent, model, tries, directory } = given;
  await checkModelName(model);
  return runMerge(out, await engine(), plan, {
    base,
    method,
    accept,
    unchecked,
    ...present({ agent, model, tries, directory, budget: budgetOf(given) }),
    ...(given.bind.length === 0 ? {} : { bind: given.bind.map(parseBinding) }),
    dryRun: given["dry-run"],
    signal: untilStopped(),
  });
}

async function runAll(here: TicketsCall, plan: Plan): Promise<number> {
  const { options: given, out, untilStopped } = here;
  const { agent, model, parallel, base, directory, retry, tries } = given;
  await checkModelName(model);
  const asked: RunPlanOptions = {
    ...present({ agent, model, parallel, base, directory, tries, budget: budgetOf(given) }),
    ...(given.bind.length === 0 ? {} : { bind: given.bind.map(parseBinding) }),
    worktrees: given.worktrees,
    commit: !given["no-commit"],
    retry,
  };
  // A refusal does not leave an empty store behind.
  if (given["dry-run"] || !(await storeExists(here.place))) {
    const engine = await rehearsal(here);
    const rows = await runPlan(engine, plan, { ...asked, dryRun: true });
    if (given["dry-run"]) {
      await noteAgents(here, engine, plan);
      await summary(here, rows);
      return 0;
    }
  }
  const opened = await here.engine({ create: true });
  await noteAgents(here, opened, plan);
  const view = makeTicketView(out);
  const stopped = untilStopped();
  const watching = { signal: stopped, tell: view.show.bind(view), note: view.note.bind(view) };
  let rows: readonly TicketRow[];
  try {
    rows = await runPlan(opened, plan, { ...asked, ...watching });
  } finally {
    await view.end();
  }
  await summary(here, rows);
  await tellMore(here, opened, rows);
  if (rows.some(({ status }) => status === "failed" || status === "skipped")) return 1;
  return rows.some(({ status }) => status === "blocked") ? standsStill : 0;
}

/** Notes agents that are only names, with their line in the plan. */
async function noteAgents({ out, options, source }: TicketsCall, engine: Engine, plan: Plan): Promise<void> {
  const defined = new Set((await engine.agents()).map(({ name }) => name));
  const file = source === "-" ? "plan" : source;
  const left = plan.tickets.filter(({ done }) => done !== true);
  const own = left.flatMap(({ agent, line }) =>
    agent === undefined ? [] : [{ agent, at: plan.project === undefined ? `${file}:${line}: ` : "" }],
  );
  const rest = left.some(({ agent }) => agent === undefined) ? options.agent : undefined;
  for (const { agent, at } of [...(rest === undefined ? [] : [{ agent: rest, at: "" }]), ...own]) {
    const name = agent.replace(/@\d+$/, "");
    if (!defined.has(name)) out.note(`${at}${undefinedAgent(name)}`);
  }
}

/** An engine for a dry run; it does not create a missing store. */
async function rehearsal({ engine, place }: TicketsCall): Promise<Engine> {
  if (await storeExists(place)) return engine();
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const { memoryStore } = await import("../../store/memory/store.ts");
  const { Engine: Made } = await import("../../runtime/engine/engine.ts");
  const models = async () => (await import("../open/config.ts")).loadModels(world);
  return new Made({ store: memoryStore({ world, workspace }), world, models });
}

async function summary({ out }: Pick<TicketsCall, "out">, rows: readonly TicketRow[]): Promise<void> {
  if (out.json) {
    for (const row of rows) await out.emit(row);
    return;
  }
  if (rows.length === 0) return out.note("the project has no tickets: skein project plan ID --file plan.md");
  for (const line of ticketTable(rows, out)) await out.line(line);
  out.note(summed(rows));
  for (const { ticket, changed } of rows)
    if (changed) out.note(`${ticket} has started with the earlier text of the plan, and keeps it`);
}

/** What to do about blocked or failed tickets. */
async function tellMore(
  { out, source }: TicketsCall,
  engine: Engine,
  rows: readonly TicketRow[],
): Promise<void> {
  for (const { ticket, status, session, why } of rows) {
    if (status !== "blocked") continue;
    out.note(`${out.yellow(ticket)} is blocked: ${why ?? ""}`);
    const question = session === null ? null : await questionOf(await engine.session(session));
    if (question === null) continue;
    const ways = wayOn(question, out.command).map((way) => way.split("; then: ")[0] ?? way);
    for (const line of [...questionLines(question, out.command), ...ways]) out.note(line);
  }
  const again = `skein tickets run ${source}`;
  if (rows.some(({ status }) => status === "blocked")) out.note(`then run the plan again: ${again} …`);
  if (rows.some(({ status }) => status === "running" || status === "ready"))
    out.note(`to continue: ${again} …`);
  const failed = rows.filter(({ status }) => status === "failed");
  // A ticket without a session has nothing to retry: its obstacle must be fixed.
  for (const { ticket } of failed.filter(({ session }) => session === null))
    out.note(`${out.yellow(ticket)} could not start: fix the cause, then run again: ${again} …`);
  if (failed.some(({ session }) => session !== null)) out.note(`to retry failed tickets: ${again} --retry …`);
}
