/** Help, made from the definitions of the verbs. */
import { globalOptions, shownArg } from "./args.ts";
import { exitCodes } from "./exit-code.ts";
import type { Screen } from "./screen.ts";
import type { Options, Verb } from "./verb.ts";
import { loadGroups } from "./verbs.ts";

/** Help for one verb. */
export function showHelp(out: Screen, verb: Verb): Promise<void> {
  return out.answer(described(verb), () => [
    verb.line,
    "",
    `${out.bold("Usage")}  ${usage(verb)}`,
    ...section(out, "Options", optionRows(verb.options)),
    ...(verb.about === undefined ? [] : ["", ...verb.about.flatMap((text) => wrapped(text))]),
    ...section(
      out,
      "Examples",
      verb.examples.map(({ command, what }) => [command, what]),
    ),
    ...section(out, "Options of every verb", optionRows(globalOptions)),
  ]);
}

export const environment = [
  ["SKEIN_STORE", "the store, where --store is not given; put a URL with a password here"],
  ["SKEIN_CONFIG", "the configuration of models; by default skein/config.json in ~/.config"],
  ["ANTHROPIC_API_KEY, …", 'keys of providers; "skein models" says which are missing'],
  ["SKEIN_OFFLINE_PACE_MS", "how long the offline model takes for each piece of an answer; by default 0"],
  ["SKEIN_LOCK_WAIT_MS", "how long to wait for a lock that another program holds; by default 10000"],
  ["SKEIN_DEBUG", "1 shows where an error comes from"],
  ["NO_COLOR", "no colors"],
] as const;

/** Help for all. */
export async function showOverview(out: Screen): Promise<void> {
  const shown = await loadGroups();
  const value = { verbs: shown.flatMap(({ verbs }) => verbs.map(described)), exitCodes };
  await out.answer(value, () => [
    "Skein runs AI-agent sessions on a durable log.",
    "",
    `${out.bold("Usage")}  skein VERB [ID] [options]`,
    ...shown.flatMap(({ title, verbs }) =>
      section(
        out,
        title,
        verbs.map(({ name, line }) => [name, line]),
      ),
    ),
    ...section(out, "Options of every verb", [
      ...optionRows(globalOptions),
      ["-V, --version", "show the version"],
    ]),
    ...section(out, "Environment", environment),
    ...section(
      out,
      "Exit codes",
      exitCodes.map(({ code, meaning }) => [String(code), meaning]),
    ),
    "",
    ...wrapped(
      "An ID may be shortened to a unique suffix of at least 4 characters. A time that you type " +
        "without a zone is in your time zone. " +
        '"skein help VERB" shows the options and examples of a verb; "skein tour" shows what Skein does.',
    ),
  ]);
}

export function usagesOf({ name, args, options, usages }: Verb): readonly string[] {
  if (usages !== undefined) return usages;
  const more = Object.keys(options).length === 0 ? [] : ["[options]"];
  return [["skein", name, ...args.map(shownArg), ...more].join(" ")];
}

const usage = (verb: Verb): string => usagesOf(verb).join("\n       ");

function described(verb: Verb): object {
  const { name, line, options, about = [], examples } = verb;
  const rows = Object.entries(options).map(
    ([option, { type, what, value = null, short = null, choices = null }]) => {
      return { name: option, type, value, short, choices, what };
    },
  );
  return { name, line, usage: usage(verb), options: rows, about, examples };
}

function optionRows(options: Options): string[][] {
  return Object.entries(options).map(([name, { type, short, value, choices, what }]) => {
    const shownValue = type === "flag" ? "" : ` ${choices?.join("|") ?? value ?? type.toUpperCase()}`;
    const many = type === "list" ? "; may be repeated" : "";
    return [`${short === undefined ? "" : `-${short}, `}--${name}${shownValue}`, `${what}${many}`];
  });
}

const textColumns = 96;

/** A title and rows of two columns. A long first column gets a separate line. */
function section(out: Screen, title: string, rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const width = Math.min(26, Math.max(...rows.map(([left = ""]) => left.length)));
  const lines = rows.flatMap(([left = "", right = ""]) => {
    const [first = "", ...more] = wrapped(right, textColumns - width - 4);
    const rest = more.map((text) => `  ${" ".repeat(width)}  ${text}`);
    if (left.length <= width) return [`  ${left.padEnd(width)}  ${first}`, ...rest];
    return [`  ${left}`, `  ${" ".repeat(width)}  ${first}`, ...rest];
  });
  return ["", out.bold(title), ...lines];
}

function wrapped(text: string, columns = textColumns): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length + 1 > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
