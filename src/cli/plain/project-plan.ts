/** The plan of a project and its settings: set from a file, shown, and what sessions propose decided. */
import { readFile } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import type { TicketSpec } from "../../core/project/ticket.ts";
import { moneyText } from "../../core/text/money.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { PlannedTicketRow, ProjectPlan, ProjectTicket } from "../../runtime/project/plan.ts";
import { readText } from "../command/input.ts";
import { grid, invalid, plain, type PresentedResult } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { oneLine, plural } from "../format/text.ts";

export const projectPlanPlain = [
  plain("engine.plan", {
    options: {
      file: {
        type: "text",
        value: "FILE",
        what: "add the tickets of a plan, in Markdown or JSON; - is stdin",
      },
      replace: { type: "flag", what: "remove the tickets that the file does not have" },
      remove: { type: "list", value: "TICKET", what: "remove a ticket from the plan" },
    },
    call: changePlan,
    print: (plan, { out }) => ({ lines: planLines(plan, out), notes: proposalNotes(plan) }),
  }),
  plain("engine.setProjectBudget", {
    options: { unlimited: { type: "flag", what: "no limits" } },
    prepare({ params: { usd, tokens, reason }, given }) {
      const isSet = usd !== undefined || tokens !== undefined;
      if (isSet && given.unlimited)
        throw invalid("project budget: specify limits or --unlimited, not both", "remove one of them");
      if (!isSet && !given.unlimited && reason !== undefined)
        throw invalid("project budget: --reason requires limits", "for example --usd 20");
    },
    async call({ engine, params: { project = "", usd, tokens, reason }, given }) {
      const opened = await engine();
      if (usd === undefined && tokens === undefined && !given.unlimited)
        return { ...(await opened.projectBudget(project)), resumed: [] };
      return opened.setProjectBudget(project, present({ usd, tokens, reason }));
    },
    print: ({ limits, allotted, resumed }) => {
      const { usd, tokens } = limits ?? {};
      const each = [
        ...(usd === undefined ? [] : [`${moneyText(allotted.nanoUsd)} of ${moneyText(usd * 1e9)}`]),
        ...(tokens === undefined ? [] : [`${allotted.tokens} of ${tokens} tokens`]),
      ];
      return {
        lines: [each.length === 0 ? "budget: unlimited" : `budget: ${each.join(", ")} used or set aside`],
        notes: resumed.map((session) => `${session} continues`),
      };
    },
  }),
  plain("engine.acceptTickets", { print: planned }),
  plain("engine.rejectTickets", { print: planned }),
  plain("engine.markTicket", { print: planned }),
  plain("engine.configureProject", {
    print: ({ rule, agent, agents, project }) => ({
      lines: [`${project}: plan: ${rule}, agent: ${agent ?? "none"}, agents: ${agents.join(", ") || "all"}`],
    }),
  }),
];

/** Shows the plan; changes it first where the words say so. */
async function changePlan({
  engine,
  params,
  given,
}: {
  readonly engine: () => Promise<Engine>;
  readonly params: { readonly project?: string };
  readonly given: {
    readonly file?: string | undefined;
    readonly replace: boolean;
    readonly remove: readonly string[];
  };
}): Promise<ProjectPlan> {
  const { file, replace, remove } = given;
  const { project = "" } = params;
  if (file === undefined && replace)
    throw new SkeinError("invalid", "project plan: replace: requires --file", {
      hint: "--remove TICKET removes one",
    });
  if (file === undefined && remove.length === 0) return (await engine()).plan(project);
  // Read before anything is opened: a mistake in it has its line.
  const tickets = file === undefined ? [] : await ticketsIn(file);
  return (await engine()).planTickets(project, {
    tickets,
    ...(remove.length === 0 ? {} : { remove }),
    ...(replace ? { replace } : {}),
  });
}

async function ticketsIn(file: string): Promise<TicketSpec[]> {
  const text = await (file === "-" ? readText("-") : readFile(file, "utf8")).catch((cause: unknown) => {
    throw new SkeinError("not-found", `project plan: ${quote(file)} cannot be read`, {
      hint: "pass the path of a plan, in Markdown or JSON",
      cause,
    });
  });
  const { parsePlan } = await import("../../tickets/tickets.ts");
  const { tickets } = parsePlan(text, { file: file === "-" ? "plan" : file, name: "plan" });
  return tickets.map(({ id, title, text: body, after, agent, labels, budget, accept, done }) =>
    present({ id, title, text: body, after, agent, labels, budget, accept, done }),
  );
}

function planned(plan: ProjectPlan): PresentedResult {
  const counts = new Map<string, number>();
  for (const { status } of plan.tickets) counts.set(status, (counts.get(status) ?? 0) + 1);
  const each = [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
  const all = `${plan.project}: ${plural(plan.tickets.length, "ticket")}`;
  return { lines: [each === "" ? all : `${all} (${each})`], notes: proposalNotes(plan) };
}

function proposalNotes({ proposed, project }: ProjectPlan): string[] {
  if (proposed.length === 0) return [];
  const way = `skein project accept ${shortId(project)} --ticket TICKET`;
  return [`${plural(proposed.length, "proposed ticket")} to decide: ${way}`];
}

function planLines({ tickets, proposed }: ProjectPlan, out: Screen): string[] {
  if (tickets.length + proposed.length === 0) return ["no tickets"];
  const row = (one: ProjectTicket, status: string, why: string): string[] => [
    one.ticket,
    status,
    one.after.join(" "),
    one.agent ?? "",
    one.accept.map(({ name }) => name).join(" "),
    oneLine(why === "" ? (one.title ?? "erased") : `${one.title ?? "erased"} (${why})`),
  ];
  const rowOf = (one: PlannedTicketRow): string[] => row(one, one.status, one.why ?? "");
  const known = new Set(tickets.map(({ ticket }) => ticket));
  return grid(
    out,
    ["TICKET", "STATUS", "AFTER", "AGENT", "ACCEPT", "TITLE"],
    [
      ...tickets.map(rowOf),
      ...proposed.map((one) =>
        row(
          one,
          known.has(one.ticket) ? "change proposed" : "proposed",
          `by ${shortId(one.proposedBy ?? "")}`,
        ),
      ),
    ],
  );
}
