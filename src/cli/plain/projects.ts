/** Projects: open, list, show, record, retract, note, close, reopen, archive. */
import type { ProjectItem, ProjectRow, ProjectSummary, ProjectView } from "../../runtime/project/projects.ts";
import type { EraseProjectReport } from "../../runtime/govern/project-govern.ts";
import { SkeinError } from "../../core/error.ts";
import { spendText } from "../../core/budget/money.ts";
import { quote } from "../../core/ids.ts";
import { shortId } from "../../core/text/short-id.ts";
import { grid, plain, type PresentedResult } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { ago } from "../format/moment.ts";
import { standingTable } from "../format/session-table.ts";
import { possibleText } from "../format/possible-conflict.ts";
import { bytes, jsonText, manyLines, oneLine, plural } from "../format/text.ts";
import { verifyLines } from "../verb/verify.ts";
import { lineageLines } from "./branch.ts";
import { rangeOf } from "./erase.ts";

const changed = (one: ProjectSummary): PresentedResult => ({ lines: [stateOf(one)] });

export const projectPlain = [
  plain("engine.openProject", { creates: true, print: (one) => ({ json: one, lines: [one.project] }) }),
  plain("engine.projects", {
    print: (all, { out, nowMs }) =>
      all.length === 0 ? { lines: [], notes: ["no projects"] } : { lines: rows(all, out, nowMs) },
  }),
  plain("engine.project", { print: (one, { out, nowMs }) => ({ lines: viewLines(one, out, nowMs) }) }),
  plain("engine.recordInProject", { print: changed }),
  plain("engine.retractInProject", { print: changed }),
  plain("engine.noteInProject", { print: changed }),
  plain("engine.closeProject", { print: changed }),
  plain("engine.reopenProject", { print: changed }),
  plain("engine.archiveProject", { print: changed }),
  plain("engine.projectLineage", {
    print: (found, { out }) => ({
      lines: lineageLines({ ...found, session: null }, out),
      notes: found.nodes.length === 0 ? ["no sessions"] : [],
    }),
  }),
  plain("engine.verifyProject", {
    print: (report, { out }) => ({ lines: verifyLines(report, out), code: report.ok ? 0 : 1 }),
  }),
  plain("engine.holdProject", {
    print: (one, { params: { name = "" } }) => ({ lines: [`${one.project}: set the hold ${quote(name)}`] }),
  }),
  plain("engine.liftProject", {
    print: (one, { params: { name = "" } }) => ({
      lines: [`${one.project}: lifted the hold ${quote(name)}`],
    }),
  }),
  plain("engine.eraseProject", {
    options: { yes: { type: "flag", short: "y", what: "without a confirmation" } },
    prepare({ params, given }) {
      const words = (given as { readonly seq?: readonly string[] }).seq ?? [];
      if (words.length > 0) params.ranges = words.map(rangeOf);
    },
    async call({ engine, params: { project = "", dryRun = false, ...wanted }, given: { yes }, out }) {
      const opened = await engine();
      const plan = await opened.eraseProject(project, { ...wanted, dryRun: true });
      if (dryRun) return plan;
      if (!out.json) for (const line of eraseLines(plan)) await out.line(line);
      if (goingOf(plan) > 0 && !yes) {
        const { confirm } = await import("../chat/typed-lines.ts");
        if (out.json || !(await confirm("Erase it for good?"))) {
          throw new SkeinError("refused", `${plural(goingOf(plan), "content")} would be erased permanently`, {
            hint: "add --yes to confirm; nothing was erased",
          });
        }
      }
      return opened.eraseProject(project, wanted);
    },
    print(report) {
      if (report.dryRun) return { lines: [...eraseLines(report), "nothing was erased"] };
      const trace = "scrub pending: the store's files may still hold traces; run this again later";
      return {
        lines: [`erased ${plural(goingOf(report), "content")} for good`, ...(report.scrubbed ? [] : [trace])],
        code: report.scrubbed ? 0 : notScrubbed,
      };
    },
  }),
];

/** As for an unavailable store. */
const notScrubbed = 4;

const goingOf = ({ records, sessions }: EraseProjectReport): number =>
  sessions.reduce((sum, one) => sum + one.records, records);

