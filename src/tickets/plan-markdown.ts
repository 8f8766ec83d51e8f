/**
 * A plan in Markdown. A ticket is a heading (`## login: Fix login`), with the text up to the next one, or a
 * checklist item (`- [ ] login: Fix login`), with the indented text below it.
 */
import type { AcceptCheck } from "../core/check/check.ts";
import type { Budget } from "../core/budget/commands.ts";
import { quote } from "../core/ids.ts";
import { agentHint, isAgentWord } from "../core/workspace/agent.ts";
import { checkAt, mistake, slug, type PlanDraft, type Ticket } from "./plan-draft.ts";
import { trimEndOf, trimStartOf } from "../core/text/trim.ts";
import { pairOf } from "../core/text/pair.ts";

interface Line {
  readonly number: number;
  readonly text: string;
  /** Markup inside a code block has no meaning. */
  readonly isCode: boolean;
}

/** Where a ticket may begin. */
interface Start {
  readonly line: Line;
  readonly place: number;
  /** Of a heading; 0 for an item. */
  readonly level: number;
  readonly id: string | null;
  readonly title: string;
  readonly isDone: boolean;
}

const headingPattern = /^ {0,3}(#{1,6})[ \t]+(.*)$/s;
const itemPattern = /^(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(.*)$/s;
const fencePattern = /^\s*(`{3,}|~{3,})/;

export function readMarkdown(text: string, file: string): PlanDraft {
  const lines = linesOf(text);
  const starts = lines.flatMap((line, place) => startAt(line, place) ?? []);
  const headings = starts.filter(({ level }) => level > 0);
  const items = starts.filter(({ level }) => level === 0);
  const below = withoutTitle(headings);
  const isNamed = ({ id }: Start): boolean => id !== null;
  // Headings with ids are tickets; otherwise items with ids; otherwise whichever exists.
  const of = headings.some(isNamed)
    ? ticketHeadings(headings.filter(isNamed))
    : items.some(isNamed) || below.length === 0
      ? items
      : ticketHeadings(below);
  const tickets = of.map((start) => ticketAt(start, lines, { starts, of, file }));
  const preface = lines.slice(0, of[0]?.place ?? lines.length);
  const named = preface.flatMap(({ text: one }) => /^plan:(.*)$/is.exec(one)?.[1]?.trim() || []);
  const accept = preface.flatMap(({ text: one, isCode, number }) => {
    const check = isCode ? undefined : /^(?:[-*+][ \t]+)?accept[ \t]*:(.*)$/is.exec(one)?.[1]?.trim();
    return check === undefined ? [] : [checkAt(check, file, number)];
  });
  return { name: named[0] ?? null, tickets, ...(accept.length === 0 ? {} : { accept }) };
}

function linesOf(text: string): Line[] {
  let fence: string | null = null;
  return text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .map((one, place) => {
      const mark = fencePattern.exec(one)?.[1] ?? null;
      const isCode = fence !== null || mark !== null;
      if (fence === null) fence = mark;
      else if (mark !== null && mark[0] === fence[0] && mark.length >= fence.length) fence = null;
      return { number: place + 1, text: one, isCode };
    });
}

function startAt(line: Line, place: number): Start | null {
  if (line.isCode) return null;
  const heading = headingPattern.exec(line.text);
  const item = heading === null ? itemPattern.exec(line.text) : null;
  const said = heading === null ? item?.[2]?.trim() : withoutClosing(heading[2] ?? "");
  if (said === undefined) return null;
  const level = heading?.[1]?.length ?? 0;
  return { line, place, level, ...namedIn(said), isDone: item !== null && item[1] !== " " };
}

/** `Fix login ##` is `Fix login`. */
function withoutClosing(title: string): string {
  const said = title.trim();
  const open = trimEndOf(said, "#");
  return open === "" || /[ \t]$/.test(open) ? open.trimEnd() : said;
}

const word = "[A-Za-z0-9][A-Za-z0-9._-]*";
/** `login: Fix`, `[login] Fix`, `` `login` Fix ``, `**login** Fix`, `3. Fix`, `Fix {#login}`. */
const idForms = [
  new RegExp(`^\\[(${word})\\][:\\s](?<title>.*)$`, "s"),
  new RegExp(`^\`(${word})\`[:\\s](?<title>.*)$`, "s"),
  new RegExp(`^\\*\\*(${word}):?\\*\\*[:\\s](?<title>.*)$`, "s"),
  new RegExp(`^(${word}):\\s(?<title>.*)$`, "s"),
  /^(\d{1,6})[.)]\s(?<title>.*)$/s,
];

function namedIn(said: string): { readonly id: string | null; readonly title: string } {
  const mark = said.lastIndexOf("{#");
  const tail = mark === -1 ? null : new RegExp(`^\\{#(${word})\\}$`).exec(said.slice(mark));
  if (tail !== null) return { id: tail[1] ?? null, title: said.slice(0, mark).trimEnd() };
  for (const form of idForms) {
    const found = form.exec(said);
    if (found !== null) return { id: found[1] ?? null, title: (found.groups?.["title"] ?? "").trimStart() };
  }
  return { id: null, title: said };
}

/** Those of the highest existing level. */
function ticketHeadings(headings: readonly Start[]): Start[] {
  const level = Math.min(...headings.map((one) => one.level));
  return headings.filter((one) => one.level === level);
}

/** A first heading above all others is the plan's title; a single first-level heading too. */
function withoutTitle(headings: readonly Start[]): readonly Start[] {
  const [first, ...rest] = headings;
  const level = first?.level ?? 0;
  const isTitle = rest.length === 0 ? level === 1 : rest.every((one) => one.level > level);
  return isTitle ? rest : headings;
}

interface Around {
  readonly starts: readonly Start[];
  readonly of: readonly Start[];
  readonly file: string;
}

function ticketAt(start: Start, lines: readonly Line[], around: Around): Ticket {
  const { line } = start;
  const { title, after: inTitle } = titleOf(start.title);
  const said = read(bodyOf(start, lines, around), around.file);
  return {
    id: start.id ?? slug(title),
    title,
    text: said.text,
    after: [...new Set([...inTitle, ...said.after])],
    ...(said.agent === null ? {} : { agent: said.agent }),
    ...(said.labels === null ? {} : { labels: said.labels }),
    ...(said.budget === null ? {} : { budget: said.budget }),
    ...(said.accept.length === 0 ? {} : { accept: said.accept }),
    ...(start.isDone ? { done: true } : {}),
    line: line.number,
  };
}

/** `Build the page (after: api, schema)`. */
function titleOf(said: string): { readonly title: string; readonly after: readonly string[] } {
  const mark = Math.max(said.lastIndexOf("("), said.lastIndexOf("["));
  const found = /^.(?:after|depends[ -]on|needs|blocked[ -]by):?\s([^)\]]*)[)\]]$/i.exec(said.slice(mark));
  const ids = mark === -1 || found === null ? null : idsIn(found[1] ?? "");
  return ids === null ? { title: said.trim(), after: [] } : { title: said.slice(0, mark).trim(), after: ids };
}

