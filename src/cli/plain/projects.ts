/** Projects: open, list, show, record, retract, note, close, reopen, archive. */
import type { ProjectSummary, ProjectView } from "../../runtime/project/projects.ts";
import { shortId } from "../../core/text/short-id.ts";
import { grid, plain, type PresentedResult } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { ago } from "../format/moment.ts";
import { jsonText, manyLines, oneLine, plural } from "../format/text.ts";

const changed = (one: ProjectSummary): PresentedResult => ({ lines: [stateOf(one)] });

export const projectPlain = [
  plain("engine.openProject", { creates: true, print: (one) => ({ json: one, lines: [one.project] }) }),
  plain("engine.projects", {
    print: (all, { out, nowMs }) =>
      all.length === 0 ? { lines: [], notes: ["no projects"] } : { lines: rows(all, out, nowMs) },
  }),
  plain("engine.project", { print: (one, { nowMs }) => ({ lines: viewLines(one, nowMs) }) }),
  plain("engine.recordInProject", { print: changed }),
  plain("engine.retractInProject", { print: changed }),
  plain("engine.noteInProject", { print: changed }),
  plain("engine.closeProject", { print: changed }),
  plain("engine.reopenProject", { print: changed }),
  plain("engine.archiveProject", { print: changed }),
];

const stateOf = ({ project, status, outcome, sessions, items, notes }: ProjectSummary): string =>
  `${project}: ${status}${outcome === null ? "" : ` (${outcome})`}, ${plural(sessions, "session")}, ` +
  `${plural(items, "item")}, ${plural(notes, "note")}`;

function rows(all: readonly ProjectSummary[], out: Screen, nowMs: number): string[] {
  const short = out.columns !== null;
  return grid(
    out,
    ["PROJECT", "STATUS", ">SESSIONS", ">ITEMS", "ACTIVE", "OBJECTIVE"],
    all.map((one) => [
      short ? shortId(one.project) : one.project,
      one.outcome ?? one.status,
      String(one.sessions),
      String(one.items),
      ago(one.activeAt, nowMs),
      oneLine(one.name ?? one.objective ?? "erased"),
    ]),
  );
}

function viewLines(one: ProjectView, nowMs: number): string[] {
  const { project, status, outcome, objective, constraints, items, journal, sessions } = one;
  const itemLines = items.map(({ kind, key, status: state, value, because, erased }) => {
    const why = because === null ? "" : `, because ${oneLine(because)}`;
    const shown = erased ? "erased" : oneLine(typeof value === "string" ? value : jsonText(value));
    return `  ${kind} ${oneLine(key)}${state === null ? "" : ` (${oneLine(state)})`}: ${shown}${why}`;
  });
  return [
    `${project} ${outcome ?? status}: ${oneLine(objective ?? "erased")}`,
    ...(one.instructions === null ? [] : ["instructions:", ...manyLines(one.instructions).map(indented)]),
    ...(constraints.length === 0 ? [] : ["constraints:", ...constraints.map(oneLine).map(indented)]),
    ...(items.length === 0 ? [] : ["items:", ...itemLines]),
    ...(journal.length === 0
      ? []
      : ["journal:", ...journal.map(({ at, text }) => `  ${ago(at, nowMs)}: ${oneLine(text ?? "erased")}`)]),
    ...(sessions.length === 0 ? [] : ["sessions:", ...sessions.map(indented)]),
  ];
}

const indented = (line: string): string => `  ${line}`;
