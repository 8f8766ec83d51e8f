/** The offline model's texts: results of calls, answers to questions, and what it can do. */
import type { ContextPart, ToolDefinition } from "../../core/context/part.ts";
import {
  asText,
  itemsIn,
  jsonOf,
  keyOf,
  mentionOf,
  recalledItems,
  type DoneStep,
  type KnownText,
} from "./known.ts";
import { kindNamed } from "./phrase.ts";

export const introduction =
  "I am the offline model: no key, no network. I only understand a few fixed commands.";

/** How much of a tool's output is repeated in an answer. */
const shownCharsMax = 2_000;

/** A sentence, or more, for one call. */
export function outcomeText(done: DoneStep): string {
  const { tool, input, status, text } = done;
  const what = actionText(tool, input);
  switch (status) {
    case "ok":
      return okText(tool, input, text.trim(), what);
    case "error":
      return `I could not ${what}: ${shown(text.trim())}`;
    case "unknown":
      return `I do not know whether it worked to ${what}: ${shown(text.trim())}`;
    case "skipped":
      return `I was not able to ${what}: ${shown(text.trim())}`;
  }
}

type Input = Readonly<Record<string, unknown>>;

function okText(tool: string, input: Input, text: string, what: string): string {
  const field = (name: string): string => asText(input[name]);
  switch (tool) {
    case "record":
      return `Recorded the ${field("kind")} ${field("key")}: ${field("value")}.`;
    case "retract":
      return `The ${field("kind")} ${field("key")} no longer holds.`;
    case "read_file":
      return `${field("path")} says:\n\n${shown(text)}`;
    case "send":
      return `Sent to ${field("to")}.`;
    case "scratch":
      return `Done: ${what}.`;
    case "recall":
      return recalledText(text);
    case "fork":
      return `Forked: ${(jsonOf(text) as { session?: string } | undefined)?.session ?? text}.`;
    case "sleep":
      return `I sleep when this turn has ended.`;
    case "write_file":
    case "edit_file":
      return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    default:
      return text === "" ? `Done: ${what}.` : `${titleOf(tool, input)}:\n\n${shown(text)}`;
  }
}

/** The heading of an output. */
function titleOf(tool: string, input: Input): string {
  const field = (name: string): string => asText(input[name]);
  const known: Readonly<Record<string, string>> = {
    list_files: input["path"] === undefined ? "Files" : `Files in ${field("path")}`,
    find_files: `Files that match ${field("pattern")}`,
    grep_files: `Lines that match ${field("pattern")}`,
    shell: `${field("command")} gave`,
    query_database: "The database gave",
  };
  return (Object.hasOwn(known, tool) ? known[tool] : undefined) ?? `${tool} gave`;
}

function recalledText(text: string): string {
  const items = recalledItems(text);
  if (items.length > 0) return items.map((item) => `- ${lineText(item)}`).join("\n");
  const found = jsonOf(text);
  if (!Array.isArray(found)) return shown(text);
  if (found.length === 0) return "The log has nothing of that.";
  const hits = found as readonly {
    readonly seq?: number;
    readonly text?: unknown;
    readonly content?: unknown;
  }[];
  const lines = hits.map(({ seq, text: said, content }) => `- at ${seq}: ${asText(said ?? content)}`);
  return `The log has:\n\n${shown(lines.join("\n"))}`;
}

/** What a call does, after "to". */
function actionText(tool: string, input: Input): string {
  const field = (name: string): string => asText(input[name]);
  const known: Readonly<Record<string, string>> = {
    record: `record ${field("kind")} ${field("key")}`,
    retract: `take back ${field("kind")} ${field("key")}`,
    scratch: `${input["value"] === undefined ? "clear" : "keep"} the scratch ${field("key")}`,
    read_file: `read ${field("path")}`,
    write_file: `write ${field("path")}`,
    edit_file: `edit ${field("path")}`,
    list_files: input["path"] === undefined ? "list the files" : `list ${field("path")}`,
    find_files: `find ${field("pattern")}`,
    grep_files: `search the files for ${field("pattern")}`,
    shell: `run ${field("command")}`,
    query_database: "query the database",
    send: `send a message to ${field("to")}`,
    recall: "look that up",
    fork: "fork",
    sleep: "go to sleep",
  };
  return (Object.hasOwn(known, tool) ? known[tool] : undefined) ?? `call ${tool}`;
}

function shown(text: string): string {
  if (text.length <= shownCharsMax) return text;
  const head = text.slice(0, shownCharsMax).toWellFormed();
  return `${head}\n\n(${text.length - shownCharsMax} more characters are in the result.)`;
}

/** What to bind for a tool that is not offered. */
export function missingText(tool: string): string {
  const binding: Readonly<Record<string, string>> = {
    read_file: "a file or directory: skein bind ID directory --path .",
    list_files: "a directory: skein bind ID directory --path .",
    find_files: "a directory: skein bind ID directory --path .",
    grep_files: "a directory: skein bind ID directory --path .",
    write_file: "a directory to write to: skein bind ID directory --path . --mode write",
    edit_file: "a directory to write to: skein bind ID directory --path . --mode write",
    shell: "a shell: skein bind ID shell --path .",
    query_database: "a database: skein bind ID database --path FILE",
  };
  const needed = Object.hasOwn(binding, tool) ? binding[tool] : undefined;
  return needed === undefined
    ? `I am not offered the tool ${tool}: the agent leaves it out, or what has it is not bound (skein bind).`
    : `I am not offered the tool ${tool}. Bind ${needed}`;
}