/**
 * Of a heading everything up to the next one that is not below it; of an item the indented and blank lines.
 */
function bodyOf(start: Start, lines: readonly Line[], { starts, of }: Around): readonly Line[] {
  const rest = lines.slice(start.place + 1);
  if (start.level > 0) {
    const ends = starts.find(
      (one) => one.place > start.place && (of.includes(one) || (one.level > 0 && one.level <= start.level)),
    );
    return rest.slice(0, ends === undefined ? rest.length : ends.place - start.place - 1);
  }
  const end = rest.findIndex(({ text }) => /^\S/.test(text));
  return end === -1 ? rest : rest.slice(0, end);
}

interface TicketFields {
  text: string;
  after: string[];
  agent: string | null;
  labels: Record<string, string> | null;
  budget: Budget | null;
  accept: AcceptCheck[];
}

const fieldPattern = new RegExp(
  "^\\s*(?:[-*+][ \\t]+)?[*_]{0,2}(after|depends[ -]on|needs|blocked[ -]by|agent|labels?|budget|accept)" +
    "[*_]{0,2}[ \\t]*:[*_]{0,2}(.*)$",
  "is",
);
const isAfter = (field: string): boolean => /^(?:after|depends|needs|blocked)/i.test(field);

/**
 * Fields come first, one per line. The dependencies of a ticket may also come later, on a separate line, if
 * it is a list of ids.
 */
