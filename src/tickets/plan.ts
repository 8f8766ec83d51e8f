/**
 * Plans: tickets and their dependencies. Parsed from Markdown or JSON leniently (docs/tickets.md has the
 * rules), and then validated strictly: every mistake is reported with file and line.
 */
import { checkOptions, nearest, SkeinError } from "../core/error.ts";
import { parseChecks } from "../core/check/text.ts";
import { checkTexts, isObject } from "../core/option-check.ts";
import { quote } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { agentHint, isAgentWord } from "../core/workspace/agent.ts";
import { cycleIn, idHint, isTicketId } from "../core/project/ticket.ts";
import { mistake, slug, type Ticket } from "./plan-draft.ts";
import { readJson } from "./plan-json.ts";
import { readMarkdown } from "./plan-markdown.ts";

/** A plan: tickets, and the name of the whole. */
export interface Plan {
  /** The name in sessions and branches. */
  readonly name: string;
  readonly tickets: readonly Ticket[];
  /** The project that keeps it; its sessions belong to it. */
  readonly project?: string;
  /** Of tickets that name none, unless the run names one. */
  readonly agent?: string;
}

/** The origin of a plan's text. */
export interface PlanSource {
  /** The path of the file, for error messages. */
  readonly file?: string;
  /** Default: the plan's own name, or else the file name without its extension. */
  readonly name?: string;
}