const examples: readonly (readonly [tool: string, example: string])[] = [
  ["record", "remember base-rate is 4.1"],
  ["record", "decide use SQLite because it is one file"],
  ["record", "task: check the rates"],
  ["retract", "forget base-rate"],
  ["recall", "recall base-rate"],
  ["scratch", "scratch draft is half done"],
  ["list_files", "list files"],
  ["read_file", "read rates.json"],
  ["find_files", "find *.ts"],
  ["grep_files", "grep total in src"],
  ["write_file", 'write "hello" to notes.txt'],
  ["edit_file", 'replace "a" with "b" in notes.txt'],
  ["shell", "run ls -l"],
  ["query_database", "query select 1"],
  ["send", "send hello to ses_…"],
  ["fork", "fork to try another way"],
  ["sleep", "sleep until 2026-12-01"],
];

export function helpText(tools: readonly ToolDefinition[]): string {
  const offered = new Set(tools.map(({ name }) => name));
  const lines = examples.filter(([tool]) => offered.has(tool)).map(([, example]) => `- ${example}`);
  const named = new Set(examples.map(([tool]) => tool));
  const others = tools.filter(({ name }) => !named.has(name)).map(({ name }) => `- call ${name} {…}`);
  const bound = [
    ["read_file", "files"],
    ["shell", "a shell"],
    ["query_database", "databases"],
  ] as const;
  const more = bound.filter(([tool]) => !offered.has(tool)).map(([, what]) => what);
  const all = [...lines, ...others];
  return [
    ...(all.length === 0 ? ["I am offered no tools now."] : ["You can say, for example:", ...all]),
    'Join several with "and", or with "and then" for one after the other. Ask "what is base-rate?".',
    `With skein bind I get more: ${[...more, "MCP servers", "your own tools"].join(", ")}.`,
  ].join("\n");
}

/** The answer to a question, from the context; null if the context does not have it. */
export function answerTo(question: string, parts: readonly ContextPart[]): string | null {
  const items = itemsIn(parts);
  const asked = question.replace(/[?.!\s]+$/, "");
  if (/^why\b/i.test(asked)) return whyText(asked, items);
  const [, about] = /\b(?:about|on|regarding) (.+)$/i.exec(asked) ?? [];
  const kind = /\bdecide/i.test(asked) ? "decision" : kindNamed(asked);
  const isOpen = kind === "task" && /\b(?:open|left|to do|pending)\b/i.test(asked);
  if (kind !== undefined || /\b(?:you|we) (?:know|remember|recorded?)\b/i.test(asked)) {
    const found = items
      .filter((item) => kind === undefined || item.kind === kind)
      .filter((item) => !isOpen || item.status === "open")
      .filter((item) => about === undefined || isAbout(item, about));
    if (found.length > 0) return found.map((item) => `- ${lineText(item)}`).join("\n");
    return `Nothing of that kind is recorded in what I see.`;
  }
  const subject = asked
    .replace(/^(?:what|who|where|which|how much|how many|when)(?:'s|\s+is|\s+are|\s+was|\s+were)?\s+/i, "")
    .replace(/^(?:the|our|my) (?:value|value of|content) (?:of )?/i, "");
  const item = items.findLast(({ key }) => keyOf(key) === keyOf(subject));
  if (item !== undefined) return `${lineText(item)}.`;
  const mention = mentionOf(parts, subject);
  if (mention !== undefined) return `${keyOf(subject)} is ${mention}, as the context says.`;
  const near = items.findLast((one) => isAbout(one, subject));
  return near === undefined ? null : `${lineText(near)}.`;
}

function whyText(asked: string, items: readonly KnownText[]): string | null {
  const reasoned = items.filter(({ because }) => because !== undefined);
  const found = reasoned.findLast((item) =>
    isAbout(item, asked.replace(/^why(?: did (?:we|you|i)| is| are)?/i, "")),
  );
  return found?.because === undefined ? null : `Because ${found.because} (${found.kind} ${found.key}).`;
}

/** Whether every significant word occurs in the item. */
function isAbout({ key, value }: KnownText, subject: string): boolean {
  const words = subject.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const meant = words.filter((word) => !/^(?:the|our|and|for|did|decide|decided|choose|about)$/.test(word));
  const text = `${key} ${value}`.toLowerCase();
  return meant.length > 0 && meant.every((word) => text.includes(word));
}

function lineText({ kind, key, value, because, status }: KnownText): string {
  const reason = because === undefined ? "" : `, because ${because}`;
  if (kind === "fact") return `${key} is ${value}${reason}`;
  return `${kind} ${key}${status === undefined ? "" : ` (${status})`}: ${value}${reason}`;
}
