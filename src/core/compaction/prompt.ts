/** The prompt for the summary of a range, and the parser of its answer. */
import { itemKinds, itemStatuses, statusesOf, type ItemKind, type ItemStatus } from "../item/kind.ts";
import { compactionPromptLine } from "./plan.ts";
import { checkJson } from "../text/json.ts";
import { limit } from "../limit.ts";

export interface PromptOptions {
  readonly strategy: "summarize" | "extract";
  /** The length limit of the summary. */
  readonly words: number;
  /** What to focus on, in the caller's words. */
  readonly instructions?: string;
  /** Unanswered inputs, one line each. */
  readonly unanswered: readonly string[];
  /** Keys of open tasks. */
  readonly tasks: readonly string[];
}

const listedMax = 30;

/** Begins with `compactionPromptLine`. */
export function compactionPrompt(options: PromptOptions): string {
  const { strategy, words, instructions, unanswered, tasks } = options;
  const said = instructions?.trim() ?? "";
  return [
    compactionPromptLine,
    "Everything above is about to be replaced in your context by what you write now; the reader who " +
      "continues this session sees nothing else of it. Call no tool, and do not go on with the work.",
    ...(strategy === "extract" ? [extraction] : []),
    `${strategy === "extract" ? "Then write" : "Write"} the summary: plain text of at most ${words} words ` +
      "under these headings, leaving out those with nothing to say:",
    headings,
    "Give names, numbers, paths, commands and identifiers exactly as they stand above. Say nothing that " +
      "is not there. What is recorded as an item is shown again by itself: refer to it by its key. If " +
      "there is an earlier summary above, carry over what still matters in it.",
    ...list("These inputs are not answered yet; say how far the work on each has come:", unanswered),
    ...list("These tasks are open; say how far each has come:", tasks),
    ...(said === "" ? [] : [`Pay attention to this above all: ${said}`]),
  ].join("\n\n");
}

const headings = [
  "Objective, and where it stands",
  "Decisions, each with its reason",
  "Facts",
  "Files touched, and how",
  "What failed, and why",
  "Open questions",
  "Next steps",
]
  .map((heading) => `- ${heading}`)
  .join("\n");

const extraction =
  "First write one block of JSON between ```json and ```, with every fact, decision, task, constraint, " +
  "preference and finding that is said above and is not recorded as an item with this value yet; tasks " +
  'that are done with their status, ideas that were turned down as decisions with the status "rejected". ' +
  "Keys are short, in lower case, with hyphens; a key that is recorded already keeps its name:\n" +
  "```json\n" +
  '{"items": [{"kind": "fact", "key": "base-rate", "value": "4.1 percent"},\n' +
  ' {"kind": "decision", "key": "rounding", "value": "half to even", "because": "the auditor asked"},\n' +
  ' {"kind": "task", "key": "send-report", "value": "Send the report to Ana", "status": "open"}]}\n' +
  "```";

function list(heading: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - listedMax;
  const shown = lines.slice(0, listedMax).map((line) => `- ${line}`);
  return [[heading, ...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n")];
}

export interface FoundItem {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because?: string;
  readonly status?: ItemStatus;
}

/** Items of one answer; one append records all of them. */
const foundMax = 300;
/** Positions tried as a start of JSON; an answer with more is not JSON. */
const tries = 3_000;

/**
 * The summary and the items of an answer. JSON may be fenced or not, before the summary or after it; of
 * truncated JSON the complete items count. Without JSON, the whole answer is the summary.
 */
export function readSummary(answer: string): { readonly summary: string; readonly items: FoundItem[] } {
  const items = new Map<string, FoundItem>();
  let firstPlace = -1;
  let end = 0;
  let place = -1;
  for (let tried = 0; tried < tries; tried++) {
    place = nextBrace(answer, Math.max(end, place + 1));
    if (place === -1) break;
    const close = closingOf(answer, place);
    if (close === -1) continue;
    const found = itemsOf(parsed(answer.slice(place, close + 1)));
    if (found.length === 0) continue;
    if (firstPlace === -1) firstPlace = place;
    end = close + 1;
    for (const item of found) items.set(`${item.kind}/${item.key}`, item);
  }
  if (firstPlace === -1) return { summary: answer.trim(), items: [] };
  const before = withoutOpening(answer.slice(0, firstPlace));
  const after = answer.slice(end).replace(/^[\s\]},]*(?:```)?/, "");
  return {
    summary: `${before.trimEnd()}\n\n${after.trimStart()}`.trim(),
    items: [...items.values()].slice(0, foundMax),
  };
}

/** Without a fence, a field name and a bracket that open the JSON after it. One step each: linear time. */
function withoutOpening(text: string): string {
  return text
    .trimEnd()
    .replace(/\[$/, "")
    .trimEnd()
    .replace(/\{\s*"\w+"\s*:$/, "")
    .trimEnd()
    .replace(/```\w*$/, "");
}

function nextBrace(text: string, from: number): number {
  const object = text.indexOf("{", from);
  const array = text.indexOf("[", from);
  if (object === -1 || array === -1) return Math.max(object, array);
  return Math.min(object, array);
}

/** Where the JSON that begins here ends; -1 if it is not closed. */
function closingOf(text: string, from: number): number {
  let depth = 0;
  let isText = false;
  for (let place = from; place < text.length; place++) {
    const sign = text[place];
    if (isText) {
      if (sign === "\\") place += 1;
      else if (sign === '"') isText = false;
    } else if (sign === '"') isText = true;
    else if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") {
      depth -= 1;
      if (depth === 0) return place;
    }
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Also accepts lists by kind, and a bare list. */
function itemsOf(given: unknown): FoundItem[] {
  if (Array.isArray(given)) return (given as unknown[]).flatMap((one) => itemOf(one));
  if (typeof given !== "object" || given === null) return [];
  if ("key" in given) return itemOf(given);
  return Object.entries(given).flatMap(([name, list]) =>
    Array.isArray(list) ? (list as unknown[]).flatMap((one) => itemOf(one, kindNamed(name))) : [],
  );
}

const kindNamed = (name: string): unknown => itemKinds.find((kind) => name === kind || name === `${kind}s`);

function itemOf(given: unknown, listedAs?: unknown): FoundItem[] {
  if (typeof given !== "object" || given === null) return [];
  const fields = given as Readonly<Record<string, unknown>>;
  const kind = itemKinds.find((one) => one === (fields["kind"] ?? listedAs));
  const key = typeof fields["key"] === "string" ? oneLine(fields["key"]) : "";
  const value = storable(fields["value"]);
  if (kind === undefined || key === "" || value === undefined || value === null || value === "") return [];
  const why = fields["because"] ?? fields["reason"];
  const because = typeof why === "string" ? clean(why).trim().slice(0, limit.reasonCharsMax) : "";
  const status = itemStatuses.find((one) => one === fields["status"]);
  return [
    {
      kind,
      key,
      value,
      ...(because === "" ? {} : { because }),
      ...(status !== undefined && statusesOf(kind).includes(status) ? { status } : {}),
    },
  ];
}

const clean = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

const oneLine = (text: string): string =>
  clean(text)
    .replace(/[\s\u0000-\u001f\u007f]+/gu, " ")
    .trim()
    .slice(0, limit.keyCharsMax)
    .toWellFormed();

/** A value in storable form; undefined if it has none. */
function storable(value: unknown): unknown {
  if (value === undefined) return undefined;
  try {
    const plain: unknown = JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
      typeof inner === "string" ? clean(inner) : inner,
    );
    checkJson("value", plain);
    return plain;
  } catch {
    return undefined;
  }
}