function read(body: readonly Line[], file: string): TicketFields {
  const found: TicketFields = { text: "", after: [], agent: null, labels: null, budget: null, accept: [] };
  const kept: string[] = [];
  let isFront = true;
  for (const { text, isCode, number } of body) {
    const [, field, said = ""] = (isCode ? null : fieldPattern.exec(text)) ?? [];
    const value = said.trim();
    if (field !== undefined && (isFront || (isAfter(field) && idsIn(value) !== null)))
      take(found, field.toLowerCase(), value, { file, number });
    else {
      isFront &&= text.trim() === "";
      kept.push(text);
    }
  }
  found.text = dedented(kept);
  return found;
}

interface PlanLine {
  readonly file: string;
  readonly number: number;
}

function take(found: TicketFields, field: string, value: string, { file, number }: PlanLine): void {
  if (isAfter(field)) {
    const ids = idsIn(value);
    if (ids === null)
      throw mistake(
        file,
        number,
        `after: expected a list of ids, got ${quote(value)}`,
        "for example: after: login, schema",
      );
    found.after.push(...ids);
  } else if (field === "accept") found.accept.push(checkAt(value, file, number));
  else if (field === "agent") {
    if (!isAgentWord(value))
      throw mistake(file, number, `agent: invalid agent name ${quote(value)}`, agentHint);
    found.agent = value;
  } else {
    const pairs = value.split(",").map((one) => pairOf(one, /[=:]/));
    const entries = pairs.filter((pair) => pair !== null);
    if (pairs.includes(null))
      throw mistake(
        file,
        number,
        `labels: expected KEY=VALUE, got ${quote(value)}`,
        "separate several by commas",
      );
    if (field === "budget") found.budget = budgetOf(entries, { file, number });
    else found.labels = { ...found.labels, ...Object.fromEntries(entries) };
  }
}

const resources = ["usd", "tokens", "steps", "turns", "toolCalls", "wallMs"] as const;

function budgetOf(entries: readonly (readonly [string, string])[], { file, number }: PlanLine): Budget {
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const resource = resources.find((one) => one.toLowerCase() === key.toLowerCase().replace(/[-_]/g, ""));
      const amount = /^\$?\d+(?:\.\d+)?$/.test(value) ? Number(value.replace("$", "")) : Number.NaN;
      if (resource === undefined || Number.isNaN(amount))
        throw mistake(
          file,
          number,
          `budget: invalid limit ${quote(`${key}=${value}`)}`,
          "for example usd=2, steps=40",
        );
      return [resource, amount];
    }),
  );
}

/** Ids, separated by commas, spaces or "and"; null for anything else. */
function idsIn(value: string): string[] | null {
  const plain = value.replaceAll(/[`[\]*]/g, "").replace(/\.$/, "");
  if (/^(?:none|nothing|-|—)?$/i.test(plain.trim())) return [];
  const parts = plain.split(/[,;&]|\band\b/).flatMap((part) => part.trim() || []);
  const ids = parts.flatMap((part) => part.split(/\s+/));
  const isList = parts.length === ids.length || ids.every((id) => !/^[a-z]{1,3}$/i.test(id));
  const wanted = new RegExp(`^#?(${word})$`);
  const named = ids.map((id) => wanted.exec(id)?.[1] ?? null);
  return isList && named.every((id) => id !== null) ? named : null;
}

function dedented(lines: readonly string[]): string {
  const depths = lines.flatMap((line) => (line.trim() === "" ? [] : [/^[ \t]*/.exec(line)?.[0].length ?? 0]));
  const depth = depths.length === 0 ? 0 : Math.min(...depths);
  const text = lines.map((line) => line.slice(depth).trimEnd()).join("\n");
  return trimStartOf(trimEndOf(text, "\n"), "\n");
}