/** Throws `invalid`, with the position, for a plan that cannot run. */
export function parsePlan(text: string, source: PlanSource = {}): Plan {
  checkOptions("parsePlan", source, ["file", "name"]);
  checkTexts("parsePlan", { ...source });
  const { file = "the plan", name } = source;
  if (typeof text !== "string")
    throw new SkeinError("invalid", "parsePlan: expected a string, in Markdown or JSON");
  if (text.includes("\0") || text.includes("\uFFFD"))
    throw new SkeinError("invalid", `${file}: invalid UTF-8`, { hint: "save the file as UTF-8" });
  const isJson = /\.json$/i.test(file) || /^\uFEFF?\s*[[{]\s*["{[\]}]/.test(text);
  const draft = isJson ? readJson(text, file) : readMarkdown(text, file);
  const { accept: all = [] } = draft;
  const tickets = draft.tickets.map((one): Ticket => {
    const accept = [...all, ...(one.accept ?? [])];
    return accept.length === 0 ? one : { ...one, accept };
  });
  if (tickets.length === 0) {
    throw mistake(
      file,
      1,
      "the plan has no tickets",
      isJson
        ? 'a list, such as [{ "id": "login", "title": "Fix login" }]'
        : 'a ticket is a heading, such as "## login: Fix login", or an item: "- [ ] login: Fix login"',
    );
  }
  checkTickets(tickets, file);
  return { name: planName(name ?? draft.name, file), tickets };
}

/** Throws `invalid` for anything that `parsePlan` cannot have returned. */
export function checkPlan(given: unknown): Plan {
  const { name, tickets }: { readonly name?: unknown; readonly tickets?: unknown } = isObject(given)
    ? given
    : {};
  if (typeof name !== "string" || !Array.isArray(tickets) || !tickets.every(isTicket)) {
    throw new SkeinError("invalid", "tickets: plan: expected a plan", {
      hint: 'pass the result of parsePlan, such as parsePlan("## login: Fix login")',
    });
  }
  planName(name, "the plan");
  checkTickets(tickets, "the plan");
  return given as Plan;
}

function checkTickets(tickets: readonly Ticket[], file: string): void {
  if (tickets.length > limit.ticketsMax)
    throw mistake(file, 1, `at most ${limit.ticketsMax} tickets, got ${tickets.length}`);
  checkEach(tickets, file);
  checkAfter(tickets, file);
}

function isTicket(given: unknown): given is Ticket {
  if (!isObject(given)) return false;
  const { id, title, text, after, agent = "", labels = {}, accept = [], line } = given;
  const isText = (value: unknown): boolean => typeof value === "string";
  const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
  const areLabels = isObject(labels) && isTexts(Object.values(labels));
  return (
    [id, title, text, agent].every(isText) &&
    isTexts(after) &&
    areLabels &&
    Array.isArray(accept) &&
    typeof line === "number"
  );
}

function planName(given: string | null, file: string): string {
  const base = (file.split(/[/\\]/).at(-1) ?? "").replace(/\.[A-Za-z]+$/, "");
  const name = given ?? slug(base);
  if (isTicketId(name)) return name;
  throw new SkeinError("invalid", `${file}: name: invalid plan name ${quote(name)}`, { hint: idHint });
}

function checkEach(tickets: readonly Ticket[], file: string): void {
  const lines = new Map<string, number>();
  for (const { id, title, text, agent, labels = {}, accept = [], line } of tickets) {
    if (!isTicketId(id)) throw mistake(file, line, `id: invalid ticket id ${quote(id)}`, idHint);
    // Branches that differ only in case are the same on some machines.
    const first = lines.get(id.toLowerCase());
    if (first !== undefined)
      throw mistake(file, line, `id: duplicate ticket ${quote(id)}, first at line ${first}`);
    lines.set(id.toLowerCase(), line);
    if (title.trim() === "") throw mistake(file, line, `ticket ${quote(id)}: title: missing`);
    if (title.length > limit.ticketTitleCharsMax)
      throw mistake(
        file,
        line,
        `ticket ${quote(id)}: title: longer than ${limit.ticketTitleCharsMax} characters`,
        "shorten the title; put details into the text below it",
      );
    if (text.length > limit.instructionsCharsMax)
      throw mistake(
        file,
        line,
        `ticket ${quote(id)}: text: longer than ${limit.instructionsCharsMax} characters`,
        "put long text into a file, and name the file",
      );
    if (agent !== undefined && !isAgentWord(agent))
      throw mistake(file, line, `agent: invalid agent name ${quote(agent)}`, agentHint);
    checkLabels(labels, file, line);
    checkAccept(accept, file, line);
  }
}

function checkAccept(accept: readonly unknown[], file: string, line: number): void {
  try {
    parseChecks(accept);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    throw mistake(file, line, error.message, error.hint);
  }
}

/** Labels that tickets get automatically. */
const ownLabels = ["plan", "ticket", "attempt", "branch", "text"];

function checkLabels(labels: Readonly<Record<string, string>>, file: string, line: number): void {
  const entries = Object.entries(labels);
  const own = entries.find(([key]) => ownLabels.includes(key));
  if (own !== undefined) throw mistake(file, line, `labels: ${quote(own[0])} is reserved for tickets`);
  const wrong = entries.find(
    ([key, value]) =>
      key === "" || key.length > limit.labelKeyCharsMax || value.length > limit.labelValueCharsMax,
  );
  if (wrong !== undefined)
    throw mistake(
      file,
      line,
      `labels: invalid label ${quote(wrong.join("="))}`,
      `keys up to ${limit.labelKeyCharsMax} characters, values up to ${limit.labelValueCharsMax}`,
    );
  const most = limit.labelsMax - ownLabels.length;
  if (entries.length > most) throw mistake(file, line, `labels: a ticket has at most ${most}`);
}

function checkAfter(tickets: readonly Ticket[], file: string): void {
  const byId = new Map(tickets.map((ticket) => [ticket.id, ticket]));
  for (const { id, after, line } of tickets) {
    const unknown = after.find((one) => !byId.has(one));
    if (unknown === undefined) continue;
    const near = nearest(unknown, [...byId.keys()]);
    throw mistake(
      file,
      line,
      `after: ticket ${quote(id)} names an unknown ticket ${quote(unknown)}`,
      near === undefined ? "use the id of another ticket" : `did you mean ${quote(near)}?`,
    );
  }
  const cycle = cycleIn(tickets);
  if (cycle === null) return;
  const [first = ""] = cycle;
  throw mistake(
    file,
    byId.get(first)?.line ?? 1,
    `after: circular dependency: ${[...cycle, first].join(" after ")}`,
    "remove one of these dependencies",
  );
}

/** The digest input of a ticket's text and checks, which detects a later change of them. */
export const ticketForm = ({ title, text, accept }: Pick<Ticket, "title" | "text" | "accept">): string =>
  JSON.stringify(accept === undefined ? [title, text] : [title, text, accept]);