const eraseLines = ({ project, records, bytes: size, sessions }: EraseProjectReport): string[] => [
  `${plural(records, "content")} of ${project} (${bytes(size)})`,
  ...sessions.map((one) => `  ${one.session}  ${plural(one.records, "content")} (${bytes(one.bytes)})`),
];

const stateOf = (one: ProjectSummary): string =>
  `${one.project}: ${statusOf(one)}, ${plural(one.sessions, "session")}, ` +
  `${plural(one.items, "item")}, ${plural(one.notes, "note")}`;

/** `open`, `closed (completed)`, `archived (completed)`. */
const statusOf = ({ status, outcome }: Pick<ProjectSummary, "status" | "outcome">): string =>
  outcome === null ? status : `${status} (${outcome})`;

function rows(all: readonly ProjectRow[], out: Screen, nowMs: number): string[] {
  const short = out.columns !== null;
  return grid(
    out,
    ["PROJECT", "STATUS", ">SESSIONS", ">RUNNING", ">COST", ">OPEN TICKETS", ">ITEMS", "ACTIVE", "NAME"],
    all.map((one) => [
      short ? shortId(one.project) : one.project,
      statusOf(one),
      String(one.sessions),
      String(one.active.running),
      spendText(one.cost),
      String(one.tickets.open),
      String(one.items),
      ago(one.activeAt, nowMs),
      oneLine(one.name ?? one.objective ?? "erased"),
    ]),
  );
}

function viewLines(one: ProjectView, out: Screen, nowMs: number): string[] {
  const { project, name, objective, constraints, items, journal, holds, instructions } = one;
  const title = oneLine(name ?? objective ?? "erased");
  return [
    `${out.bold(title)}  ${out.dim(project)}`,
    ...(name === null || objective === null ? [] : [oneLine(objective)]),
    standingText(one, nowMs),
    ...(holds.length === 0 ? [] : [`under legal hold: ${holds.map((hold) => oneLine(hold)).join(", ")}`]),
    ...section(out, "Instructions", instructions === null ? [] : manyLines(instructions)),
    ...section(out, "Constraints", constraints.map(oneLine)),
    ...section(out, "Items", items.map(itemLine)),
    ...section(out, "Possible conflicts", one.conflicts.map(possibleText)),
    ...section(
      out,
      "Journal",
      journal.map(({ at, text }) => `${ago(at, nowMs)}: ${oneLine(text ?? "erased")}`),
    ),
    ...section(out, "Sessions", sessionLines(one, out, nowMs)),
  ];
}

function standingText(
  { status, outcome, sessions, active, cost, items, tickets, activeAt }: ProjectView,
  nowMs: number,
) {
  const openTasks = items.filter(({ kind, status: state }) => kind === "task" && state === "open").length;
  return [
    outcome === null ? status : `${status} as ${outcome}`,
    plural(sessions.length, "session"),
    ...(active.running === 0 ? [] : [`${active.running} running`]),
    ...(active.suspended === 0 ? [] : [`${active.suspended} suspended`]),
    ...(tickets.all === 0 ? [] : [`${tickets.open} of ${plural(tickets.all, "ticket")} open`]),
    ...(openTasks === 0 ? [] : [plural(openTasks, "open task")]),
    spendText(cost),
    `active ${ago(activeAt, nowMs)}`,
  ].join(" · ");
}

function itemLine({ kind, key, status, value, because, erased }: ProjectItem): string {
  const why = because === null ? "" : `, because ${oneLine(because)}`;
  const shown = erased ? "erased" : oneLine(typeof value === "string" ? value : jsonText(value));
  return `${kind} ${oneLine(key)}${status === null ? "" : ` (${oneLine(status)})`}: ${shown}${why}`;
}

function sessionLines({ latest, sessions }: ProjectView, out: Screen, nowMs: number): string[] {
  if (latest.length === 0) return [];
  const left = sessions.length - latest.length;
  const room = out.columns === null ? null : out.columns - 2;
  return [
    ...standingTable(latest, { ...out, columns: room }, { nowMs }),
    ...(left > 0 ? [out.dim(`and ${plural(left, "session")} more: skein ps --project ID --all`)] : []),
  ];
}

const section = (out: Screen, title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", out.bold(title), ...lines.map((line) => `  ${line}`)];
